"""The figures that the scheduler finds: exact where they are cheap, bounded where they are not."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from goblin_wire.states import VerdictKind
from workunits import statistics
from workunits.models import Device, Event, Host, Hour, JobHour, Lease, Measured, Unit
from workunits.tests.world import Researcher, Volunteer, done, verdict

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab() -> Researcher:
    return Researcher.make()


def measured() -> Measured:
    statistics.measure()
    found = statistics.latest()
    assert found is not None
    return found


def computed(lab: Researcher, units: int = 1) -> Volunteer:
    lab.job(units=units)
    volunteer = Volunteer.make()
    leases = volunteer.ask(units, version="0.1.0").leases
    volunteer.ask(done=[done(lease) for lease in leases], version="0.1.0")
    lab.judge(*(verdict(lease) for lease in leases))
    return volunteer


def test_nothing_is_known_before_the_first_look() -> None:
    assert statistics.latest() is None
    hours = statistics.last_hours()
    assert len(hours) == 24
    assert {(int(hour.flops), hour.units, hour.machines) for hour in hours} == {(0, 0, 0)}
    assert hours[-1].hour <= timezone.now() < hours[-1].hour + timedelta(hours=1)


def test_an_empty_network_has_zeros_and_no_percentiles() -> None:
    found = measured()
    assert (found.machines, found.devices, found.labs, found.waiting, found.verified) == (0,) * 5
    assert (found.verify_p50_s, found.verify_p95_s, found.verify_results) == (None, None, 0)
    assert (found.refusals, found.versions) == ({}, {})


def test_what_is_there_is_counted(lab: Researcher) -> None:
    volunteer = computed(lab, 3)
    lab.job(units=5)
    volunteer.ask(2, version="0.1.0")
    (reported,) = Volunteer.make().ask(1).leases
    other = Volunteer.make()
    (lease,) = other.ask(1, version="0.2.0").leases
    other.ask(done=[done(lease)], version="0.2.0")
    found = measured()
    assert (found.machines, found.devices, found.labs) == (3, 3, 1)
    assert (found.open_leases, found.reported, found.waiting) == (3, 1, 1)
    assert (found.verified, found.verified_flops) == (3, 3000.0)
    assert found.versions == {"0.1.0": 1, "": 1, "0.2.0": 1}
    assert found.leases_looked_at == 7
    assert reported


def test_machines_that_went_away_do_not_count(lab: Researcher) -> None:
    computed(lab)
    Device.objects.update(last_seen=timezone.now() - timedelta(minutes=5))
    found = measured()
    assert (found.machines, found.versions) == (0, {})
    assert Host.objects.count() == 1


def test_refusals_by_class_of_the_last_day(lab: Researcher) -> None:
    lab.job(units=2)
    volunteer = Volunteer.make()
    first, second = volunteer.ask(2).leases
    volunteer.ask(done=[done(first)])
    lab.judge(verdict(first, VerdictKind.REJECTED, code="wrong_entry", reason="Entry (0, 0)."))
    Lease.objects.filter(pk=second.lease).update(state="expired")
    assert measured().refusals == {"rejected/wrong_entry": 1, "expired/ok": 1}
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workunits_lease SET id = ('00000000-0000-7000-8000-' ||"
            " right(id::text, 12))::uuid"
        )
    found = measured()
    assert (found.refusals, found.leases_looked_at) == ({}, 0)


def test_seconds_from_report_to_verified(lab: Researcher) -> None:
    computed(lab, 4)
    reports = Event.objects.filter(kind="reported").order_by("id")
    for seconds, event in zip((1, 2, 3, 100), reports, strict=True):
        accepted = Event.objects.get(kind="accepted", lease_id=event.lease_id)
        Event.objects.filter(pk=event.pk).update(
            created=accepted.created - timedelta(seconds=seconds)
        )
    found = measured()
    assert found.verify_results == 4
    assert found.verify_p50_s == pytest.approx(2.5)
    assert found.verify_p95_s is not None
    assert 80 < found.verify_p95_s < 100


def test_units_that_were_put_aside_and_jobs_in_dispute(lab: Researcher) -> None:
    job = lab.job(units=2)
    Unit.objects.filter(position=0).update(state="quarantined", code="too_many_errors")
    lab.lab.refresh_from_db()
    from workunits.models import Job

    Job.objects.filter(uid=job.job).update(state="paused", code="cost_mismatch")
    found = measured()
    assert (found.quarantined, found.disputed) == (1, 1)


# --- hours ---------------------------------------------------------------------------------------
def test_hours_are_those_of_the_jobs_and_are_mended_after_a_pause(lab: Researcher) -> None:
    computed(lab, 2)
    statistics.measure()
    present = statistics.last_hours()[-1]
    assert (int(present.flops), present.units, present.machines) == (2000, 2, 1)
    JobHour.objects.update(hour=present.hour - timedelta(hours=1))
    Hour.objects.filter(hour__gt=present.hour - timedelta(hours=3)).delete()
    computed(lab)
    Device.objects.update(last_seen=timezone.now() - timedelta(hours=1))
    statistics.measure()
    hours = statistics.last_hours(4)
    assert [hour.units for hour in hours] == [0, 0, 2, 1]


def test_the_most_machines_of_an_hour_are_kept(lab: Researcher) -> None:
    computed(lab)
    statistics.measure()
    Device.objects.update(last_seen=timezone.now() - timedelta(hours=1))
    statistics.measure()
    assert statistics.last_hours()[-1].machines == 1
    assert Hour.objects.count() <= 25


def test_old_figures_are_told_from_new_ones() -> None:
    found = measured()
    assert not statistics.is_old(found)
    found.at -= timedelta(minutes=3)
    assert statistics.is_old(found)


def test_a_page_needs_two_queries(lab: Researcher) -> None:
    computed(lab)
    statistics.measure()
    with CaptureQueriesContext(connection) as found:
        statistics.latest()
        statistics.last_hours()
    assert len(found) == 2
