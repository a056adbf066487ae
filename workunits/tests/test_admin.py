"""The admin of the work units: what operators read, and that it costs the same for many rows."""

from __future__ import annotations

import html
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Account
from accounts.roles import Role
from goblin_wire.states import VerdictKind
from tests.people import as_operator
from workunits import statistics, switches
from workunits.admin.how_to import HOW_TO
from workunits.models import Host, Job, Lease, Switch, SwitchKind, SwitchMove, Unit
from workunits.scheduler import beat
from workunits.switches import Subject
from workunits.tests.test_switches import WORDS, with_role
from workunits.tests.world import Researcher, Volunteer, done, verdict

pytestmark = pytest.mark.django_db

COCKPIT = "/admin/cockpit/"
LISTS = [
    "host",
    "job",
    "labnode",
    "unit",
    "lease",
    "standing",
    "creditentry",
    "verdictbatch",
    "switch",
    "switchmove",
    "incident",
    "incidentversion",
]


@pytest.fixture
def operator() -> Account:
    return with_role(Role.OPERATOR)


@pytest.fixture
def browser(operator: Account) -> Client:
    return as_operator(operator)


@pytest.fixture
def lab() -> Researcher:
    return Researcher.make()


def text_of(browser: Client, path: str, **headers: str) -> str:
    answer = browser.get(path, headers=headers)
    assert answer.status_code == 200, (path, answer.status_code, answer.content[:500])
    return html.unescape(answer.content.decode()).replace("\N{NO-BREAK SPACE}", " ")


def queries(browser: Client, path: str) -> int:
    browser.get(path)
    with CaptureQueriesContext(connection) as found:
        assert browser.get(path).status_code == 200
    return len(found)


def a_story(lab: Researcher) -> tuple[Volunteer, Volunteer, Unit]:
    """One unit: a wrong result, a hand-back, and a right one."""
    lab.job()
    wrong, right = Volunteer.make(), Volunteer.make()
    (lease,) = wrong.ask(1).leases
    wrong.ask(done=[done(lease)])
    reason = "Entry (3, 4) is 1.5, not 2."
    lab.judge(verdict(lease, VerdictKind.REJECTED, code="wrong_entry", reason=reason))
    (lease,) = right.ask(1).leases
    right.ask(done=[done(lease)])
    lab.judge(verdict(lease, residual=0.25))
    return wrong, right, Unit.objects.get()


# --- reading -------------------------------------------------------------------------------------
@pytest.mark.django_db(transaction=True)
def test_a_unit_tells_its_story_in_order(browser: Client, lab: Researcher) -> None:
    wrong, right, unit = a_story(lab)
    page = text_of(browser, f"/admin/workunits/unit/{unit.pk}/change/")
    parts = [
        "Its job was registered",
        "Leased to machine",
        "Reported: the result is at the lab",
        "The lab's verdict: wrong.",
        "Entry (3, 4) is 1.5, not 2.",
        "Given out again, to machine",
        "The lab's verdict: right.",
        "Residual over its bound: 0.25.",
        "Accepted: the result of lease",
        "Credited: 1.00 kFLOP.",
    ]
    places = [page.find(part, page.find("What happened")) for part in parts]
    assert -1 not in places, parts[places.index(-1)]
    assert places == sorted(places)
    for volunteer in (wrong, right):
        assert f"account {volunteer.principal.account_id}" in page


def test_the_story_outlives_its_events(browser: Client, lab: Researcher) -> None:
    from workunits.models import Event

    _, _, unit = a_story(lab)
    Event.objects.all().delete()
    page = text_of(browser, f"/admin/workunits/unit/{unit.pk}/change/")
    for part in ("Leased to", "verdict: wrong", "Given out again", "verdict: right", "Credited"):
        assert part in page
    Lease.objects.filter(unit=unit, copy=0).update(state="expired", code="expired")


