"""What other rooms rely on: once per key, in the reader's language, taken back while it waits."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.core import mail as sent_mail
from django.db import transaction
from django.utils import timezone, translation

from accounts import services
from accounts.models import Account
from goblin_wire.problems import BadMessage
from gpugoblin_site.mail import delivery, outbox
from gpugoblin_site.mail.models import MailCode, MailState, OutboxMail

pytestmark = pytest.mark.django_db


@pytest.fixture
def account() -> Account:
    return services.create_account("Ada@Example.org", language="vi")


def queue(to: Account | str, key: str = "check:1", **options: object) -> OutboxMail:
    return outbox.queue(to, "check", {}, key=key, **options)  # type: ignore[arg-type]


def test_a_mail_leaves_once(account: Account) -> None:
    mail = queue(account)
    assert outbox.state_of("check:1") is MailState.WAITING
    assert queue(account) == mail
    assert delivery.deliver_due() == 1
    assert delivery.deliver_due() == 0
    assert outbox.state_of("check:1") is MailState.SENT
    assert [message.to for message in sent_mail.outbox] == [["ada@example.org"]]


def test_the_same_key_after_it_left_is_the_same_mail(account: Account) -> None:
    mail = queue(account)
    delivery.deliver_due()
    assert queue(account) == mail
    assert delivery.deliver_due() == 0


def test_it_is_written_in_the_language_of_its_reader(account: Account) -> None:
    assert queue(account).language == "vi"
    assert queue(account, "check:2", language="en").language == "en"
    with translation.override("vi"):
        assert queue("new@example.org", "check:3").language == "vi"
        assert queue("ADA@example.org", "check:4", language="xx-YY").language == "en"
    assert translation.get_language() == "en"


def test_an_address_with_an_account_is_that_account(account: Account) -> None:
    mail = queue(" ADA@example.org ")
    assert (mail.account, mail.address, mail.language) == (account, "ada@example.org", "vi")


def test_a_mail_of_a_transaction_that_failed_is_none(account: Account) -> None:
    with transaction.atomic():
        queue(account)
        transaction.set_rollback(True)
    assert outbox.state_of("check:1") is None


def test_delay_and_cancel(account: Account) -> None:
    queue(account, delay=timedelta(minutes=2))
    assert delivery.deliver_due() == 0
    assert outbox.cancel("check:1")
    assert not outbox.cancel("check:1")
    OutboxMail.objects.update(due=timezone.now())
    assert delivery.deliver_due() == 0
    found = OutboxMail.objects.get()
    assert (found.state, found.body) == (MailState.CANCELLED, "")
    assert not outbox.cancel("check:none")


def test_what_left_cannot_be_taken_back(account: Account) -> None:
    queue(account)
    delivery.deliver_due()
    assert not outbox.cancel("check:1")


def test_the_text_is_wiped_once_sent(account: Account) -> None:
    mail = queue(account)
    assert mail.body
    delivery.deliver_due()
    mail.refresh_from_db()
    assert (mail.state, mail.body) == (MailState.SENT, "")
    assert sent_mail.outbox[0].body


def test_of_a_secret_nothing_is_left(account: Account) -> None:
    for number, end in enumerate((delivery.deliver_due, lambda: outbox.cancel("check:1"))):
        OutboxMail.objects.all().delete()
        mail = queue(account, expires=timedelta(minutes=15))
        end()
        mail.refresh_from_db()
        assert (mail.subject, mail.body) == ("", ""), number
    assert len(sent_mail.outbox) == 1
    assert sent_mail.outbox[0].subject


def test_what_came_too_late_is_not_sent(account: Account) -> None:
    mail = queue(account, expires=timedelta(minutes=15))
    OutboxMail.objects.update(expires=timezone.now())
    assert delivery.deliver_due() == 0
    mail.refresh_from_db()
    assert (mail.state, mail.code, mail.body) == (MailState.FAILED, MailCode.EXPIRED, "")


def test_nothing_is_written_to_a_deleted_account(account: Account) -> None:
    account.person.delete()
    mail = queue(Account.objects.get(pk=account.pk))
    assert (mail.state, mail.code, mail.body) == (MailState.CANCELLED, MailCode.ERASED, "")
    assert delivery.deliver_due() == 0


def test_bad_calls(account: Account) -> None:
    with pytest.raises(BadMessage):
        queue("nobody")
    with pytest.raises(ValueError, match="name a person"):
        queue(account, "check:ada@example.org")
