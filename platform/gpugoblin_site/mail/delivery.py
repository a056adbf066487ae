"""Hands the mails that are due to the mail server of the settings."""

from __future__ import annotations

import contextlib
import re
import smtplib
import ssl
import time
from collections.abc import Callable
from typing import Any

from django.core.mail import EmailMessage, get_connection
from django.utils import timezone

from gpugoblin_site import logs
from gpugoblin_site.mail import claims
from gpugoblin_site.mail.message import message_of
from gpugoblin_site.mail.models import MailCode, OutboxMail
from gpugoblin_site.mail.smtp import EmailBackend, Unsure

BATCH_S = 5.0
"""After this a batch ends; the next one follows within seconds."""
PERMANENT = 500
GOING_AWAY = 421
# At the recipient's turn this is about who may send here: "5.7.1 relay access denied" would
# otherwise be taken for the fault of every single address.
_POLICY = re.compile(r"5\.7\.|.*\brelay", re.IGNORECASE | re.DOTALL)

_log = logs.logger("mail")


class ServerUnusable(Exception):
    """No mail can be delivered now."""

    def __init__(self, code: MailCode, detail: str) -> None:
        super().__init__(code, detail)
        self.code = code
        self.detail = detail


def deliver_due() -> int:
    """Deliver what is due, one after the other over one connection; how many were sent."""
    claims.recover()
    return _deliver_all(claims.claim_next)


def deliver_one(mail_id: int) -> bool:
    """Deliver this mail now, unless another process has it; whether it was sent."""
    found = iter([claims.claim_one(mail_id)])
    return bool(_deliver_all(lambda: next(found, None)))


def _deliver_all(following: Callable[[], OutboxMail | None]) -> int:
    number = 0
    ends = time.monotonic() + BATCH_S
    channel: Any = get_connection()
    try:
        while time.monotonic() < ends and (mail := following()) is not None:
            try:
                number += _deliver(channel, mail)
            except ServerUnusable as problem:
                # The others would meet the same: they keep their turn.
                claims.try_later(mail, problem.code, problem.detail)
                _log.warning("mail server", mail=mail.pk, code=problem.code.value)
                break
    finally:
        _close(channel)
    if number:
        claims.wake()
    return number


def _deliver(channel: Any, mail: OutboxMail) -> bool:
    """Whether it was sent; its row says what else became of it. Raises `ServerUnusable`."""
    message = message_of(mail)
    if not _is_worth_sending(mail, message):
        return False
    _open(channel)
    try:
        _hand_over(channel, mail, message)
    except claims.ClaimLost:
        _close(channel)
        return False
    except Unsure:
        claims.failed(mail, MailCode.UNSURE)
        _log.error("mail unsure", mail=mail.pk, template=mail.template)
        _close(channel)
        return False
    except OSError as error:
        # Among them all that smtplib raises.
        return _not_taken(mail, error)
    claims.sent(mail)
    _log.info("mail sent", mail=mail.pk, template=mail.template)
    return True


def _is_worth_sending(mail: OutboxMail, message: EmailMessage) -> bool:
    if mail.expires is not None and mail.expires <= timezone.now():
        claims.failed(mail, MailCode.EXPIRED)
        return False
    if not _can_be_written(message):
        claims.failed(mail, MailCode.REFUSED)
        return False
    return True


def _open(channel: Any) -> None:
    try:
        channel.open()
    except OSError as error:
        raise _unusable(error) from error


def _can_be_written(message: EmailMessage) -> bool:
    """An address may be right by its form and still not fit into a header."""
    try:
        return bool(message.message())
    except ValueError:
        return False


def _hand_over(channel: Any, mail: OutboxMail, message: EmailMessage) -> None:
    if isinstance(channel, EmailBackend):
        channel.before_text(lambda: claims.hand_over(mail))
    else:
        claims.hand_over(mail)
    channel.send_messages([message])


def _not_taken(mail: OutboxMail, error: OSError) -> bool:
    """What the server's no means: for this mail, or for all. Raises `ServerUnusable`."""
    if isinstance(error, smtplib.SMTPRecipientsRefused):
        code, said = next(iter(error.recipients.values()))
        if _POLICY.match(_text(said)):
            raise ServerUnusable(MailCode.SETTINGS, _words(code, said)) from error
        return _refused(mail, code, said)
    if isinstance(error, smtplib.SMTPDataError):
        return _refused(mail, error.smtp_code, error.smtp_error)
    raise _unusable(error) from error


def _refused(mail: OutboxMail, code: int, said: bytes | str) -> bool:
    """The server answered no to this mail: for good, or for now."""
    if code == GOING_AWAY:
        raise ServerUnusable(MailCode.UNREACHABLE, _words(code, said))
    if code >= PERMANENT:
        claims.bounced(mail, _words(code, said))
        _log.warning("mail refused", mail=mail.pk, template=mail.template, smtp=code)
    else:
        claims.try_later(mail, MailCode.LATER, _words(code, said))
    return False


def _unusable(error: OSError) -> ServerUnusable:
    """Wrong settings are told apart from a server that is away: only a person mends them."""
    if isinstance(error, smtplib.SMTPResponseException):
        permanent = error.smtp_code >= PERMANENT
        code = MailCode.SETTINGS if permanent else MailCode.UNREACHABLE
        return ServerUnusable(code, _words(error.smtp_code, error.smtp_error))
    certain = isinstance(error, ssl.SSLCertVerificationError | smtplib.SMTPNotSupportedError)
    code = MailCode.SETTINGS if certain else MailCode.UNREACHABLE
    return ServerUnusable(code, f"{type(error).__name__}: {error}")


def _words(code: int, said: bytes | str) -> str:
    return f"{code} {' '.join(_text(said).split())}"


def _text(said: bytes | str) -> str:
    return said.decode(errors="replace") if isinstance(said, bytes) else said


def _close(channel: Any) -> None:
    # Whatever happens while we say goodbye, the mails' rows are written already.
    with contextlib.suppress(OSError, smtplib.SMTPException):
        channel.close()
