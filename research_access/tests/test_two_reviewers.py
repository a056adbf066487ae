"""Two reviewers at the same moment, in two connections: one decides, the other reads what, and one
mail goes out."""

from __future__ import annotations

import html
import threading
from datetime import timedelta

import pytest
import time_machine
from django.core import mail as sent
from django.db import connection
from django.test import Client
from django.utils import timezone

from accounts import services as accounts
from gpugoblin_site.mail import delivery
from gpugoblin_site.mail.models import OutboxMail
from research_access.models import AccessRequest
from research_access.tests.reviewing import (
    QUEUE,
    move_body,
    page_of,
    request_of,
    reviewer_called,
)
from tests.browser.people import client_of

pytestmark = pytest.mark.django_db(transaction=True)

MOVES = {"approve": "Welcome.", "decline": "Not research."}


def at_once(work: dict[str, tuple[Client, str, dict[str, str]]]) -> dict[str, tuple[int, str]]:
    """Post each in a thread of its own; what each was answered."""
    barrier = threading.Barrier(len(work))
    answers: dict[str, tuple[int, str]] = {}

    def run(name: str, client: Client, path: str, body: dict[str, str]) -> None:
        try:
            connection.ensure_connection()
            barrier.wait(timeout=30)
            answer = client.post(path, body)
            answers[name] = (answer.status_code, html.unescape(answer.content.decode()))
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(name, *what)) for name, what in work.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.fixture
def desks() -> dict[str, Client]:
    superuser = accounts.make_operator("super@example.org")
    named = {"approve": "Lan Phương", "decline": "Mai Anh"}
    return {
        move: client_of(reviewer_called(f"{move}@example.org", superuser, name))
        for move, name in named.items()
    }


@pytest.mark.parametrize("_again", range(3))
def test_the_second_reads_what_the_first_decided(desks: dict[str, Client], _again: int) -> None:
    row = request_of("ada@example.org")
    path = f"{QUEUE}{row.pk}/change/"
    bodies = {
        move: move_body(page_of(desks[move], row), move, reason) for move, reason in MOVES.items()
    }
    answers = at_once({move: (desks[move], path, bodies[move]) for move in MOVES})
    first = next(move for move, (status, _page) in answers.items() if status == 302)
    second = next(move for move in MOVES if move != first)
    status, page = answers[second]
    assert status == 409
    assert "Nothing was changed: the request is meanwhile" in page
    assert {"approve": "Lan Phương", "decline": "Mai Anh"}[first] in page
    assert MOVES[first] in page
    assert MOVES[second] in page, "what was written is not lost"
    row.refresh_from_db()
    assert row.state == {"approve": "approved", "decline": "declined"}[first]
    assert row.decisions.count() == 2
    assert OutboxMail.objects.filter(key__startswith="decision:").count() == 2, "sent, decided"
    sent.outbox.clear()
    with time_machine.travel(timezone.now() + timedelta(minutes=2, seconds=1)):
        delivery.deliver_due()
    told = [mail for mail in sent.outbox if any(text in mail.body for text in MOVES.values())]
    assert len(told) == 1


def test_undoing_twice_at_once(desks: dict[str, Client]) -> None:
    row = request_of("ada@example.org")
    path = f"{QUEUE}{row.pk}/change/"
    desk = desks["decline"]
    desk.post(path, move_body(page_of(desk, row), "decline", "No."))
    body = {"undo": str(row.decisions.latest("id").pk)}
    answers = at_once(dict.fromkeys(("one", "other"), (desk, path, body)))
    assert sorted(status for status, _page in answers.values()) == [302, 409]
    assert AccessRequest.objects.get().state == "submitted"
    assert row.decisions.count() == 3
