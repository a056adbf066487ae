"""People that the tests of accounts need."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection

from accounts import services
from accounts.models import Account
from research_access import services as access
from research_access.management.commands.make_network_people import approved_request
from research_access.models import Lab


@pytest.fixture
def account() -> Account:
    return services.create_account("Ada@Example.org")


@pytest.fixture
def lab() -> Lab:
    """A lab whose owner is `researcher@example.org`."""
    reviewer = services.make_operator("reviewer@example.org")
    researcher = services.create_account("researcher@example.org")
    approved_request(researcher, reviewer)
    return access.create_lab(researcher, "Lab")


@pytest.fixture
def at_once() -> Callable[[int, Callable[[], Any]], list[Any]]:
    """Run work in so many threads, all let go at the same moment; what they got or raised."""

    def run_all(number: int, work: Callable[[], Any]) -> list[Any]:
        barrier = threading.Barrier(number)
        answers: list[Any] = []

        def run() -> None:
            connection.ensure_connection()
            barrier.wait(timeout=30)
            try:
                answers.append(work())
            except Exception as error:
                answers.append(error)
            finally:
                connection.close()

        threads = [threading.Thread(target=run) for _ in range(number)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    return run_all
