"""What mail servers say later: reports of delivery (RFC 3464) that come back by mail.

A report is believed only if it names the Message-ID of the mail, which nobody can guess: a forged
one reaches no mail of anybody.
"""

from __future__ import annotations

import email.policy
import re
import uuid
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser

from django.db.models import Q
from django.utils import timezone

from gpugoblin_site import logs
from gpugoblin_site.mail.claims import MAX_DETAIL
from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail

MAX_REPORT = 1024 * 1024
"""Bytes of a report that are read; what matters stands at its beginning."""
_MESSAGE_ID = re.compile(r"<([0-9a-f]{32})@[^<>\s]+>", re.IGNORECASE)
_log = logs.logger("mail")


@dataclass(frozen=True)
class Report:
    """What a report says: which mails it may be about, and whether they will never arrive."""

    uids: frozenset[uuid.UUID]
    permanent: bool
    says: str


def parse(content: bytes) -> Report | None:
    """A report of delivery; None for any other mail."""
    message = BytesParser(policy=email.policy.compat32).parsebytes(content[:MAX_REPORT])
    status = next(
        (part for part in message.walk() if part.get_content_type() == "message/delivery-status"),
        None,
    )
    if status is None:
        return None
    blocks = status.get_payload()
    recipients = [block for block in blocks if isinstance(block, Message) and block["Action"]]
    failed = next((block for block in recipients if _is_failure(block)), None)
    return Report(_uids(content), failed is not None, _says(failed) if failed is not None else "")


def take_in(content: bytes) -> OutboxMail | None:
    """Mark the mail that a report is about as come back; None if the report is about no mail that
    was sent, or not about a failure for good."""
    report = parse(content)
    if report is None or not report.permanent:
        return None
    return _mark(Q(uid__in=report.uids), report.says)


def take_in_by_hand(uid: uuid.UUID, says: str) -> OutboxMail | None:
    """The same for a report that a person has read."""
    return _mark(Q(uid=uid), says)


def uid_of(message_id: str) -> uuid.UUID | None:
    """The mail that a Message-ID of ours names."""
    found = _MESSAGE_ID.fullmatch(f"<{message_id.strip().strip('<>')}>")
    return uuid.UUID(found[1]) if found else None


def _mark(which: Q, says: str) -> OutboxMail | None:
    mail = OutboxMail.objects.filter(which).first()
    # One that nobody knows the fate of was evidently taken, and now came back.
    known = Q(state=MailState.SENT) | Q(state=MailState.FAILED, code=MailCode.UNSURE)
    if mail is None or not OutboxMail.objects.filter(known, pk=mail.pk).update(
        state=MailState.BOUNCED,
        code=MailCode.RETURNED,
        detail=says[:MAX_DETAIL],
        finished=timezone.now(),
    ):
        return None
    _log.warning("mail came back", mail=mail.pk, template=mail.template)
    return mail


def _is_failure(block: Message) -> bool:
    return _value(block, "Action").lower() == "failed" and _value(block, "Status").startswith("5")


def _says(block: Message) -> str:
    diagnosis = _value(block, "Diagnostic-Code") or _value(block, "Status")
    return " ".join(diagnosis.partition(";")[2].split() or diagnosis.split())


def _value(block: Message, name: str) -> str:
    return str(block.get(name, "")).strip()


def _uids(content: bytes) -> frozenset[uuid.UUID]:
    # Servers put the original's head in different places, and some only quote it.
    text = content[:MAX_REPORT].decode("ascii", errors="replace")
    return frozenset(uuid.UUID(found) for found in _MESSAGE_ID.findall(text))