def test_the_story_of_a_lease_that_came_to_nothing(browser: Client, lab: Researcher) -> None:
    lab.job()
    (lease,) = Volunteer.make().ask(1).leases
    Lease.objects.filter(pk=lease.lease).update(state="expired")
    page = text_of(browser, f"/admin/workunits/unit/{Unit.objects.get().pk}/change/")
    assert "The lease ended: expired. When that was is not known any more." in page


def test_events_are_found_among_many(browser: Client, lab: Researcher) -> None:
    _, _, unit = a_story(lab)
    with connection.cursor() as cursor:
        for before, hours in ((True, -5), (False, 5)):
            cursor.execute(
                "INSERT INTO workunits_event (id, lab_id, job_id, unit_id, kind, code, reason,"
                " created) SELECT (SELECT CASE WHEN %s THEN min(id) - 3000 ELSE max(id) END"
                " FROM workunits_event) + n, 1, 1, 0, 'leased', 'ok', '', now() + %s * interval"
                " '1 hour' + n * interval '1 second' FROM generate_series(1, 2000) AS n",
                [before, hours],
            )
    page = text_of(browser, f"/admin/workunits/unit/{unit.pk}/change/")
    assert page.count("Reported: the result is at the lab") == 2
    assert "Accepted: the result of lease" in page


@pytest.mark.parametrize("language", ["en", "vi"])
def test_every_list_and_page_opens(browser: Client, lab: Researcher, language: str) -> None:
    browser.cookies["django_language"] = language
    volunteer, _, unit = a_story(lab)
    volunteer.ask(4)
    for name in LISTS:
        text_of(browser, f"/admin/workunits/{name}/")
        text_of(browser, f"/admin/workunits/{name}/?q=7")
        text_of(browser, f"/admin/workunits/{name}/?q={'0' * 32}")
    for name, row in (
        ("host", Host.objects.first()),
        ("job", Job.objects.first()),
        ("labnode", lab.lab),
        ("lease", Lease.objects.first()),
        ("unit", unit),
    ):
        assert row is not None
        text_of(browser, f"/admin/workunits/{name}/{row.pk}/change/")
    chosen = (f"lab={lab.lab.pk}", "lab=99999999", "lab=abc")
    for query in ("state=quarantined", "state=open", "job=abc", "job=99", *chosen):
        text_of(browser, f"/admin/workunits/unit/?{query}")
    for query in ("state=open", *chosen):
        text_of(browser, f"/admin/workunits/job/?{query}")
    for query in ("state=rejected", "unit=7", f"unit={unit.pk}&state=accepted"):
        text_of(browser, f"/admin/workunits/lease/?{query}")
    assert browser.get("/admin/workunits/unit/99999/change/").status_code == 404
    assert browser.get("/admin/workunits/switch/99999/change/").status_code == 404


def test_a_machine_s_page_shows_why_results_were_refused(browser: Client, lab: Researcher) -> None:
    wrong, _, _ = a_story(lab)
    lab.job()
    wrong.ask(1)
    host = Host.objects.get(uid=wrong.host)
    page = text_of(browser, f"/admin/workunits/host/{host.pk}/change/")
    assert "Entry (3, 4) is 1.5, not 2." in page
    assert "on cpu" in page
    assert f"kind=host&subject={host.pk}" in page


def test_machines_by_their_rate_of_refusals(browser: Client, lab: Researcher) -> None:
    rates = {(99, 1): 1.0, (5, 5): -1, (15, 5): 25.0, (10, 90): 90.0, (1000, 0): 0}
    hosts = {}
    for accepted, rejected in rates:
        volunteer = Volunteer.make()
        volunteer.ask()
        Host.objects.filter(uid=volunteer.host).update(accepted=accepted, rejected=rejected)
        hosts[volunteer.host[:12]] = (accepted, rejected)
    page = text_of(browser, "/admin/workunits/host/?refused=rate")
    shown = sorted((page.find(f">{name}<"), pair) for name, pair in hosts.items())
    assert [pair for at, pair in shown if at >= 0] == [(10, 90), (15, 5), (99, 1)]
    assert "90.0" in page
    page = text_of(browser, "/admin/workunits/host/?refused=any")
    assert sum(f">{name}<" in page for name in hosts) == 4


