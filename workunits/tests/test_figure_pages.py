"""Contribution, leaderboard, jobs of a lab, the network: exact, for the right people, and cheap."""

from __future__ import annotations

import csv
import io
import re
import uuid
from datetime import date, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import Account, Person
from goblin_wire.lab import JobAction
from goblin_wire.states import Policy
from workunits import jobs, statistics
from workunits.models import (
    CreditDay,
    CreditEntry,
    Device,
    Job,
    JobHour,
    LabNode,
    Measured,
    Standing,
)
from workunits.pages import leaderboard
from workunits.tests.test_machine_pages import browser, counted, text_of
from workunits.tests.world import MIB, Researcher, Volunteer, done, verdict, want

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _counted_afresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaderboard, "_contributors", None)


def member(lab: Researcher) -> Client:
    client = Client()
    client.force_login(Account.objects.get(pk=lab.principal.account_id))
    return client


def compute(lab: Researcher, volunteer: Volunteer, units: int = 1) -> None:
    leases = volunteer.ask(want=[want(units, seconds=1e9)]).leases
    assert len(leases) == units
    volunteer.ask(done=[done(each) for each in leases])
    lab.judge(*[verdict(each) for each in leases])


def put_day(account: int, day: date, flops: int, kind: str = "product") -> None:
    CreditDay.objects.create(account_id=account, day=day, kind=kind, flops=flops, units=1)


# --- contribution -------------------------------------------------------------------------------
def test_who_has_contributed_nothing_reads_so() -> None:
    assert "Nothing of yours has been verified yet" in text_of(
        browser(Volunteer.make()), "/contribution/"
    )


def test_the_page_and_the_file_say_what_the_ledger_says() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job(units=3, flops=2**53 + 1)
    compute(lab, volunteer, 3)
    ledger = sum(CreditEntry.objects.values_list("flops", flat=True))
    client = browser(volunteer)
    shown = text_of(client, "/contribution/")
    assert f"{ledger:,}" in shown
    assert "Matrix product" in shown
    answer = client.get("/contribution.csv")
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    content = answer.content.decode()
    assert content.startswith("\ufeff")
    lines = list(csv.reader(io.StringIO(content[1:])))
    assert lines[1:] == [[timezone.now().date().isoformat(), "Matrix product", "3", str(ledger)]]


def test_sums_beyond_what_a_column_of_the_ledger_holds_are_exact() -> None:
    volunteer = Volunteer.make()
    account = volunteer.principal.account_id
    today = timezone.now().date()
    put_day(account, today, 3 * 10**20 + 7)
    put_day(account, today - timedelta(days=400), 1, "later kind")
    shown = text_of(browser(volunteer), "/contribution/")
    assert f"{3 * 10**20 + 8:,}" in shown
    assert "later kind" in shown


def test_the_file_keeps_the_marks_of_vietnamese() -> None:
    volunteer = Volunteer.make()
    put_day(volunteer.principal.account_id, timezone.now().date(), 5)
    Person.objects.filter(account_id=volunteer.principal.account_id).update(language="vi")
    content = browser(volunteer).get("/contribution.csv").content.decode()
    assert "Ngày (UTC)" in content
    assert "Phép nhân ma trận" in content


def test_nobody_sees_another_contribution() -> None:
    volunteer, other = Volunteer.make(), Volunteer.make()
    put_day(volunteer.principal.account_id, timezone.now().date(), 123_456_789)
    assert "123,456,789" not in text_of(browser(other), "/contribution/")
    assert "123456789" not in browser(other).get("/contribution.csv").content.decode()
    assert Client().get("/contribution.csv").status_code == 302


# --- leaderboard --------------------------------------------------------------------------------
def contributor(name: str, flops: int) -> Account:
    account = Account.objects.get(pk=Volunteer.make().principal.account_id)
    Standing.objects.filter(account=account).update(flops=float(flops))
    put_day(account.pk, timezone.now().date(), flops)
    Person.objects.filter(account=account).update(shown_name=name)
    return account


def test_only_who_chose_a_name_is_shown_and_the_others_are_counted() -> None:
    contributor("Đặng Thị Ánh", 3000)
    contributor("", 9000)
    contributor("<b>Bob</b>", 2000)
    suspended = contributor("Gone", 8000)
    suspended.state = "suspended"
    suspended.save()
    shown = text_of(Client(), "/leaderboard/")
    assert shown.index("Đặng Thị Ánh") < shown.index("&lt;b&gt;Bob")
    assert "Gone" not in shown
    assert "And 2 more who are not named." in shown


@pytest.mark.parametrize("typed", ["dang thi", "ĐẶNG", "anh", "A\u0301nh", "  đặng   thị "])
def test_a_search_is_blind_to_marks_and_keeps_the_place(typed: str) -> None:
    contributor("First", 9000)
    contributor("Đặng Thị Ánh", 3000)
    shown = text_of(Client(), f"/leaderboard/?name={typed}")
    assert "Đặng Thị Ánh" in shown
    assert "First" not in shown
    assert re.search(r'data-label="Place">2<', shown)


