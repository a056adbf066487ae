"""Mail that somebody waits for leaves right after the commit, in the background."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from pytest_django import Settings

from gpugoblin_site.mail import courier, delivery, outbox
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
    outbox.queue("ada@example.org", "check", {}, key="check:1")
    wait_until_idle()
    assert outbox.state_of("check:1") is MailState.SENT
    assert post.recipients == ["ada@example.org"]


def test_a_silent_server_holds_up_no_page(post: Post, settings: Settings) -> None:
    settings.GOBLIN_MAIL_AT_ONCE, settings.EMAIL_TIMEOUT = True, 2
    post.stop()
    number = courier.IN_HAND * 3
    with socket.create_server(("127.0.0.1", post.port)):
        for index in range(number):
            outbox.queue("ada@example.org", "check", {}, key=f"check:{index}")
        assert OutboxMail.objects.filter(state=MailState.SENDING).count() <= courier.THREADS
        wait_until_idle()
    assert 1 <= OutboxMail.objects.filter(attempts=1).count() <= courier.IN_HAND
    assert OutboxMail.objects.filter(state=MailState.WAITING).count() == number


def test_many_deliver_at_once_and_none_twice(post: Post) -> None:
    for number in range(30):
        outbox.queue(f"person{number}@example.org", "check", {}, key=f"check:{number}")

    def deliver() -> int:
        try:
            return delivery.deliver_due()
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        sent = [job.result() for job in [threads.submit(deliver) for _ in range(4)]]
    assert sum(sent) == len(post.mails) == 30
    assert len(set(post.recipients)) == 30
