"""Sign-in of programs: a short code, confirmed by a logged-in person on a page (as in RFC 8628)."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import NamedTuple
from urllib.parse import urlencode

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.limits import Limit, hidden
from accounts.models import Account, AccountState, SignIn
from accounts.services import TOKEN_LIFETIME, issue_token
from goblin_wire.problems import (
    AccountSuspended,
    NotAllowed,
    RateLimited,
    SignInDenied,
    SignInExpired,
    SignInPending,
    UnknownLab,
)
from goblin_wire.signin import SignInCode, SignInStart, SignInToken
from goblin_wire.states import SIGN_IN_MOVES, SignInState
from goblin_wire.tokens import Scope
from research_access.models import Lab, LabState

LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""No vowels, so no words; no letter that is taken for a digit or another letter."""
CODE_LETTERS = 8
LIFETIME = timedelta(minutes=10)
KEPT = timedelta(days=1)
INTERVAL_S = 2.0

_window = timedelta(minutes=10)
STARTS = Limit("sign-in starts of an address", 120, _window)
POLLS = Limit("sign-in polls of a program", 120, timedelta(minutes=1))
UNKNOWN_POLLS = Limit("unknown programs of an address", 60, _window)
GUESSES_OF_ACCOUNT = Limit("wrong codes of an account", 10, _window)
GUESSES_OF_ADDRESS = Limit("wrong codes of an address", 30, _window)


class Asker(NamedTuple):
    """Who looks at a code: a logged-in account, from an address."""

    account: Account
    address: str


def normalized(user_code: str) -> str:
    """A code as typed: case, spaces and dashes do not matter."""
    return "".join(c for c in user_code.upper() if c.isalpha())[: CODE_LETTERS + 1]


def start(message: SignInStart, address: str) -> SignInCode:
    """Begin a sign-in. Raises `RateLimited` or `UnknownLab`."""
    STARTS.count(address)
    lab = _named_lab(message)
    device_code = secrets.token_urlsafe(32)
    for _ in range(5):
        letters = "".join(secrets.choice(LETTERS) for _ in range(CODE_LETTERS))
        if _store(message, lab, device_code, letters):
            return _code(device_code, f"{letters[:4]}-{letters[4:]}")
    raise RateLimited("No code is free at this moment; try again.", retry_after=INTERVAL_S)


def find(user_code: str, asker: Asker) -> SignIn:
    """The pending sign-in of a code; a wrong code counts as a guess.

    Raises `SignInExpired` (unknown, expired or decided) or `RateLimited`.
    """
    GUESSES_OF_ACCOUNT.require(str(asker.account.pk))
    GUESSES_OF_ADDRESS.require(asker.address)
    found = _pending(user_code).select_related("lab").first()
    if found is None:
        GUESSES_OF_ACCOUNT.count(str(asker.account.pk))
        GUESSES_OF_ADDRESS.count(asker.address)
        raise SignInExpired("This code is not known, has expired or was used.")
    return found


def labs_for(sign_in: SignIn, account: Account) -> list[Lab]:
    """The labs that the account may give a token of, for this sign-in."""
    labs = Lab.objects.filter(members__account=account, state=LabState.ACTIVE).order_by("name")
    return list(labs.filter(pk=sign_in.lab_id) if sign_in.lab_id else labs)


def confirm(user_code: str, account: Account, *, lab: Lab | None = None) -> SignIn:
    """Let the program have a token of `account`; for scope `lab` name the lab if there are several.

    Raises `SignInExpired`, `AccountSuspended` or `NotAllowed`.
    """
    with transaction.atomic():
        sign_in = _locked(user_code)
        if account.state != AccountState.ACTIVE:
            raise AccountSuspended
        if sign_in.scope == Scope.LAB:
            sign_in.lab = _chosen_lab(sign_in, account, lab)
        sign_in.account = account
        _move(sign_in, SignInState.CONFIRMED)
        return sign_in


def deny(user_code: str, account: Account) -> SignIn:
    """Refuse the program. Raises `SignInExpired`."""
    with transaction.atomic():
        sign_in = _locked(user_code)
        sign_in.account = account
        _move(sign_in, SignInState.DENIED)
        return sign_in


