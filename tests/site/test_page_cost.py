"""What pages with much on them cost: queries, and time on a table that is full."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import NamedTuple

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts import services as accounts
from accounts.models import Account
from research_access import services as access
from research_access.management.commands.make_network_people import approved_request
from research_access.models import Lab
from tests.browser.people import client_of
from tests.site import crowd

pytestmark = pytest.mark.django_db
MOST_QUERIES = 12
MOST_SECONDS = 0.3


class Scene(NamedTuple):
    """Who looks, and what they look at."""

    reviewer: Account
    researcher: Account
    lab: Lab

    def client(self, who: str) -> Client:
        return client_of(getattr(self, who))

    def grow(self, number: int) -> None:
        """So many rows more of everything that a list shows."""
        crowd.requests(number, self.reviewer)
        crowd.proposals(number, self.researcher)
        crowd.labs(self.researcher, self.lab.request, number)
        crowd.members(self.lab, number)
        jobs = crowd.jobs(self.lab, number)
        hosts = crowd.hosts(self.researcher, number)
        crowd.units(jobs[0], hosts)
        crowd.tokens([self.researcher] * number)
        crowd.credit(crowd.accounts(number), days=1)
        crowd.mails(number)
        for _ in range(number):
            client_of(self.researcher)


@pytest.fixture
def scene() -> Scene:
    reviewer = accounts.make_operator("reviewer@example.org")
    researcher = accounts.create_account("researcher@example.org", name="Trần Thị Hoa")
    approved_request(researcher, reviewer)
    return Scene(reviewer, researcher, access.create_lab(researcher, "Phòng lab"))


def fetch(client: Client, path: str) -> tuple[float, list[str]]:
    """Seconds and statements of one look at a page."""
    with CaptureQueriesContext(connection) as captured:
        started = time.perf_counter()
        answer = client.get(path)
        seconds = time.perf_counter() - started
    assert answer.status_code == 200, (path, answer.status_code, answer.headers.get("Location"))
    return seconds, [query["sql"] for query in captured.captured_queries]


def require_cheap(client: Client, path: str) -> None:
    fetch(client, path)  # templates are loaded once in a process's life
    looks = [fetch(client, path) for _ in range(5)]
    statements = looks[0][1]
    assert len(statements) <= MOST_QUERIES, "\n".join(each[:200] for each in statements)
    assert statistics.median(seconds for seconds, _ in looks) < MOST_SECONDS


@pytest.mark.alone
def test_a_queue_of_500_requests(scene: Scene) -> None:
    crowd.requests(500, scene.reviewer)
    queue = reverse("admin:research_access_accessrequest_changelist")
    require_cheap(scene.client("reviewer"), queue)


@pytest.mark.alone
def test_200_machines(scene: Scene) -> None:
    crowd.hosts(scene.researcher, 200)
    require_cheap(scene.client("researcher"), reverse("machines"))


@pytest.mark.alone
def test_a_lab_with_10_000_jobs(scene: Scene) -> None:
    crowd.jobs(scene.lab, 10_000)
    require_cheap(scene.client("researcher"), reverse("lab-jobs", args=[scene.lab.key]))


def of_lab(name: str) -> Callable[[Scene], str]:
    return lambda scene: reverse(name, args=[scene.lab.key])


LISTS: dict[str, tuple[str, str | Callable[[Scene], str]]] = {
    "access": ("researcher", "access"),
    "account": ("researcher", "account"),
    "catalogue": ("researcher", "catalogue"),
    "contribution": ("researcher", "contribution"),
    "home": ("researcher", "home"),
    "lab": ("researcher", of_lab("lab")),
    "lab-jobs": ("researcher", of_lab("lab-jobs")),
    "labs": ("researcher", "labs"),
    "leaderboard": ("researcher", "leaderboard"),
    "machines": ("researcher", "machines"),
    "proposals": ("researcher", "proposals"),
    "start": ("researcher", "start"),
    "status": ("researcher", "status"),
    "admin": ("reviewer", "admin:index"),
    "cockpit": ("reviewer", "admin:cockpit"),
}


@pytest.mark.parametrize("page", LISTS)
def test_no_query_per_row(scene: Scene, page: str) -> None:
    who, where = LISTS[page]
    path = where(scene) if callable(where) else reverse(where)
    require_constant(scene, who, path)


def test_no_query_per_row_in_the_lists_of_the_admin(scene: Scene, changelists: list[str]) -> None:
    client = scene.client("reviewer")
    scene.grow(2)
    before = {name: len(fetch(client, reverse(name))[1]) for name in changelists}
    scene.grow(4)
    after = {name: len(fetch(client, reverse(name))[1]) for name in changelists}
    grown = {
        name: (before[name], after[name]) for name in changelists if after[name] > before[name]
    }
    assert not grown


def require_constant(scene: Scene, who: str, path: str) -> None:
    """As many queries with three times as many rows."""
    client = scene.client(who)
    scene.grow(2)
    fetch(client, path)
    _, few = fetch(client, path)
    scene.grow(4)
    _, many = fetch(client, path)
    assert len(many) <= len(few), "\n".join(each[:300] for each in many if each not in few)


@pytest.fixture
def changelists() -> list[str]:
    from django.contrib import admin

    return [
        f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        for model in admin.site._registry
    ]
