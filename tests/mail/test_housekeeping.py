"""Mails are forgotten in time, and the figures count what is there."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from accounts import services
from accounts.models import Account
from gpugoblin_site.mail import delivery, figures, housekeeping, outbox
from gpugoblin_site.mail.models import MailState, OutboxMail

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ada() -> Account:
    return services.create_account("ada@example.org")


def ended(state: MailState, days: int) -> OutboxMail:
    mail = outbox.queue("ada@example.org", "check", {}, key=f"check:{state}:{days}")
    OutboxMail.objects.filter(pk=mail.pk).update(
        state=state, finished=timezone.now() - timedelta(days=days)
    )
    return mail


def test_old_mail_is_deleted() -> None:
    kept = [ended(MailState.SENT, 29), ended(MailState.FAILED, 89)]
    kept.append(outbox.queue("ada@example.org", "check", {}, key="check:waiting"))
    for state, days in (
        (MailState.SENT, 31),
        (MailState.CANCELLED, 31),
        (MailState.FAILED, 91),
        (MailState.BOUNCED, 91),
    ):
        ended(state, days)
    assert housekeeping.purge() == 4
    assert set(OutboxMail.objects.all()) == set(kept)


def test_an_address_without_an_account_is_kept_for_a_day() -> None:
    for hours in (23, 25):
        mail = outbox.queue("stranger@example.org", "check", {}, key=f"check:{hours}")
        OutboxMail.objects.filter(pk=mail.pk).update(
            state=MailState.SENT, finished=timezone.now() - timedelta(hours=hours)
        )
    waiting = outbox.queue("stranger@example.org", "check", {}, key="check:waiting")
    assert housekeeping.purge() == 1
    assert set(OutboxMail.objects.values_list("key", flat=True)) == {"check:23", waiting.key}


def test_figures() -> None:
    assert figures.summary() == figures.Summary(0, 0, 0, 0, 0, 0, 0.0, 0.0)
    ended(MailState.FAILED, 0)
    ended(MailState.BOUNCED, 2)
    outbox.queue("ada@example.org", "check", {}, key="check:1")
    delivery.deliver_due()
    outbox.queue("ada@example.org", "check", {}, key="check:2")
    outbox.queue("ada@example.org", "check", {}, key="check:3", delay=timedelta(days=1))
    OutboxMail.objects.filter(key__in=("check:2", "check:3")).update(
        created=timezone.now() - timedelta(minutes=5)
    )
    OutboxMail.objects.filter(key="check:2").update(due=timezone.now() - timedelta(minutes=1))
    now = figures.summary()
    assert (now.due, now.failed, now.bounced, now.sent) == (1, 1, 0, 1)
    assert now.oldest_s == pytest.approx(300, abs=5)
    assert b"goblin_mail_due 1.0" in Client().get("/metrics").content
