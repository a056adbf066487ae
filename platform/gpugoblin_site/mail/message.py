"""A row of the outbox as a message."""

from __future__ import annotations

from email.charset import QP, SHORTEST, Charset
from email.utils import formatdate
from urllib.parse import urlsplit

from django.conf import settings
from django.core.mail import EmailMessage

from gpugoblin_site.mail.models import OutboxMail


def message_of(mail: OutboxMail) -> EmailMessage:
    """Plain text in UTF-8. Only its date differs between two tries."""
    message = EmailMessage(
        subject=mail.subject,
        body=mail.body,
        from_email=settings.GOBLIN_MAIL_BOUNCES or settings.DEFAULT_FROM_EMAIL,
        to=[mail.address],
        headers={
            "From": settings.DEFAULT_FROM_EMAIL,
            "Message-ID": message_id(mail),
            "Date": formatdate(),
            "Content-Language": mail.language,
            "Auto-Submitted": "auto-generated",
        },
    )
    message.encoding = _encoding()
    return message


def message_id(mail: OutboxMail) -> str:
    """The same for every try, so that a reader's program knows a second copy for what it is."""
    return f"<{mail.uid.hex}@{urlsplit(settings.GOBLIN_SITE_URL).hostname}>"


def _encoding() -> Charset:
    """UTF-8 that passes servers which only take seven bits, and is readable as it stands."""
    charset = Charset("utf-8")
    charset.body_encoding = QP
    charset.header_encoding = SHORTEST
    return charset
