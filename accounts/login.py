"""Log-in and sign-up, which are the same: a code is sent to an address and comes back.

Whether the address has an account is not asked before its code has come back, so an answer, its
time and the mail tell nothing. The account is made with the right code.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts import known_browsers, services
from accounts.addresses import folded
from accounts.limits import Limit, hidden, network_of
from accounts.models import Account, AccountState, LoginAttempt, LoginCode
from goblin_wire.problems import AccountSuspended, RateLimited
from gpugoblin_site.mail import outbox
from gpugoblin_site.mail.models import MailState

DIGITS = 8
LIFETIME = timedelta(minutes=15)
RESENDS = 3
TRIES = 3
KEPT = timedelta(hours=21)
"""With the last code's time and the hour between two purges an address is gone within a day."""
TWICE = timedelta(seconds=20)
"""The same from the same browser within so short a time is a form that was sent twice."""
MOST_FOLLOWING = 500

_hour, _window = timedelta(hours=1), timedelta(minutes=10)
MAILS_HERE = Limit("codes for an address, asked for in one network", 10, _hour)
MAILS = Limit("codes for an address", 30, _hour)
MAILS_OF_BROWSER = Limit("codes for an address, asked for by a browser known to it", 10, _hour)
MAILS_OF_BROWSERS = Limit("codes for an address, asked for by browsers known to it", 60, _hour)
"""A browser that has logged in to the address before has its own: strangers use up none of them."""
MAILS_OF_NETWORK = Limit("codes asked for in a network", 300, _window)
WRONG_OF_NETWORK = Limit("wrong log-in codes of a network", 300, _window)
"""Networks may do a lot: a whole campus is one address."""


class Refusal(StrEnum):
    """Why a code opens nothing."""

    GONE = "gone"
    """This browser waits for no code, or no longer."""
    ENDED = "ended"
    """Three wrong codes, or the code was used."""
    TWICE = "twice"
    """The right code came a moment ago: the same form sent twice."""
    WRONG = "wrong"
    NO_RESEND = "no_resend"
    SUSPENDED = "suspended"


class LoginRefused(Exception):
    """A log-in that does not go on. `left` is how many tries remain."""

    def __init__(self, refusal: Refusal, left: int = 0) -> None:
        super().__init__(refusal.value)
        self.refusal = refusal
        self.left = left


@dataclass(frozen=True, slots=True)
class Visitor:
    """Who types: a browser (a random value in its cookie), where, in which language, and what it
    is known by (`known_browsers`)."""

    browser: str
    address: str
    language: str
    marks: str = ""

    @property
    def network(self) -> str:
        return network_of(self.address)

    def known_to(self, email: str) -> str:
        """What the browser is counted by for an address that it logged in to before, else empty."""
        return known_browsers.number_of(self.marks, email)


def begin(email: str, visitor: Visitor, following: str = "") -> LoginAttempt:
    """Send a code to an address. Raises `BadMessage` or `RateLimited`."""
    address = folded(email)
    attempt, is_new = _attempt_of(address, visitor, following)
    if is_new:
        try:
            _count_mail(address, visitor)
        except RateLimited:
            attempt.delete()
            raise
        with transaction.atomic():
            _send_code(attempt, visitor)
    return attempt


@transaction.atomic
def _attempt_of(email: str, visitor: Visitor, following: str) -> tuple[LoginAttempt, bool]:
    """The attempt that this form began a moment ago, or a new one; whether it is new."""
    browser = _browser_hash(visitor)
    with connection.cursor() as cursor:
        # A form that is sent twice at once: the second one finds what the first has made.
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [browser])
    since = timezone.now() - TWICE
    known = _of_browser(visitor).filter(email=email, created__gt=since).first()
    if known is not None:
        return known, False
    attempt = LoginAttempt.objects.create(
        browser_hash=browser,
        email=email,
        following=following if len(following) <= MOST_FOLLOWING else "",
        expires=timezone.now() + LIFETIME,
    )
    return attempt, True


def waiting(visitor: Visitor, attempt_id: UUID | None = None) -> LoginAttempt | None:
    """The attempt of this browser that waits for its code: the one named, or the newest."""
    found = _of_browser(visitor)
    return (found if attempt_id is None else found.filter(pk=attempt_id)).first()


def resend(attempt_id: UUID, visitor: Visitor) -> LoginAttempt:
    """Send another code, which counts from now; the earlier ones stay good for their time.

    Raises `LoginRefused` or `RateLimited`.
    """
    known = waiting(visitor, attempt_id)
    if known is None:
        raise LoginRefused(Refusal.GONE)
    if known.resent >= RESENDS:
        raise LoginRefused(Refusal.NO_RESEND)
    _count_mail(known.email, visitor)
    with transaction.atomic():
        attempt = LoginAttempt.objects.select_for_update().get(pk=known.pk)
        if attempt.resent >= RESENDS:
            raise LoginRefused(Refusal.NO_RESEND)
        attempt.resent += 1
        attempt.expires = timezone.now() + LIFETIME
        attempt.save(update_fields=["resent", "expires"])
        _send_code(attempt, visitor)
    return attempt


def mail_state(attempt: LoginAttempt) -> MailState | None:
    """What became of the mail with the newest code."""
    newest = attempt.codes.order_by("-pk").values_list("pk", flat=True).first()
    return None if newest is None else outbox.state_of(_mail_key(newest))


