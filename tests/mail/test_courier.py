"""Mail that somebody waits for leaves right after the commit, in the background."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from pytest_django import Settings

from gpugoblin_site.mail import courier, outbox
from gpugoblin_site.mail.models import MailState, OutboxMail
from tests.mail.conftest import Post

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def wait_until_idle_at_the_end() -> Iterator[None]:
    yield
    wait_until_idle()


def wait_until_idle() -> None:
    """Take every place in the courier's hands, which is free once its work is done."""
    for _ in range(courier.IN_HAND):
        assert courier._room.acquire(timeout=30)
    courier._room.release(courier.IN_HAND)


def test_it_leaves_without_the_scheduler(post: Post, settings: Settings) -> None:
    settings.GOBLIN_MAIL_AT_ONCE = True
    started = time.monotonic()
    outbox.queue("ada@example.org", "check", {}, key="check:1")
    assert time.monotonic() - started < 1.0
    wait_until_idle()
    assert outbox.state_of("check:1") is MailState.SENT
    assert post.recipients == ["ada@example.org"]


def test_a_server_that_is_away_holds_up_no_page(post: Post, settings: Settings) -> None:
    settings.GOBLIN_MAIL_AT_ONCE = True
    post.stop()
    number = courier.IN_HAND * 3
    started = time.monotonic()
    for index in range(number):
        outbox.queue("ada@example.org", "check", {}, key=f"check:{index}")
    assert time.monotonic() - started < 2.0
    wait_until_idle()
    assert 1 <= OutboxMail.objects.filter(attempts=1).count() <= number
    assert OutboxMail.objects.filter(state=MailState.WAITING).count() == number
