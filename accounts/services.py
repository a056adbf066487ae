"""What is done with accounts and tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.db.models import Case, F, Value, When
from django.utils import timezone

from accounts import roles
from accounts.addresses import folded
from accounts.models import Account, AccountState, ApiToken, Person, Session
from accounts.models.account import NAME_MOST, new_session_epoch
from accounts.terms import TERMS_VERSION
from accounts.text import clean_name
from accounts.zones import known_zone
from goblin_wire.problems import (
    AccountSuspended,
    Conflict,
    NotAllowed,
    TokenInvalid,
)
from goblin_wire.tokens import Scope, new_token, secret_hash, secret_matches, split_token

if TYPE_CHECKING:
    from research_access.models import Lab

TOKEN_LIFETIME = timedelta(days=365)
FIRST_LANGUAGE = "en"
"""Of an account whose person was not asked yet."""
MAX_LABEL = 200


@transaction.atomic
def create_account(email: str, *, name: str = "", language: str = FIRST_LANGUAGE) -> Account:
    """A new account with its person. Raises `BadMessage`, or `Conflict` if the address is taken."""
    address = folded(email)
    account = Account.objects.create()
    try:
        with transaction.atomic():
            Person.objects.create(
                account=account, email=address, name=clean_name(name, NAME_MOST), language=language
            )
    except IntegrityError:
        raise Conflict("There is an account with this e-mail address already.") from None
    return account


def account_for(email: str, *, language: str) -> Account:
    """The account of an address that was proved to be the person's; made if there is none."""
    try:
        return account_of(email) or create_account(email, language=language)
    except Conflict:  # made at this moment, in another tab
        return Account.objects.get(person__email=folded(email))


def welcome(account: Account, time_zone: str = "", language: str = "") -> None:
    """Note that the person accepted the terms of today, and at the first log-in of all the time
    zone that the browser told and the language of the page, which an account made by a command does
    not have yet; the first moment of a version stays."""
    Person.objects.filter(account=account).exclude(terms_version=TERMS_VERSION).update(
        terms_version=TERMS_VERSION,
        terms_accepted=timezone.now(),
        time_zone=Case(
            When(terms_version="", time_zone="UTC", then=Value(known_zone(time_zone))),
            default=F("time_zone"),
        ),
        language=Case(
            When(terms_version="", language=FIRST_LANGUAGE, then=Value(language or FIRST_LANGUAGE)),
            default=F("language"),
        ),
    )


@transaction.atomic
def log_out_everywhere(account: Account) -> None:
    """End every session of the account; its programs go on with their tokens."""
    Account.objects.filter(pk=account.pk).update(session_epoch=new_session_epoch())
    Session.objects.filter(account=account).delete()


def account_of(email: str) -> Account | None:
    return Account.objects.filter(person__email=folded(email)).first()


@transaction.atomic
def make_operator(email: str) -> Account:
    """The account of `email`, made if absent, allowed to do everything in the admin."""
    account = account_of(email) or create_account(email)
    roles.make_superuser(account)
    return account


@transaction.atomic
def suspend(account: Account) -> None:
    """No token and no session of the account works any more."""
    _set_state(account, AccountState.SUSPENDED)


@transaction.atomic
def reinstate(account: Account) -> None:
    _set_state(account, AccountState.ACTIVE)


def _set_state(account: Account, state: AccountState) -> None:
    locked = Account.objects.select_for_update().get(pk=account.pk)
    if locked.state != AccountState.ERASED:
        locked.state = state
        locked.save(update_fields=["state"])
    account.state = locked.state


def issue_token(
    account: Account,
    scope: Scope | str,
    *,
    lab: Lab | None = None,
    label: str = "",
    lifetime: timedelta = TOKEN_LIFETIME,
) -> str:
    """A new token, to be shown once. Scope `lab` needs a lab that the account is a member of.

    Raises `AccountSuspended` or `NotAllowed`.
    """
    kind = Scope(scope)
    if account.state != AccountState.ACTIVE:
        raise AccountSuspended
    _require_lab(account, kind, lab)
    token = new_token(kind)
    parts = split_token(token)
    assert parts is not None  # noqa: S101  (we have just made it)
    ApiToken.objects.create(
        account=account,
        scope=kind.value,
        lab=lab,
        prefix=parts.prefix,
        secret_hash=secret_hash(parts.secret),
        label=label[:MAX_LABEL],
        expires=timezone.now() + lifetime,
    )
    return token


def _require_lab(account: Account, scope: Scope, lab: Lab | None) -> None:
    if scope is Scope.VOLUNTEER:
        if lab is not None:
            raise NotAllowed("A volunteer's token belongs to no lab.")
        return
    if lab is None:
        raise NotAllowed("A token for a lab node needs a lab.")
    if not lab.members.filter(account=account).exists():
        raise NotAllowed("The account is not a member of this lab.")


def revoke_token(token: ApiToken) -> None:
    """End a token now; ending it twice keeps the first moment."""
    ApiToken.objects.filter(pk=token.pk, revoked__isnull=True).update(revoked=timezone.now())
    token.refresh_from_db(fields=["revoked"])


def sign_out(token: str) -> None:
    """Revoke a token that its program shows; again, or after it expired, changes nothing.

    Raises `TokenInvalid` for one that was never given out.
    """
    parts = split_token(token)
    found = None if parts is None else ApiToken.objects.filter(prefix=parts.prefix).first()
    if parts is None or found is None or not secret_matches(parts.secret, found.secret_hash):
        raise TokenInvalid
    revoke_token(found)