@pytest.mark.parametrize("typed", ["%", "_", "\\", "nobody", "\0x", "a" * 500])
def test_a_search_takes_its_signs_literally(typed: str) -> None:
    contributor("First", 9000)
    assert "Nobody on the leaderboard" in text_of(
        Client(), "/leaderboard/?name=" + typed.replace("%", "%25").replace("\0", "%00")
    )


def test_an_empty_leaderboard_says_how_to_be_the_first() -> None:
    Standing.objects.all().delete()
    assert "The first place is free." in text_of(Client(), "/leaderboard/")


def test_pages_of_the_leaderboard_cost_the_same() -> None:
    for number in range(leaderboard.PAGE + 3):
        contributor(f"name {number:03}", 1000 + number)
    text_of(Client(), "/leaderboard/")
    with counted() as sent:
        shown = text_of(Client(), "/leaderboard/?page=2")
    assert shown.count("<tr>") == 1 + 3
    assert len(sent) <= 6, sent


# --- jobs of a lab ------------------------------------------------------------------------------
def test_a_members_lab_shows_its_jobs_and_why_they_wait() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    address = f"/labs/{lab.lab.key}/jobs/"
    client = member(lab)
    assert "No job yet" in text_of(client, address)
    job = lab.job(units=4, memory=2 * MIB)
    assert "No machine is on line." in text_of(client, address)
    volunteer.ask(1, memory=MIB)
    assert "needs 2 MiB of memory, and the largest machine on line offers 1 MiB" in text_of(
        client, address
    )
    Device.objects.update(memory=64 * MIB)
    compute(lab, volunteer, 1)
    shown = text_of(client, address)
    assert job.job[:8] in shown
    assert ">1 / 4<" in shown
    assert "No machine has asked for one of its units yet." in shown
    volunteer.ask(1)
    assert "Being computed" in text_of(client, address)
    LabNode.objects.update(last_seen=timezone.now() - timedelta(hours=1))
    assert "The lab&#x27;s node is off line" in text_of(client, address)
    jobs.act(lab.lab.pk, uuid.UUID(hex=job.job), JobAction(action="cancel", reason="a <mistake>"))
    shown = text_of(client, address)
    assert "Cancelled" in shown
    assert "a &lt;mistake&gt;" in shown


def test_the_quota_that_is_used_up_is_told() -> None:
    lab, volunteer = Researcher.make(daily_flops=1000), Volunteer.make()
    lab.job(units=2)
    compute(lab, volunteer)
    assert "quota of the lab is used up" in text_of(member(lab), f"/labs/{lab.lab.key}/jobs/")


def test_the_jobs_of_another_lab_are_not_found() -> None:
    lab, other = Researcher.make(), Researcher.make()
    assert member(other).get(f"/labs/{lab.lab.key}/jobs/").status_code == 404
    assert member(other).get(f"/labs/{uuid.uuid4()}/jobs/").status_code == 404
    assert Client().get(f"/labs/{lab.lab.key}/jobs/").status_code == 302


def test_bytes_and_units_put_aside_are_counted() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job(units=2, input_bytes=5 * MIB, output_bytes=3 * MIB)
    compute(lab, volunteer, 2)
    shown = text_of(member(lab), f"/labs/{lab.lab.key}/jobs/")
    assert "at most 10.0 MiB out, 6.00 MiB back" in shown
    job = Job.objects.get()
    JobHour.objects.filter(job=job).update(put_aside=2, units=0)
    Job.objects.update(units=4, registered=4)
    assert "2 units were put aside" in text_of(member(lab), f"/labs/{lab.lab.key}/jobs/")


def test_ten_thousand_jobs_cost_no_more_queries_than_one() -> None:
    lab = Researcher.make()
    lab.job(units=2, policy=Policy.CHECK)
    client, address = member(lab), f"/labs/{lab.lab.key}/jobs/"
    client.get(address)
    with counted() as few:
        client.get(address)
    Job.objects.bulk_create(
        Job(lab=lab.lab, uid=uuid.UUID(int=number), kind="product", units=5, flops=10)
        for number in range(10_000)
    )
    with counted() as many:
        shown = client.get(f"{address}?page=400").content.decode()
    assert shown.count("<progress") == 25
    assert len(many) == len(few) <= 12, many
    assert client.get(f"{address}?page=zzz").status_code == 200


# --- the network --------------------------------------------------------------------------------
def test_a_network_without_machines_says_so_and_how_to_add_one() -> None:
    shown = text_of(Client(), "/status/")
    assert "No machines yet" in shown
    assert "/lend/" in shown


def test_the_status_shows_what_was_measured() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job(units=3, flops=10**12)
    compute(lab, volunteer, 2)
    statistics.measure()
    shown = text_of(Client(), "/status/")
    assert re.search(r"machines on line</dt><dd>1<", shown)
    assert "2.00 TFLOP in 2 results." in shown
    assert "<svg" in shown
    assert "From report to verified" in shown


def test_old_figures_are_called_old() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job()
    compute(lab, volunteer)
    statistics.measure()
    Measured.objects.update(at=timezone.now() - timedelta(hours=1))
    assert "so these figures are old" in text_of(Client(), "/status/")


def test_the_status_costs_three_queries(settings: Any) -> None:
    text_of(Client(), "/status/")
    with counted() as sent:
        text_of(Client(), "/status/")
    assert len(sent) <= 3, sent
