"""Which process sends a mail: the one whose claim is in its row.

No mail is ever sent twice. A claim is committed before the mail server is called, and `handed`
before the text is given to it, only where the claim still stands. So after a crash a row says which
of two things is true: it was not handed over, then nobody got it, and it waits again; or it was,
with no end written, then the server may have taken it, and it is left to an operator (failed,
`unsure`) rather than sent again.
"""

from __future__ import annotations

import uuid
from datetime import timedelta

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail

CLAIM_LIFETIME = timedelta(minutes=3)
"""An attempt that took longer is taken for dead; if it lives, it finds its claim gone."""
PAUSES_S = (10, 30, 60, 120, 300, 600, 1800, 3600)
"""Before the next attempt; the last one again and again."""
PATIENCE = timedelta(days=4)
"""A mail that could not be delivered for so long is given up."""
MAX_DETAIL = 500


class ClaimLost(Exception):
    """Another process may have this mail by now."""


def claim_next() -> OutboxMail | None:
    """The mail that has been due longest, claimed by the caller; None where nothing is due."""
    return _claim(OutboxMail.objects.order_by("due", "id"))


def claim_one(mail_id: int) -> OutboxMail | None:
    """This mail, if it is due and nobody has it."""
    return _claim(OutboxMail.objects.filter(pk=mail_id))


def _claim(mails: QuerySet[OutboxMail]) -> OutboxMail | None:
    now = timezone.now()
    with transaction.atomic():
        found = (
            mails.select_for_update(of=("self",), skip_locked=True)
            .filter(state=MailState.WAITING, due__lte=now)
            .first()
        )
        if found is None:
            return None
        found.state, found.claim, found.claimed = MailState.SENDING, uuid.uuid4(), now
        found.attempts += 1
        found.save(update_fields=["state", "claim", "claimed", "attempts"])
    return found


def hand_over(mail: OutboxMail) -> None:
    """Write down that the text goes out now. Raises `ClaimLost`: then it must not."""
    if not _mine(mail).filter(handed__isnull=True).update(handed=timezone.now()):
        raise ClaimLost


def sent(mail: OutboxMail) -> None:
    """It is with the mail server; nobody here needs its text any more."""
    _end(mail, MailState.SENT, MailCode.NONE, "", keep_text=False)


def bounced(mail: OutboxMail, detail: str) -> None:
    _end(mail, MailState.BOUNCED, MailCode.REFUSED, detail)


def failed(mail: OutboxMail, code: MailCode, detail: str = "") -> None:
    _end(mail, MailState.FAILED, code, detail)


def try_later(mail: OutboxMail, code: MailCode, detail: str) -> None:
    """Wait before the next attempt, longer each time; give up after `PATIENCE`."""
    now = timezone.now()
    if now > mail.created + PATIENCE:
        _end(mail, MailState.FAILED, MailCode.GAVE_UP, detail)
        return
    pause = timedelta(seconds=PAUSES_S[min(mail.attempts, len(PAUSES_S)) - 1])
    _mine(mail).update(
        state=MailState.WAITING,
        claim=None,
        handed=None,
        due=now + pause,
        code=code,
        detail=detail[:MAX_DETAIL],
    )


def wake() -> int:
    """The mail server answers again: whatever waited for that is due now."""
    return OutboxMail.objects.filter(
        state=MailState.WAITING, code__in=(MailCode.UNREACHABLE, MailCode.SETTINGS)
    ).update(due=timezone.now(), code=MailCode.NONE, detail="")


def recover() -> int:
    """Settle what died in the middle, by the rule above; how many mails that were."""
    now = timezone.now()
    dead = OutboxMail.objects.filter(state=MailState.SENDING, claimed__lt=now - CLAIM_LIFETIME)
    again = dead.filter(handed__isnull=True).update(state=MailState.WAITING, claim=None)
    unsure = dead.filter(handed__isnull=False)
    unsure.filter(secret=True).update(subject="", body="")
    return again + unsure.update(
        state=MailState.FAILED, code=MailCode.UNSURE, claim=None, finished=now
    )


def _mine(mail: OutboxMail) -> QuerySet[OutboxMail]:
    return OutboxMail.objects.filter(pk=mail.pk, state=MailState.SENDING, claim=mail.claim)


def _end(
    mail: OutboxMail, state: MailState, code: MailCode, detail: str, *, keep_text: bool = True
) -> None:
    mine = _mine(mail)
    if mail.secret:
        # The subject of a mail with a code holds the code.
        mine.update(subject="", body="")
    elif not keep_text:
        mine.update(body="")
    mine.update(
        state=state,
        code=code,
        detail=detail[:MAX_DETAIL],
        claim=None,
        finished=timezone.now(),
    )
