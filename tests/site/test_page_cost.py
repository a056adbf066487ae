"""What pages with much on them cost: queries, and time on a table that is full."""

from __future__ import annotations

import statistics
import time
from typing import NamedTuple

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts import services as accounts
from accounts import sign_in
from accounts.models import Account
from goblin_wire.protocol import PROTOCOL
from goblin_wire.signin import SignInStart
from goblin_wire.tokens import Scope
from research_access import services as access
from research_access.management.commands.make_network_people import approved_request
from research_access.models import AccessRequest, Lab, Proposal
from tests.browser.people import client_of
from tests.site import crowd
from workunits.models import Host

pytestmark = pytest.mark.django_db
OWN_PAGES = (
    *("access", "account", "catalogue", "contribution", "home", "labs", "leaderboard"),
    *("machines", "proposals", "start", "status"),
)
MOST_QUERIES = 12
MOST_SECONDS = 0.3


class Scene(NamedTuple):
    """Who looks, and what they look at."""

    reviewer: Account
    researcher: Account
    lab: Lab
    request: AccessRequest
    """Waits for a decision."""
    proposal: Proposal
    host: Host
    code: str
    """Of a program that wants to be let in."""

    def client(self, who: str) -> Client:
        return client_of(self.request.account if who == "applicant" else getattr(self, who))

    def grow(self, number: int) -> None:
        """So many rows more of everything that a page shows."""
        self._people_and_requests(number)
        jobs = crowd.jobs(self.lab, number)
        hosts = crowd.hosts(self.researcher, number)
        crowd.units(jobs[0], [*hosts, *[self.host] * 3 * number])
        crowd.credit(crowd.accounts(number), days=1)
        crowd.tokens([self.researcher] * number)
        crowd.mails(number)
        crowd.sign_ins(number)
        for _ in range(number):
            client_of(self.researcher)

    def _people_and_requests(self, number: int) -> None:
        crowd.requests(number, self.reviewer)
        crowd.history(self.request, self.reviewer, number)
        crowd.viewings(self.request, number)
        crowd.replies(number)
        crowd.proposals(number, self.researcher)
        crowd.answers(self.proposal, self.reviewer, number)
        crowd.labs(self.researcher, self.lab.request, number)
        crowd.labs(self.request.account, self.lab.request, number)
        crowd.members(self.lab, number)


@pytest.fixture
def scene() -> Scene:
    reviewer = accounts.make_operator("reviewer@example.org")
    researcher = accounts.create_account("researcher@example.org", name="Trần Thị Hoa")
    approved_request(researcher, reviewer)
    lab = access.create_lab(researcher, "Phòng lab")
    program = SignInStart(protocol=PROTOCOL, scope=Scope.LAB, program="goblin-lab 0.1.0")
    return Scene(
        reviewer,
        researcher,
        lab,
        request=crowd.requests(1, reviewer)[0],
        proposal=crowd.proposals(1, researcher)[0],
        host=crowd.hosts(researcher, 1)[0],
        code=sign_in.start(program, "192.0.2.1").user_code,
    )


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


def addresses(scene: Scene) -> dict[str, tuple[str, str]]:
    """Every page that shows rows, with who looks at it."""
    lab, request, proposal = scene.lab.key, scene.request, scene.proposal
    decide = "admin:research_access_accessrequest_change"
    found = {
        **{name: ("researcher", reverse(name)) for name in OWN_PAGES},
        "lab": ("researcher", reverse("lab", args=[lab])),
        "lab-jobs": ("researcher", reverse("lab-jobs", args=[lab])),
        "machine": ("researcher", reverse("machine", args=[scene.host.uid])),
        "sign-in": ("researcher", reverse("sign-in", query={"code": scene.code})),
        "timeline": ("applicant", reverse("access-request", args=[request.key])),
        "admin": ("reviewer", reverse("admin:index")),
        "cockpit": ("reviewer", reverse("admin:cockpit")),
        "decision": ("reviewer", reverse(decide, args=[request.pk])),
        "proposal": (
            "reviewer",
            reverse("admin:research_access_proposal_change", args=[proposal.pk]),
        ),
    }
    for model in admin.site._registry:
        name = f"{model._meta.app_label}_{model._meta.model_name}_changelist"
        found[name] = ("reviewer", reverse(f"admin:{name}"))
    return found


def test_no_query_per_row(scene: Scene) -> None:
    """As many queries with three times as many rows, on every page that shows rows."""
    clients = {who: scene.client(who) for who in ("researcher", "applicant", "reviewer")}
    pages = addresses(scene)
    scene.grow(2)
    for who, path in pages.values():
        fetch(clients[who], path)
    few = {name: fetch(clients[who], path)[1] for name, (who, path) in pages.items()}
    scene.grow(4)
    many = {name: fetch(clients[who], path)[1] for name, (who, path) in pages.items()}
    grown = {
        name: "\n".join(each[:300] for each in many[name] if each not in few[name])
        for name in pages
        if len(many[name]) > len(few[name])
    }
    assert not grown


def test_the_rows_of_these_pages_grow(scene: Scene) -> None:
    """Else the test above would say nothing: what is counted there is shown."""
    scene.grow(2)
    pages = addresses(scene)
    for name, shown, least in ROWS:
        who, path = pages[name]
        text = scene.client(who).get(path).content.decode()
        assert text.count(shown) >= least, name


ROWS = (
    ("machine", 'class="refused"', 2),
    ("timeline", "Nữa?", 4),
    ("decision", "Nữa?", 4),
    ("decision", "Cỡ nào?", 4),
    ("decision", 'class="notice waiting"', 2),
    ("decision", ">Cỡ ", 2),
    ("proposal", "Có.", 4),
    ("sign-in", "Phòng ", 3),
    ("lab", "/invitations/", 2),
    ("lab", "/members/", 2),
    ("account", "/account/sessions/", 2),
    ("account", "/account/tokens/", 2),
    ("research_access_savedreply_changelist", "Cỡ ", 2),
    ("research_access_proposal_changelist", "Tích thưa", 3),
)