def test_a_list_costs_the_same_for_one_row_and_for_fifty(
    browser: Client, lab: Researcher, operator: Account
) -> None:
    lab.job(units=1)
    Volunteer.make().ask(1)
    switches.switch_off(Subject(SwitchKind.VERSION, version="0"), WORDS, operator)
    few = {name: queries(browser, f"/admin/workunits/{name}/") for name in LISTS}
    for number in range(12):
        other = Researcher.make()
        other.job(units=2)
        Volunteer.make().ask(3)
        host = Host.objects.latest("pk")
        subject = (
            Subject(SwitchKind.HOST, target=host.pk)
            if number % 2
            else Subject(SwitchKind.LAB, target=other.lab.pk)
        )
        switches.switch_off(subject, WORDS, operator)
    many = {name: queries(browser, f"/admin/workunits/{name}/") for name in LISTS}
    assert many == few
    assert max(many.values()) <= 12


# --- the cockpit ---------------------------------------------------------------------------------
def test_the_cockpit(browser: Client, lab: Researcher, operator: Account) -> None:
    page = text_of(browser, COCKPIT)
    assert "It has never run." in page
    beat()
    a_story(lab)
    statistics.measure()
    page = text_of(browser, COCKPIT)
    assert "p50" in page
    assert "1 of the last 2 leases refused (50.0 %)" in page
    assert "wrong_entry" in page
    switches.switch_off(Subject(SwitchKind.EVERYTHING), WORDS, operator)
    page = text_of(browser, COCKPIT)
    assert "beyond its limit" in page
    assert page.index("Switches</a></th>") < page.index(">Scheduler<")
    assert queries(browser, COCKPIT) <= 12


def test_each_row_leads_to_what_can_be_done(browser: Client, lab: Researcher) -> None:
    from workunits.admin import cockpit

    lab.events()
    statistics.measure()
    used = {line.how_to for line in cockpit.lines()}
    assert used <= set(HOW_TO)
    assert set(HOW_TO) == used
    for slug in HOW_TO:
        assert str(HOW_TO[slug].title) in text_of(browser, f"/admin/how-to/{slug}/")
    assert browser.get("/admin/how-to/nonsense/").status_code == 404
    docs = (Path(__file__).parents[2] / "docs" / "operators.md").read_text()
    assert set(re.findall(r"/admin/how-to/([a-z-]+)/", docs)) == set(HOW_TO)


def test_what_is_beyond_its_limit_is_told_by_a_word(browser: Client, lab: Researcher) -> None:
    lab.job()
    Job.objects.update(created=timezone.now() - timedelta(days=2))
    page = text_of(browser, COCKPIT)
    row = page[page.index("Oldest waiting unit") :]
    assert "beyond its limit" in row[: row.index("</tr>")]
    assert 'class="status refused"' in row[: row.index("</tr>")]


# --- roles ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "path", [COCKPIT, "/admin/how-to/mail/", *(f"/admin/workunits/{name}/" for name in LISTS)]
)
def test_reviewers_and_visitors_do_not_get_in(path: str) -> None:
    assert as_operator(with_role(Role.REVIEWER)).get(path).status_code == 403
    assert Client().get(path).status_code == 302


def test_a_reviewer_turns_no_switch() -> None:
    browser = as_operator(with_role(Role.REVIEWER))
    assert browser.post("/admin/workunits/switch/add/", form_of()).status_code == 403
    assert Switch.objects.count() == 0


# --- switches by hand ----------------------------------------------------------------------------
def form_of(**changes: Any) -> dict[str, Any]:
    return {
        "kind": "everything",
        "subject": "",
        "sentence_en": WORDS.english,
        "sentence_vi": WORDS.vietnamese,
        "reason": WORDS.reason,
        **changes,
    }