def confirm(attempt_id: UUID, code: str, visitor: Visitor) -> tuple[Account, LoginAttempt]:
    """The account that a code logs in, once. Raises `LoginRefused` or `RateLimited`."""
    _require_few_wrong(attempt_id, visitor)
    # A wrong code is counted for good: what refuses it is raised outside the transaction.
    with transaction.atomic():
        answer = _tried(attempt_id, code, visitor)
    if isinstance(answer, LoginRefused):
        if answer.refusal is Refusal.WRONG or answer.refusal is Refusal.ENDED:
            WRONG_OF_NETWORK.count(visitor.network)
        raise answer
    return answer


@transaction.atomic
def operators_code(account: Account) -> str:
    """A code that logs in to this account from any browser that names its address, once.

    Raises `AccountSuspended`.
    """
    if account.state != AccountState.ACTIVE:
        raise AccountSuspended
    code = _new_code()
    LoginCode.objects.create(
        account=account,
        code_hash=_code_hash(f"address {account.person.email}", code),
        expires=timezone.now() + LIFETIME,
    )
    return _readable(code)


def purge() -> int:
    """Delete attempts with their codes, and operators' codes, that ended long ago."""
    ended = timezone.now() - KEPT
    attempts = LoginAttempt.objects.filter(expires__lt=ended).delete()[0]
    return attempts + LoginCode.objects.filter(expires__lt=ended).delete()[0]


def _require_few_wrong(attempt_id: UUID, visitor: Visitor) -> None:
    """What others guess in a network does not keep a browser out that has been in before."""
    try:
        WRONG_OF_NETWORK.require(visitor.network)
    except RateLimited:
        attempt = waiting(visitor, attempt_id)
        if attempt is None or not visitor.known_to(attempt.email):
            raise


def _tried(
    attempt_id: UUID, code: str, visitor: Visitor
) -> tuple[Account, LoginAttempt] | LoginRefused:
    attempt = (
        LoginAttempt.objects.select_for_update()
        .filter(pk=attempt_id, browser_hash=_browser_hash(visitor))
        .first()
    )
    if attempt is None or attempt.expires <= timezone.now():
        return LoginRefused(Refusal.GONE)
    if attempt.used is not None and attempt.used > timezone.now() - TWICE:
        return LoginRefused(Refusal.TWICE)
    if attempt.used is not None or attempt.wrong >= TRIES:
        return LoginRefused(Refusal.ENDED)
    found = _good_codes(attempt, code).first()
    if found is None:
        attempt.wrong += 1
        attempt.save(update_fields=["wrong"])
        left = TRIES - attempt.wrong
        return LoginRefused(Refusal.WRONG if left else Refusal.ENDED, left)
    account = services.account_for(attempt.email, language=visitor.language)
    if account.state != AccountState.ACTIVE:
        return LoginRefused(Refusal.SUSPENDED)
    found.used = attempt.used = timezone.now()
    found.save(update_fields=["used"])
    attempt.save(update_fields=["used"])
    return account, attempt


def _good_codes(attempt: LoginAttempt, code: str) -> QuerySet[LoginCode]:
    """The unused code that this is, of the attempt itself or made by an operator."""
    digits, email = _digits(code), attempt.email
    good = Q(attempt=attempt, code_hash=_code_hash(f"attempt {attempt.pk}", digits)) | Q(
        account__person__email=email, code_hash=_code_hash(f"address {email}", digits)
    )
    return LoginCode.objects.select_for_update(of=("self",)).filter(
        good, used__isnull=True, expires__gt=timezone.now()
    )


def _of_browser(visitor: Visitor) -> QuerySet[LoginAttempt]:
    return LoginAttempt.objects.filter(
        browser_hash=_browser_hash(visitor),
        used__isnull=True,
        wrong__lt=TRIES,
        expires__gt=timezone.now(),
    ).order_by("-created")


def _count_mail(email: str, visitor: Visitor) -> None:
    known = visitor.known_to(email)
    if known:
        MAILS_OF_BROWSER.count(f"{email}\0{known}")
        MAILS_OF_BROWSERS.count(email)
        return
    MAILS_OF_NETWORK.count(visitor.network)
    MAILS_HERE.count(f"{email}\0{visitor.network}")
    MAILS.count(email)


def _send_code(attempt: LoginAttempt, visitor: Visitor) -> None:
    code = _new_code()
    row = LoginCode.objects.create(
        attempt=attempt,
        code_hash=_code_hash(f"attempt {attempt.pk}", code),
        expires=timezone.now() + LIFETIME,
    )
    facts: dict[str, str | int] = {
        "code": _readable(code),
        "minutes": int(LIFETIME.total_seconds() // 60),
    }
    outbox.queue(
        attempt.email,
        "login_code",
        facts,
        key=_mail_key(row.pk),
        language=visitor.language,
        expires=LIFETIME,
    )


def _mail_key(code_id: int) -> str:
    return f"login-code:{code_id}"


def _new_code() -> str:
    return "".join(secrets.choice("0123456789") for _ in range(DIGITS))


def _readable(code: str) -> str:
    return f"{code[:4]} {code[4:]}"


def _digits(code: str) -> str:
    """What was typed, without what people put between digits; full-width digits count too."""
    return "".join(str(int(c)) for c in code[:64] if c.isdecimal())


def _code_hash(whose: str, digits: str) -> str:
    # A code has 26 bits, so a plain hash could be reversed; the key is not in the database.
    return hidden("log-in code", f"{whose}\0{digits}")


def _browser_hash(visitor: Visitor) -> str:
    return hidden("browser", visitor.browser)