def poll(device_code: str, address: str) -> SignInToken:
    """The token, once; of two polls at the same moment one gets it.

    Raises `SignInPending`, `SignInDenied`, `SignInExpired`, `AccountSuspended` or `RateLimited`.
    """
    hashed = _device_hash(device_code)
    UNKNOWN_POLLS.require(address)
    if not SignIn.objects.filter(device_hash=hashed).exists():
        UNKNOWN_POLLS.count(address)
        raise SignInExpired
    POLLS.count(hashed)
    with transaction.atomic():
        sign_in = SignIn.objects.select_for_update().filter(device_hash=hashed).first()
        if sign_in is None or sign_in.expires <= timezone.now():
            raise SignInExpired
        return _answer(sign_in)


def purge() -> int:
    """Delete the sign-ins that ended a day ago; how many there were."""
    return SignIn.objects.filter(expires__lt=timezone.now() - KEPT).delete()[0]


def _answer(sign_in: SignIn) -> SignInToken:
    if sign_in.state == SignInState.PENDING:
        raise SignInPending
    if sign_in.state == SignInState.DENIED:
        raise SignInDenied
    if sign_in.state != SignInState.CONFIRMED or sign_in.account is None:
        raise SignInExpired
    lab = sign_in.lab
    token = issue_token(sign_in.account, sign_in.scope, lab=lab, label=sign_in.label)
    _move(sign_in, SignInState.USED)
    return SignInToken(
        token=token,
        scope=Scope(sign_in.scope),
        lab=lab.key.hex if lab is not None else None,
        lab_name=lab.name if lab is not None else "",
        expires_s=TOKEN_LIFETIME.total_seconds(),
    )


def _named_lab(message: SignInStart) -> Lab | None:
    if message.scope is not Scope.LAB or message.lab is None:
        return None
    lab = Lab.objects.filter(key=message.lab).first()
    if lab is None:
        raise UnknownLab
    return lab


def _store(message: SignInStart, lab: Lab | None, device_code: str, letters: str) -> bool:
    """Whether the letters were free."""
    try:
        with transaction.atomic():
            SignIn.objects.create(
                device_hash=_device_hash(device_code),
                user_code_hash=_user_hash(letters),
                scope=message.scope.value,
                program=_printable(message.program),
                label=_printable(message.label),
                lab=lab,
                expires=timezone.now() + LIFETIME,
            )
    except IntegrityError:
        return False
    return True


def _code(device_code: str, user_code: str) -> SignInCode:
    return SignInCode(
        device_code=device_code,
        user_code=user_code,
        url=f"{settings.GOBLIN_SITE_URL}/sign-in/?{urlencode({'code': user_code})}",
        interval_s=INTERVAL_S,
        expires_s=LIFETIME.total_seconds(),
    )


def _pending(user_code: str) -> QuerySet[SignIn]:
    return SignIn.objects.filter(
        user_code_hash=_user_hash(normalized(user_code)),
        state=SignInState.PENDING.value,
        expires__gt=timezone.now(),
    )


def _locked(user_code: str) -> SignIn:
    found = _pending(user_code).select_for_update(of=("self",)).select_related("lab").first()
    if found is None:
        raise SignInExpired
    return found


def _chosen_lab(sign_in: SignIn, account: Account, lab: Lab | None) -> Lab:
    possible = labs_for(sign_in, account)
    if not possible:
        raise NotAllowed("Your account has no lab that this program could work for.")
    if lab is None and len(possible) == 1:
        return possible[0]
    if lab is None or lab not in possible:
        raise NotAllowed("Choose one of your labs.")
    return lab


def _move(sign_in: SignIn, state: SignInState) -> None:
    if state not in SIGN_IN_MOVES[SignInState(sign_in.state)]:
        raise SignInExpired
    sign_in.state = state.value
    sign_in.save(update_fields=["state", "account", "lab"])


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text).strip()


def _device_hash(device_code: str) -> str:
    return hashlib.sha256(device_code.encode()).hexdigest()


def _user_hash(letters: str) -> str:
    # A code has 35 bits, so a plain hash could be reversed; the key is not in the database.
    return hidden("user code", letters)