def test_switching_off_and_lifting_by_hand(browser: Client, operator: Account) -> None:
    volunteer = Volunteer.make()
    volunteer.ask()
    form = form_of(kind="host", subject=volunteer.host)
    answer = browser.post("/admin/workunits/switch/add/", form)
    assert answer["Location"] == "/admin/workunits/switch/"
    assert volunteer.ask().notice == WORDS.english
    page = text_of(browser, "/admin/workunits/switch/")
    assert volunteer.host[:12] in page
    assert WORDS.english in page
    where = f"/admin/workunits/switch/{Switch.objects.get().pk}/change/"
    page = text_of(browser, where)
    assert WORDS.vietnamese in page
    assert f"Switched off: {WORDS.reason}" in page
    assert browser.post(where, {"reason": ""}).status_code == 200
    assert Switch.objects.count() == 1
    assert browser.post(where, {"reason": "fan replaced"}).status_code == 302
    assert volunteer.ask().notice == ""
    assert [move.by_id for move in SwitchMove.objects.all()] == [operator.pk, operator.pk]
    assert "fan replaced" in text_of(browser, "/admin/workunits/switchmove/")
    assert browser.post(where, {"reason": "again"}).status_code == 404


def test_a_subject_is_found_by_what_people_know(browser: Client, lab: Researcher) -> None:
    volunteer = Volunteer.make()
    volunteer.ask()
    account = Account.objects.get(pk=volunteer.principal.account_id)
    for kind, subject, target in (
        ("account", account.person.email.upper(), account.pk),
        ("lab", lab.lab.name, lab.lab.pk),
        ("lab", lab.lab.key.hex, lab.lab.pk),
        ("host", str(Host.objects.get().pk), Host.objects.get().pk),
    ):
        browser.post("/admin/workunits/switch/add/", form_of(kind=kind, subject=subject))
        switch = Switch.objects.get()
        assert (switch.kind, switch.target) == (kind, target)
        switch.delete()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "host", "subject": "nothing"}, "Nothing with this name was found."),
        ({"kind": "account", "subject": "nobody@example.org"}, "Nothing with this name was found."),
        ({"kind": "lab", "subject": ""}, "Say which one."),
        ({"kind": "everything", "subject": "x"}, "Everything needs no name here."),
        ({"kind": "nonsense"}, "Select a valid choice."),
        ({"sentence_vi": ""}, "This field is required."),
        ({"sentence_en": "x" * 501}, "at most 500 characters"),
        ({"reason": " "}, "This field is required."),
    ],
)
def test_what_does_not_fit_is_told_and_kept(
    browser: Client, changes: dict[str, str], said: str
) -> None:
    answer = browser.post("/admin/workunits/switch/add/", form_of(**changes))
    page = html.unescape(answer.content.decode())
    assert answer.status_code == 200
    assert said in page
    assert changes.get("sentence_vi", WORDS.vietnamese) in page
    assert Switch.objects.count() == 0


def test_two_labs_of_one_name_are_told_apart_by_their_keys(
    browser: Client, lab: Researcher
) -> None:
    other = Researcher.make()
    other.lab.name = lab.lab.name
    other.lab.save(update_fields=["name"])
    answer = browser.post("/admin/workunits/switch/add/", form_of(kind="lab", subject=lab.lab.name))
    assert "Several have this name" in answer.content.decode()


def test_the_same_switch_twice(browser: Client) -> None:
    browser.post("/admin/workunits/switch/add/", form_of())
    answer = browser.post("/admin/workunits/switch/add/", form_of())
    assert "switched off already" in answer.content.decode()
    assert SwitchMove.objects.count() == 1


def test_an_account_s_page_leads_to_its_machines(browser: Client) -> None:
    volunteer = Volunteer.make()
    volunteer.ask()
    account = Account.objects.get(pk=volunteer.principal.account_id)
    page = text_of(browser, f"/admin/accounts/account/{account.pk}/change/")
    assert f"/admin/workunits/host/?account={account.pk}" in page
    assert f"kind=account&subject={account.key.hex}" in page
    assert volunteer.host[:12] in text_of(browser, f"/admin/workunits/host/?account={account.pk}")
