"""Sums by day and by hour: what they say is what the rows say that they stand for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from django.db import connection
from django.db.models import Sum

from goblin_wire.states import VerdictKind
from workunits import sweeps
from workunits.models import CreditDay, CreditEntry, JobHour, Unit
from workunits.tests.test_credit import TALLIES
from workunits.tests.world import Researcher, Volunteer, done, verdict

pytestmark = pytest.mark.django_db(transaction=True)


def put_aside() -> int:
    return int(JobHour.objects.aggregate(all=Sum("put_aside"))["all"] or 0)


def refuse(lab: Researcher, volunteer: Volunteer) -> None:
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease, VerdictKind.REJECTED, code="wrong_entry"))


def test_a_unit_that_is_put_aside_and_released_is_counted_and_is_not() -> None:
    lab = Researcher.make()
    lab.job()
    for _ in range(4):
        refuse(lab, Volunteer.make())
    unit = Unit.objects.get()
    assert (unit.state, put_aside()) == ("quarantined", 1)
    sweeps.release(unit.pk)
    assert put_aside() == 0


def test_credit_that_is_none_is_in_no_sum() -> None:
    """A member's own machine earns nothing from the lab; the unit is verified all the same."""
    lab = Researcher.make()
    lab.job()
    member = Volunteer(lab.principal)
    (lease,) = member.ask(1).leases
    member.ask(done=[done(lease)])
    lab.judge(verdict(lease))
    assert not CreditEntry.objects.exists()
    assert not CreditDay.objects.exists()
    assert JobHour.objects.get().units == 1


def told() -> tuple[list[Any], list[Any]]:
    days = CreditDay.objects.order_by("account", "day", "kind")
    sums = {f"all_{name}": Sum(name) for name in TALLIES}
    jobs = JobHour.objects.values("job").annotate(**sums).order_by("job")
    return (
        list(days.values_list("account", "day", "kind", "flops", "units")),
        list(jobs.values_list("job", *sums)),
    )


def test_the_migration_finds_the_same_sums_in_the_rows() -> None:
    lab, ada, bob = Researcher.make(), Volunteer.make(), Volunteer.make()
    lab.job(units=3, flops=2**39)
    lab.job(units=1, flops=5)
    for volunteer, units in ((ada, 2), (bob, 1)):
        leases = volunteer.ask(units).leases
        assert len(leases) == units
        volunteer.ask(done=[done(each) for each in leases])
        lab.judge(*[verdict(each) for each in leases])
    for _ in range(4):
        refuse(lab, Volunteer.make())
    before = told()
    assert all(before)
    CreditDay.objects.all().delete()
    JobHour.objects.all().delete()
    migration = import_module("workunits.migrations.0005_machines_and_sums")
    with connection.cursor() as cursor:
        cursor.execute(migration.CREDIT_DAYS)
        cursor.execute(migration.JOB_HOURS)
    assert told() == before
