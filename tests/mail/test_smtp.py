"""Delivery by real SMTP: what the server sees, and every way in which it can say no or go away."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts import services
from gpugoblin_site.mail import claims, delivery, outbox
from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail
from tests.mail.conftest import Post

pytestmark = pytest.mark.django_db


def queue(number: int = 1, **options: object) -> OutboxMail:
    to = f"person{number}@example.org"
    return outbox.queue(to, "check", {}, key=f"check:{number}", **options)  # type: ignore[arg-type]


def fresh(mail: OutboxMail) -> OutboxMail:
    return OutboxMail.objects.get(pk=mail.pk)


def test_what_arrives(post: Post, settings: Settings) -> None:
    settings.DEFAULT_FROM_EMAIL = "GPU Goblin <noreply@gpugoblin.example>"
    settings.GOBLIN_MAIL_BOUNCES = "bounces@gpugoblin.example"
    account = services.create_account("ada@example.org", language="vi")
    mail = outbox.queue(account, "check", {}, key="check:vi")
    OutboxMail.objects.update(
        subject="Mã đăng nhập: được duyệt", body="Chào bạn Đỗ Thị Ước,\n" * 40
    )
    assert delivery.deliver_due() == 1
    got = post.mails[0]
    assert got["Subject"] == "Mã đăng nhập: được duyệt"
    assert got["To"] == "ada@example.org"
    assert got["From"] == "GPU Goblin <noreply@gpugoblin.example>"
    assert post.senders == ["bounces@gpugoblin.example"]
    assert got["Content-Language"] == "vi"
    assert got["Auto-Submitted"] == "auto-generated"
    assert got["Message-ID"] == f"<{mail.uid.hex}@127.0.0.1>"
    assert got.get_content_type() == "text/plain"
    assert got.get_content_charset() == "utf-8"
    assert (
        got.get_content().replace("\r\n", "\n").strip() == ("Chào bạn Đỗ Thị Ước,\n" * 40).strip()
    )
    assert all(byte < 128 for byte in got.as_bytes()), "it passes servers that take seven bits"


def test_server_down_and_back_all_sent_none_twice(post: Post) -> None:
    post.stop()
    mails = [queue(number) for number in range(5)]
    assert delivery.deliver_due() == 0
    assert delivery.deliver_due() == 0
    assert outbox.is_late()
    assert {fresh(mail).state for mail in mails} == {MailState.WAITING}
    tried = OutboxMail.objects.filter(attempts=1)
    assert set(tried.values_list("code", flat=True)) == {MailCode.UNREACHABLE}
    assert tried.count() == 2, "one attempt for each round: the others keep their turn"
    post.start()
    sent = delivery.deliver_due()
    # What had been put off for a while is due again as soon as one mail went through.
    sent += delivery.deliver_due()
    sent += delivery.deliver_due()
    assert sent == len(post.mails) == 5
    assert sorted(post.recipients) == sorted(mail.address for mail in mails)
    assert len({mail["Message-ID"] for mail in post.mails}) == 5
    assert not outbox.is_late()


def test_one_connection_takes_many(post: Post) -> None:
    for number in range(3):
        queue(number)
    assert delivery.deliver_due() == 3


def test_a_refused_address_is_a_bounce(post: Post) -> None:
    refused = queue(1, expires=timedelta(minutes=15))
    post.refuse["rcpt"] = "550 5.1.1 no such person"
    assert delivery.deliver_due() == 0
    assert outbox.state_of(refused.key) is MailState.BOUNCED
    found = fresh(refused)
    assert (found.code, found.detail, found.body) == (
        MailCode.REFUSED,
        "550 5.1.1 no such person",
        "",
    )
    post.refuse.clear()
    queue(2)
    assert delivery.deliver_due() == 1
    assert post.recipients == ["person2@example.org"]


def test_a_refused_text_is_a_bounce(post: Post) -> None:
    mail = queue()
    post.refuse["data"] = "554 5.7.1 looks like spam"
    delivery.deliver_due()
    assert fresh(mail).state == MailState.BOUNCED


def test_greylisting_waits_longer_each_time(post: Post) -> None:
    mail = queue()
    post.refuse["rcpt"] = "451 4.7.1 come back later"
    pauses = []
    for _ in range(3):
        OutboxMail.objects.update(due=timezone.now())
        delivery.deliver_due()
        found = fresh(mail)
        assert (found.state, found.code) == (MailState.WAITING, MailCode.LATER)
        pauses.append((found.due - timezone.now()).total_seconds())
    assert pauses == pytest.approx(claims.PAUSES_S[:3], abs=2)
    post.refuse.clear()
    OutboxMail.objects.update(due=timezone.now())
    assert delivery.deliver_due() == len(post.mails) == 1


def test_a_refused_sender_is_the_sites_own_fault(post: Post) -> None:
    mail = queue()
    post.refuse["mail"] = "550 5.7.60 not allowed to send as this"
    assert delivery.deliver_due() == 0
    assert (fresh(mail).state, fresh(mail).code) == (MailState.WAITING, MailCode.SETTINGS)


@pytest.mark.parametrize(
    "says", ["554 5.7.1 <person1@example.org>: Relay access denied", "550 relay not permitted"]
)
def test_a_server_that_does_not_relay_is_not_the_addresses_fault(post: Post, says: str) -> None:
    mails = [queue(number) for number in range(3)]
    post.refuse["rcpt"] = says
    delivery.deliver_due()
    assert {fresh(mail).state for mail in mails} == {MailState.WAITING}
    post.refuse.clear()
    assert delivery.deliver_due() + delivery.deliver_due() == len(post.mails) == 3


def test_after_days_it_is_given_up(post: Post) -> None:
    mail = queue()
    post.stop()
    OutboxMail.objects.update(created=timezone.now() - claims.PATIENCE - timedelta(hours=1))
    delivery.deliver_due()
    assert (fresh(mail).state, fresh(mail).code) == (MailState.FAILED, MailCode.GAVE_UP)


def test_hanging_up_after_the_text_is_never_followed_by_a_second_copy(post: Post) -> None:
    mail = queue()
    post.hang_up_after_text = True
    assert delivery.deliver_due() == 0
    assert (fresh(mail).state, fresh(mail).code) == (MailState.FAILED, MailCode.UNSURE)
    post.hang_up_after_text = False
    assert delivery.deliver_due() == 0
    assert len(post.mails) == 1


def test_a_crash_before_the_text_went_out_sends_later(post: Post) -> None:
    mail = queue()
    assert claims.claim_next() == mail
    assert delivery.deliver_due() == 0, "it may be under way"
    OutboxMail.objects.update(claimed=timezone.now() - claims.CLAIM_LIFETIME * 2)
    assert delivery.deliver_due() == len(post.mails) == 1


def test_a_crash_while_the_text_went_out_is_left_to_a_person(post: Post) -> None:
    mail = queue(1, expires=timedelta(minutes=15))
    claimed = claims.claim_next()
    assert claimed is not None
    claims.hand_over(claimed)
    OutboxMail.objects.update(claimed=timezone.now() - claims.CLAIM_LIFETIME * 2)
    assert delivery.deliver_due() == 0
    assert (fresh(mail).state, fresh(mail).code) == (MailState.FAILED, MailCode.UNSURE)
    assert fresh(mail).body == ""
    assert post.mails == []


def test_an_attempt_whose_claim_is_gone_sends_nothing(post: Post) -> None:
    mail = queue()
    slow = claims.claim_next()
    assert slow is not None
    OutboxMail.objects.update(claimed=timezone.now() - claims.CLAIM_LIFETIME * 2)
    claims.recover()
    quick = claims.claim_next()
    assert quick == mail
    with pytest.raises(claims.ClaimLost):
        claims.hand_over(slow)
    claims.failed(slow, MailCode.UNSURE)
    assert fresh(mail).state == MailState.SENDING, "who lost the claim writes no end"
    assert post.mails == []
