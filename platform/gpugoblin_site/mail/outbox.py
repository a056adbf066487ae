"""What other rooms use: put a mail into the outbox, take it back, ask what became of it.

A mail is a row of the caller's transaction, so it leaves exactly if what it tells of was committed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

from django.db import transaction
from django.utils import timezone, translation

from accounts.addresses import folded
from accounts.models import Account, Person
from goblin_wire.problems import Conflict
from gpugoblin_site.mail import courier, text
from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail

AT_ONCE = timedelta(0)
RETRIED = (MailState.WAITING, MailState.FAILED, MailState.BOUNCED)


def queue(
    to: Account | str,
    template: str,
    context: Mapping[str, str | int],
    *,
    key: str,
    language: str | None = None,
    delay: timedelta = AT_ONCE,
    expires: timedelta | None = None,
    secret: bool | None = None,
) -> OutboxMail:
    """Write `templates/mail/<template>.txt` to an account or an address, once for each `key`.

    It is rendered now, in `language`, or the recipient's, or (for an address without an account)
    the language of the page. It leaves after `delay` and is of no use after `expires`. Its text is
    wiped once it was sent; if it is `secret` (unless stated: if it expires), its subject too, and
    also when it was not sent.
    An account that was deleted gets nothing: its mail is cancelled from the start.

    Raises `BadMessage` for an address that is none, `ValueError` for a key that holds an address.
    """
    if "@" in key:
        raise ValueError("A mail's key must not name a person.")
    known = OutboxMail.objects.filter(key=key).first()
    if known is not None:
        return known
    person, address = _recipient(to)
    chosen = text.known(language or (person.language if person else translation.get_language()))
    written = text.render(template, context, chosen)
    now = timezone.now()
    mail, made = OutboxMail.objects.get_or_create(
        key=key,
        defaults={
            "account": person.account if person else to if isinstance(to, Account) else None,
            "address": address,
            "language": chosen,
            "template": template,
            "subject": written.subject,
            "body": written.body,
            "secret": expires is not None if secret is None else secret,
            "due": now + delay,
            "expires": None if expires is None else now + expires,
        },
    )
    if not address:
        _finish_unsent(mail, MailCode.ERASED)
    elif made and delay <= AT_ONCE:
        transaction.on_commit(lambda: courier.hurry(mail.pk))
    return mail


def cancel(key: str) -> bool:
    """Take a mail back; False where there is none or it has left (or is leaving) already."""
    waiting = OutboxMail.objects.filter(key=key, state=MailState.WAITING)
    done = waiting.update(state=MailState.CANCELLED, body="", finished=timezone.now())
    OutboxMail.objects.filter(key=key, secret=True, state=MailState.CANCELLED).update(subject="")
    return bool(done)


def state_of(key: str) -> MailState | None:
    """What became of a mail; None where there is none (any more)."""
    found = OutboxMail.objects.filter(key=key).values_list("state", flat=True).first()
    return None if found is None else MailState(found)


def retry(mail: OutboxMail) -> None:
    """Try a mail again now that failed, came back or waits. Raises `Conflict` where it can't be:
    it has left, or its text held a secret and is gone."""
    if (
        not OutboxMail.objects.filter(pk=mail.pk, state__in=RETRIED)
        .exclude(body="")
        .update(
            state=MailState.WAITING,
            due=timezone.now(),
            expires=None,
            handed=None,
            finished=None,
            attempts=0,
            code=MailCode.NONE,
            detail="",
        )
    ):
        raise Conflict("This mail can't be sent again: it has left, or its text is gone.")


def is_late() -> bool:
    """Whether mail waits because the mail server could not be used: say so where somebody waits
    for a code."""
    return OutboxMail.objects.filter(
        state=MailState.WAITING, code__in=(MailCode.UNREACHABLE, MailCode.SETTINGS)
    ).exists()


def _recipient(to: Account | str) -> tuple[Person | None, str]:
    """The person where there is one, and the address; empty for an account that was deleted."""
    if isinstance(to, Account):
        person = Person.objects.select_related("account").filter(account=to).first()
        return person, person.email if person else ""
    address = folded(to)
    return Person.objects.select_related("account").filter(email=address).first(), address


def _finish_unsent(mail: OutboxMail, code: MailCode) -> None:
    mail.state, mail.code, mail.finished = MailState.CANCELLED, code, timezone.now()
    mail.subject = mail.body = ""
    mail.save(update_fields=["state", "code", "subject", "body", "finished"])
