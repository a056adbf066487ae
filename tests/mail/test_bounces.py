"""Reports of delivery: the mail that they name, and no other."""

from __future__ import annotations

import io
import uuid
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from gpugoblin_site.mail import bounces, delivery, outbox
from gpugoblin_site.mail.message import message_id
from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail

pytestmark = pytest.mark.django_db

REPORT = """\
From: MAILER-DAEMON@mx.example.org
To: bounces@gpugoblin.example
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="b"

--b
Content-Type: text/plain; charset=utf-8

Rất tiếc, thư không tới nơi.

--b
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.org

Final-Recipient: rfc822; ada@example.org
Action: {action}
Status: {status}
Diagnostic-Code: smtp; 550 5.1.1 <ada@example.org>: unknown
 user

--b
Content-Type: text/rfc822-headers

Message-ID: {id}
Subject: x

--b--
"""


@pytest.fixture
def mail() -> OutboxMail:
    made = outbox.queue("ada@example.org", "check", {}, key="check:1")
    delivery.deliver_due()
    return made


def report(mail_id: str, action: str = "failed", status: str = "5.1.1") -> bytes:
    return REPORT.format(id=mail_id, action=action, status=status).encode()


def test_a_report_marks_its_mail(mail: OutboxMail) -> None:
    other = outbox.queue("ada@example.org", "check", {}, key="check:2")
    delivery.deliver_due()
    assert bounces.take_in(report(message_id(mail))) == mail
    mail.refresh_from_db()
    other.refresh_from_db()
    assert (mail.state, mail.code) == (MailState.BOUNCED, MailCode.RETURNED)
    assert mail.detail == "550 5.1.1 <ada@example.org>: unknown user"
    assert other.state == MailState.SENT
    assert bounces.take_in(report(message_id(mail))) is None, "once is enough"


@pytest.mark.parametrize(
    ("action", "status"), [("delayed", "4.4.1"), ("relayed", "2.0.0"), ("failed", "4.2.2")]
)
def test_what_is_not_for_good_changes_nothing(mail: OutboxMail, action: str, status: str) -> None:
    assert bounces.take_in(report(message_id(mail), action, status)) is None
    assert outbox.state_of(mail.key) is MailState.SENT


def test_a_forged_report_reaches_nobody(mail: OutboxMail) -> None:
    assert bounces.take_in(report(f"<{uuid.uuid4().hex}@gpugoblin.example>")) is None
    assert bounces.take_in(report("<nonsense>")) is None
    assert outbox.state_of(mail.key) is MailState.SENT


@pytest.mark.parametrize("content", [b"", b"\xff\x00" * 50, b"Subject: I am on holiday\n\nBye."])
def test_other_mail_is_no_report(content: bytes) -> None:
    assert bounces.parse(content) is None


def test_a_mail_that_still_waits_is_not_marked() -> None:
    waiting = outbox.queue("ada@example.org", "check", {}, key="check:1")
    assert bounces.take_in(report(message_id(waiting))) is None


def test_the_command_reads_files_and_standard_input(
    mail: OutboxMail, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report.eml"
    file.write_bytes(b"Subject: hello\n\n")
    assert "no report" in call_command("mail_bounced", str(file))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(report(message_id(mail)))))
    assert f"mail {mail.pk} is marked" in call_command("mail_bounced")
    with pytest.raises(CommandError, match="can't be read"):
        call_command("mail_bounced", str(tmp_path / "none"))


def test_the_command_takes_a_message_id(mail: OutboxMail) -> None:
    call_command("mail_bounced", "--id", message_id(mail).strip("<>"), "--says", "mailbox is full")
    mail.refresh_from_db()
    assert (mail.state, mail.detail) == (MailState.BOUNCED, "mailbox is full")
    with pytest.raises(CommandError, match="came back before"):
        call_command("mail_bounced", "--id", message_id(mail))
    with pytest.raises(CommandError, match="no Message-ID"):
        call_command("mail_bounced", "--id", "x")
