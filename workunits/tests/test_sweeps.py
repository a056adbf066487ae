"""What time does: late leases, closed jobs, what nobody reads any more, and items that fail."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest
from django.db import OperationalError, connection

from goblin_wire.lab import Reachability
from goblin_wire.states import LeaseState, UnitState
from workunits import patience, probe, quorum, sweeps
from workunits.batches import act_on_all
from workunits.changes import Changes
from workunits.database import run
from workunits.models import Event, Job, LabNode, Lease, PendingLease, Unit
from workunits.tests.world import Researcher, Volunteer, done

pytestmark = pytest.mark.django_db(transaction=True)
OLD_EVENTS = 1_000_000
LONGEST_STATEMENT_S = 3.0
LONGEST_PURGE_S = 90.0


def overdue() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workunits_pendinglease SET deadline = now() - interval '1 second'")


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Positions of units that the quorum machine cannot deal with."""
    positions: set[int] = set()
    decide = Changes.happen

    def happen(self: Any, held: Any, happening: quorum.Happening) -> None:
        if held.row.position in positions:
            raise ValueError("a row that nobody foresaw")
        decide(self, held, happening)

    monkeypatch.setattr(Changes, "happen", happen)
    return positions


# --- one that fails does not hold up the others -------------------------------------------------
def test_only_what_is_to_blame_is_put_aside_and_the_rest_is_done_in_order() -> None:
    acted: list[int] = []
    aside: list[int] = []

    def act(items: Sequence[int]) -> int:
        if {3, 11} & set(items):
            raise KeyError(items)
        acted.extend(items)
        return len(items)

    assert act_on_all(range(20), act, aside.append) == 18
    assert acted == [item for item in range(20) if item not in {3, 11}]
    assert aside == [3, 11]


def test_a_database_that_is_away_is_no_items_fault() -> None:
    def act(_items: Sequence[int]) -> int:
        raise OperationalError

    with pytest.raises(OperationalError):
        act_on_all(range(4), act, lambda item: pytest.fail(f"{item} was put aside"))


def test_row_20_a_poison_lease_is_put_aside_and_others_expire(poison: set[int]) -> None:
    lab = Researcher.make()
    lab.job(units=12)
    Volunteer.make().ask(12)
    overdue()
    poison.update({0, 7})
    assert sweeps.expire_leases() == 10
    states = {lease.unit.position: lease.state for lease in Lease.objects.select_related("unit")}
    assert {position for position, state in states.items() if state == LeaseState.OPEN} == {0, 7}
    assert sweeps.expire_leases() == 0, "what was put aside is not looked at again at once"
    poison.clear()
    overdue()
    assert sweeps.expire_leases() == 2, "later it is"


def test_row_20_a_poison_report_lapses_not_and_others_do(poison: set[int]) -> None:
    lab = Researcher.make()
    lab.job(units=4)
    volunteer = Volunteer.make()
    volunteer.ask(done=[done(lease) for lease in volunteer.ask(4).leases])
    overdue()
    poison.add(2)
    assert sweeps.lapse_reports() == 3
    assert Lease.objects.filter(state=LeaseState.LAPSED).count() == 3


def test_row_20_a_poison_unit_does_not_keep_other_jobs_open(poison: set[int]) -> None:
    lab = Researcher.make()
    for _ in range(2):
        lab.job(units=6)
    Job.objects.update(state="cancelled", swept=False)
    poison.add(3)
    assert sweeps.sweep_closed_jobs() == 10
    assert not Job.objects.filter(swept=False).exists()
    assert Unit.objects.filter(state=UnitState.CANCELLED).count() == 10


def test_row_20_a_lab_whose_probe_fails_does_not_hold_up_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, second = Researcher.make(), Researcher.make()
    LabNode.objects.update(probed_at=None)

    def ask(target: probe.Target) -> Reachability:
        if target.lab_key == first.lab.key:
            raise ValueError("an answer that nobody foresaw")
        return Reachability(reachable=True, code="ok")

    monkeypatch.setattr(probe, "ask", ask)
    assert sweeps.probe_labs() == 2
    node = LabNode.objects.get(lab=first.lab)
    assert (node.reachable, node.probe_code) == (False, "internal")
    assert node.probed_at is not None
    assert LabNode.objects.get(lab=second.lab).reachable


def test_row_20_silent_labs_are_probed_side_by_side_and_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    labs = [Researcher.make() for _ in range(patience.MOST)]
    LabNode.objects.update(probed_at=None)
    ends = threading.Event()

    def ask(target: probe.Target) -> Reachability:
        if target.lab_key != labs[3].lab.key:
            ends.wait(20)
        return Reachability(reachable=True, code="ok")

    monkeypatch.setattr(probe, "ask", ask)
    monkeypatch.setattr(probe, "SWEEP_WAITS_S", 0.3)
    began = time.monotonic()
    sweeps.probe_labs()
    assert time.monotonic() - began < 2
    assert list(LabNode.objects.filter(reachable=True)) == [LabNode.objects.get(lab=labs[3].lab)]
    assert LabNode.objects.filter(probe_code="unreachable").count() == len(labs) - 1
    ends.set()


# --- cleaning up ----------------------------------------------------------------------------------
def test_row_14_a_million_old_events_go_in_bounded_time(monkeypatch: pytest.MonkeyPatch) -> None:
    lab = Researcher.make()
    lab.job()
    job = Job.objects.get()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO workunits_event (lab_id, job_id, kind, code, reason, created)"
            " SELECT %s, %s, 'leased', 'ok', '', now() - interval '40 days'"
            " FROM generate_series(1, %s)",
            [lab.lab.pk, job.pk, OLD_EVENTS],
        )
    Volunteer.make().ask(1)
    kept = set(Event.objects.filter(lease_id__isnull=False).values_list("id", flat=True))
    took: list[float] = []

    def timed(sql: str, parameters: Any = None) -> int:
        began = time.monotonic()
        try:
            return run(sql, parameters)
        finally:
            took.append(time.monotonic() - began)

    monkeypatch.setattr(sweeps, "run", timed)
    assert sweeps.clean_up() == OLD_EVENTS
    assert set(Event.objects.values_list("id", flat=True)) == kept
    assert max(took) < LONGEST_STATEMENT_S, "no lock is held for long"
    assert sum(took) < LONGEST_PURGE_S
    took.clear()
    assert sweeps.clean_up() == 0
    assert sum(took) < LONGEST_STATEMENT_S, "nothing to do costs nothing"


def test_leases_whose_end_nobody_came_to_hear_are_forgotten() -> None:
    lab = Researcher.make()
    lab.job(units=2)
    Volunteer.make().ask(2)
    first = PendingLease.objects.order_by("pk")[0]
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workunits_pendinglease SET live = false, open = false WHERE lease_id = %s",
            [first.pk],
        )
        cursor.execute("UPDATE workunits_host SET last_seen = now() - interval '2 hours'")
    assert sweeps.clean_up() == 1
    assert PendingLease.objects.count() == 1
