"""Exactly-once credit: random histories against real PostgreSQL with eight connections."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import DatabaseError, connection, connections, transaction
from django.db.models import Sum
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goblin_wire.exchange import Lease as LeaseMessage
from goblin_wire.exchange import Returned
from goblin_wire.states import Policy, VerdictKind
from workunits import sweeps
from workunits.database import rows
from workunits.models import CreditDay, CreditEntry, Job, JobHour, Lease, Standing, Unit
from workunits.tests.world import Researcher, Volunteer, done, verdict

CONNECTIONS = 8


class Ledger(RuleBasedStateMachine):
    """Bursts of simultaneous exchanges, repeated reports, verdicts, expiries and hand-backs."""

    def __init__(self) -> None:
        super().__init__()
        self.lab = Researcher.make()
        self.lab.job(units=12)
        self.lab.job(units=6, copies=2, policy=Policy.COMPARE)
        self.volunteers = [Volunteer.make() for _ in range(CONNECTIONS)]
        self.leases: list[tuple[Volunteer, LeaseMessage]] = []
        self.pool = ThreadPoolExecutor(CONNECTIONS)

    def teardown(self) -> None:
        self.at_once([lambda: connection.close()] * CONNECTIONS)
        self.pool.shutdown()

    def at_once(self, calls: list[Callable[[], Any]]) -> list[Any]:
        gate = threading.Barrier(len(calls))

        def run(call: Callable[[], Any]) -> Any:
            gate.wait(30)
            return call()

        return list(self.pool.map(run, calls))

    @rule(units=st.integers(1, 3))
    def everybody_asks(self, units: int) -> None:
        replies = self.at_once([partial(v.ask, units) for v in self.volunteers])
        for volunteer, reply in zip(self.volunteers, replies, strict=True):
            self.leases += [(volunteer, lease) for lease in reply.leases]

    def _draw(self, data: st.DataObject) -> list[tuple[Volunteer, LeaseMessage]]:
        # Drawn without regard to how many there are: that depends on who was quicker.
        numbers = st.lists(st.integers(0, 999), min_size=1, max_size=CONNECTIONS)
        return [self.leases[number % len(self.leases)] for number in data.draw(numbers)]

    @precondition(lambda self: self.leases)
    @rule(
        data=st.data(),
        kinds=st.lists(
            st.sampled_from(["report", "accept", "reject", "reissue", "return"]),
            min_size=CONNECTIONS,
            max_size=CONNECTIONS,
        ),
    )
    def things_happen_at_once(self, data: st.DataObject, kinds: list[str]) -> None:
        chosen = self._draw(data)
        calls = []
        busy: set[str] = set()
        for (volunteer, lease), kind in zip(chosen, kinds, strict=False):
            by_host = kind in {"report", "return"}
            if by_host and volunteer.host in busy:
                continue  # one host says one thing at a time
            if by_host:
                busy.add(volunteer.host)
            calls.append(self._call(volunteer, lease, kind))
        self.at_once(calls)

    def _call(self, volunteer: Volunteer, lease: LeaseMessage, kind: str) -> Callable[[], Any]:
        if kind == "report":
            return lambda: volunteer.ask(done=[done(lease)])
        if kind == "return":
            back = Returned(lease=lease.lease, code="shutting_down")
            return lambda: volunteer.ask(returned=[back])
        kinds = {
            "accept": VerdictKind.ACCEPTED,
            "reject": VerdictKind.REJECTED,
            "reissue": VerdictKind.REISSUED,
        }
        return lambda: self.lab.judge(verdict(lease, kinds[kind]))

    @rule()
    def time_passes(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("UPDATE workunits_pendinglease SET deadline = now() WHERE open")
        self.at_once([sweeps.expire_leases, sweeps.expire_leases])

    @invariant()
    def the_books_agree(self) -> None:
        check_books(self.lab.lab.pk)


def check_books(lab: int) -> None:
    """Credit = accepted leases, once each; unit counters = what their leases say."""
    credited = CreditEntry.objects.filter(lab_id=lab).values_list("lease_id", flat=True)
    units = Unit.objects.filter(lab_id=lab)
    accepted = Lease.objects.filter(unit__in=units, state="accepted").values_list("id", flat=True)
    assert sorted(credited) == sorted(accepted)
    for unit in units:
        own = list(Lease.objects.filter(unit=unit))
        assert unit.issued == len(own)
        finished = sum(x.state == "accepted" for x in own)
        assert (unit.state == "accepted") == (finished >= unit.copies)
        assert sum(x.state in {"open", "reported"} for x in own) + finished <= unit.copies + 1
    openings = rows(
        "SELECT unit_id FROM workunits_opening o JOIN workunits_unit u ON u.id = o.unit_id"
        " WHERE u.lab_id = %(lab)s",
        {"lab": lab},
    )
    assert {x.unit_id for x in openings} == {unit.pk for unit in units if unit.wanted}
    total = sum(x.flops for x in CreditEntry.objects.filter(lab_id=lab))
    _check_sums(lab)
    assert total == sum(
        x.flops
        for x in Standing.objects.filter(
            account_id__in=CreditEntry.objects.filter(lab_id=lab).values("account_id")
        )
    )


def _check_sums(lab: int) -> None:
    """The tables of sums say what the ledger and the units say."""
    ledger: dict[tuple[int, Any], int] = defaultdict(int)
    for entry in CreditEntry.objects.all():
        ledger[entry.account_id, entry.created.date()] += entry.flops
    days: dict[tuple[int, Any], int] = defaultdict(int)
    for day in CreditDay.objects.filter(account_id__in={account for account, _ in ledger}):
        days[day.account_id, day.day] += int(day.flops)
    assert days == ledger
    for job in Job.objects.filter(lab_id=lab):
        units = Unit.objects.filter(job=job)
        verified = units.filter(state="accepted")
        told = JobHour.objects.filter(job=job).aggregate(
            Sum("units"), Sum("flops"), Sum("input_bytes"), Sum("output_bytes"), Sum("put_aside")
        )
        assert [int(told[f"{name}__sum"] or 0) for name in TALLIES] == [
            verified.count(),
            *(sum(verified.values_list(name, flat=True)) for name in TALLIES[1:4]),
            units.filter(state="quarantined").count(),
        ]


TALLIES = ("units", "flops", "input_bytes", "output_bytes", "put_aside")


@pytest.mark.django_db(transaction=True)
def test_credit_is_given_exactly_once() -> None:
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(
        Ledger,
        settings=settings(
            max_examples=12,
            stateful_step_count=12,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    connections.close_all()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE workunits_creditentry SET flops = 1",
        "DELETE FROM workunits_creditentry",
    ],
)
def test_the_database_refuses_to_change_the_ledger(statement: str) -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job()
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease))
    with (
        pytest.raises(DatabaseError, match="only grows"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("table", ["job", "unit", "lease"])
def test_the_database_forbids_states_without_a_name(table: str) -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job()
    volunteer.ask(1)
    with (
        pytest.raises(DatabaseError, match="state_known"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(f"UPDATE workunits_{table} SET state = 'lost'")
