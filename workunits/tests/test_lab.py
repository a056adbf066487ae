"""What a lab registers, does to its jobs, reads and judges."""

from __future__ import annotations

from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection, transaction

from goblin_wire import codec
from goblin_wire.lab import JobAction, JobRegistration, UnitBatch, VerdictBatch
from goblin_wire.problems import (
    BadMessage,
    Conflict,
    JobCancelled,
    NotAllowed,
    UnknownJob,
)
from goblin_wire.protocol import PROTOCOL
from goblin_wire.states import LeaseState, UnitState, VerdictKind
from workunits import jobs, registration, sweeps, verdicts
from workunits.events import Cursor
from workunits.models import CreditEntry, Event, Lease, PendingLease, Unit, Verdict
from workunits.tests.world import Researcher, Volunteer, done, hex_id, unit, verdict

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lab() -> Researcher:
    return Researcher.make()


@pytest.fixture
def volunteer() -> Volunteer:
    return Volunteer.make()


def act(lab: Researcher, job: str, action: str) -> str:
    message = JobAction(action=action, code="asked", reason="The lab wants it.")
    return jobs.act(lab.lab.pk, UUID(hex=job), message).state


# --- registration -------------------------------------------------------------------------------
def test_registering_again_changes_nothing(lab: Researcher) -> None:
    job = JobRegistration(job=hex_id(), kind="product", units=2, flops=10)
    units = UnitBatch(units=[unit(0), unit(1)])
    for _ in range(3):
        registration.register_job(lab.lab.pk, job)
        status = registration.register_units(lab.lab.pk, UUID(hex=job.job), units)
        assert status.units == 2
    assert Unit.objects.count() == 2


def test_the_same_id_with_other_content_is_a_conflict(lab: Researcher) -> None:
    job = lab.job(units=1)
    with pytest.raises(Conflict):
        registration.register_job(
            lab.lab.pk, JobRegistration(job=job.job, kind="product", units=9, flops=9)
        )
    known = Unit.objects.get().uid.hex
    with pytest.raises(Conflict):
        lab.register(job.job, [unit(5), unit(0, unit=known, flops=7)])
    assert Unit.objects.count() == 1
    other = lab.job(units=0)
    with pytest.raises(Conflict):
        lab.register(other.job, [unit(0, unit=known)])


def test_a_unit_named_twice_in_a_batch_is_refused(lab: Researcher) -> None:
    twice = unit(0)
    with pytest.raises(BadMessage):
        lab.register(lab.job(units=0).job, [twice, twice])


def test_another_labs_job_is_as_unknown_as_none(lab: Researcher) -> None:
    foreign = Researcher.make().job(units=1)
    for job in (foreign.job, hex_id()):
        with pytest.raises(UnknownJob):
            lab.register(job, [unit(0)])
        with pytest.raises(UnknownJob):
            jobs.status(lab.lab.pk, UUID(hex=job))
        with pytest.raises(UnknownJob):
            act(lab, job, "cancel")
    registration.register_job(
        lab.lab.pk, JobRegistration(job=foreign.job, kind="product", units=1, flops=1)
    )
    same_unit = Unit.objects.get().uid.hex
    lab.register(foreign.job, [unit(0, unit=same_unit)])
    assert Unit.objects.count() == 2


# --- actions ------------------------------------------------------------------------------------
def test_a_paused_job_gives_no_leases_until_it_is_resumed(
    lab: Researcher, volunteer: Volunteer
) -> None:
    job = lab.job(units=2)
    assert act(lab, job.job, "pause") == "paused"
    assert volunteer.ask(1).notice_code == "jobs_paused"
    assert act(lab, job.job, "resume") == "open"
    assert len(volunteer.ask(1).leases) == 1


def test_cancelling_changes_the_row_at_once_and_the_leases_soon(
    lab: Researcher, volunteer: Volunteer
) -> None:
    job = lab.job(units=700)
    first, second = volunteer.ask(2).leases
    volunteer.ask(done=[done(first)])
    assert act(lab, job.job, "cancel") == "cancelled"
    assert volunteer.ask(1).leases == []
    assert sweeps.sweep_closed_jobs() == 700
    assert sweeps.sweep_closed_jobs() == 0
    reply = volunteer.another_host().ask(1, done=[done(first), done(second)])
    assert [s.verdict for s in reply.settled] == ["ended"]
    assert [e.code for e in reply.ended] == ["job_cancelled"]
    assert set(Lease.objects.values_list("state", flat=True)) == {LeaseState.ENDED}
    assert set(Unit.objects.values_list("state", flat=True)) == {UnitState.CANCELLED}
    with pytest.raises(JobCancelled):
        lab.register(job.job, [unit(0)])
    with pytest.raises(Conflict):
        act(lab, job.job, "resume")


def test_a_report_to_a_cancelled_job_is_ended_before_the_sweep(
    lab: Researcher, volunteer: Volunteer
) -> None:
    job = lab.job(units=1)
    (lease,) = volunteer.ask(1).leases
    act(lab, job.job, "cancel")
    reply = volunteer.ask(done=[done(lease)])
    assert [e.code for e in reply.ended] == ["job_cancelled"]


def test_finishing_a_job_leaves_what_was_accepted(lab: Researcher, volunteer: Volunteer) -> None:
    job = lab.job(units=2)
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease))
    act(lab, job.job, "finish")
    sweeps.sweep_closed_jobs()
    status = jobs.status(lab.lab.pk, UUID(hex=job.job))
    assert (status.state, status.accepted, status.open) == ("finished", 1, 0)


def test_the_status_counts_units_by_state(lab: Researcher, volunteer: Volunteer) -> None:
    job = lab.job(units=4)
    leases = volunteer.ask(3).leases
    volunteer.ask(done=[done(leases[0]), done(leases[1])])
    lab.judge(verdict(leases[0]))
    status = jobs.status(lab.lab.pk, UUID(hex=job.job))
    assert (status.units, status.open, status.leased) == (4, 1, 1)
    assert (status.reported, status.accepted, status.open_leases) == (1, 1, 1)


# --- events -------------------------------------------------------------------------------------
def test_events_are_read_in_pages_and_once(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=10)
    volunteer.ask(10)
    pages = [lab.events(limit=4).events for _ in range(4)]
    assert [len(page) for page in pages] == [4, 4, 2, 0]
    assert len({e.lease for page in pages for e in page}) == 10


def test_labs_read_their_own_events_only(lab: Researcher, volunteer: Volunteer) -> None:
    other = Researcher.make()
    lab.job(units=1)
    volunteer.ask(1)
    assert other.events().events == []
    assert len(lab.events().events) == 1


def test_no_event_is_lost_when_transactions_end_out_of_order(lab: Researcher) -> None:
    from concurrent.futures import ThreadPoolExecutor

    job = lab.job(units=0)
    sql = (
        "INSERT INTO workunits_event (lab_id, job_id, kind, code, reason)"
        " SELECT lab_id, id, %s, 'ok', '' FROM workunits_job WHERE uid = %s"
    )

    def write_quickly() -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql, ["quick", job.job])
        connection.close()

    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(sql, ["slow", job.job])
        pool.submit(write_quickly).result(10)

        def read() -> list[str]:
            found = [e.kind for e in lab.events().events]
            connection.close()
            return found

        assert pool.submit(read).result(10) == []
    assert [e.kind for e in lab.events().events] == ["slow", "quick"]
    assert lab.events().events == []


def test_a_cursor_of_another_epoch_is_reset(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=1)
    volunteer.ask(1)
    assert lab.events().reset is False
    call_command("restored", verbosity=0)
    reply = lab.events()
    assert (reply.reset, reply.events, reply.poll_after_ms) == (True, [], 0)
    assert (lab.events().reset, len(lab.events().events)) == (False, 0)


def test_a_cursor_from_the_future_is_reset(lab: Researcher) -> None:
    lab.events()
    epoch, _, _ = lab.cursor.partition(":")
    lab.cursor = str(Cursor(epoch, 2**62, 1))
    assert lab.events().reset is True


@pytest.mark.parametrize("cursor", ["x", "a:b:c", "::", "e:1:99999999999999999999", "e:-1:2"])
def test_a_strange_cursor_is_refused(lab: Researcher, cursor: str) -> None:
    lab.cursor = cursor
    with pytest.raises(BadMessage):
        lab.events()


def test_events_before_hello_are_refused() -> None:
    with pytest.raises(NotAllowed):
        Researcher.make(online=False).events()


# --- verdicts -----------------------------------------------------------------------------------
def test_a_verdict_that_the_lab_did_not_sign_is_refused(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job(units=1)
    (lease,) = volunteer.ask(1).leases
    batch = VerdictBatch(protocol=PROTOCOL, verdicts=[verdict(lease)])
    body = codec.encode(batch)
    good = lab.key.sign(body).hex()
    for signature in ("", "00" * 64, good[:-2] + "zz", Researcher.make().key.sign(body).hex()):
        with pytest.raises(NotAllowed):
            verdicts.take(lab.lab.pk, batch, body, signature)
    with pytest.raises(NotAllowed):
        verdicts.take(lab.lab.pk, batch, body + b" ", good)
    assert verdicts.take(lab.lab.pk, batch, body, good).outcomes[0].state == LeaseState.OPEN


def test_another_labs_lease_is_as_unknown_as_none(lab: Researcher, volunteer: Volunteer) -> None:
    other = Researcher.make()
    other.job(units=1)
    (lease,) = volunteer.ask(1).leases
    outcome = lab.judge(verdict(lease)).outcomes[0]
    assert (outcome.state, outcome.code) == (None, "unknown_lease")
    stolen = lab.judge(verdict(lease, capability=lease.capability)).outcomes[0]
    assert stolen.state is None


def test_a_second_verdict_on_a_lease_is_a_conflict(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=1)
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    assert lab.judge(verdict(lease)).outcomes[0].code == "ok"
    assert lab.judge(verdict(lease)).outcomes[0].code == "ok"
    outcome = lab.judge(verdict(lease, VerdictKind.REJECTED)).outcomes[0]
    assert (outcome.code, outcome.state) == ("conflict", LeaseState.ACCEPTED)


def test_residuals_are_told_once_they_help_nobody_to_forge(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job(units=2)
    first, second = volunteer.ask(2).leases
    volunteer.ask(done=[done(first), done(second)])
    lab.judge(verdict(first), verdict(second))
    assert not Verdict.objects.exclude(residual=None).exists()
    told = lab.judge(verdict(first, residual=1.5), verdict(second))
    assert [each.code for each in told.outcomes] == ["ok", "ok"]
    lab.judge(verdict(first, residual=0.1))
    known = Verdict.objects.get(lease_id=UUID(hex=first.lease))
    assert (known.residual, known.kind) == (1.5, "accepted")
    # The row belongs to the signed message that said all of it.
    assert known.batch_id > Verdict.objects.get(lease_id=UUID(hex=second.lease)).batch_id
    assert CreditEntry.objects.count() == 2


def test_text_with_nul_and_quotes_is_taken(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=1)
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease, VerdictKind.REJECTED, reason='a"b\\c{,}\0 NULL'))
    assert volunteer.ask().settled[0].reason == 'a"b\\c{,} NULL'


# --- time ---------------------------------------------------------------------------------------
def set_back(table: str, column: str, interval: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE workunits_{table} SET {column} = {column} - interval '{interval}'")


def test_an_expired_lease_opens_its_unit_again(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=1)
    volunteer.ask(1)
    assert sweeps.expire_leases() == 0
    set_back("pendinglease", "deadline", "1 hour")
    assert sweeps.expire_leases() == 1
    assert sweeps.expire_leases() == 0
    assert len(Volunteer.make().ask(1).leases) == 1


def test_while_a_lab_is_off_line_its_leases_clocks_stand_still(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job(units=1)
    volunteer.ask(1)
    set_back("labnode", "last_seen", "1 hour")
    set_back("pendinglease", "deadline", "10 minutes")
    assert sweeps.expire_leases() == 0
    before = PendingLease.objects.get().deadline
    lab.events()
    assert (PendingLease.objects.get().deadline - before).total_seconds() >= 3600
    assert sweeps.expire_leases() == 0


def test_a_report_without_a_verdict_lapses(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=1)
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    assert sweeps.lapse_reports() == 0
    set_back("pendinglease", "deadline", "8 days")
    assert sweeps.lapse_reports() == 1
    assert volunteer.ask().settled[0].verdict == "lapsed"
    assert Unit.objects.get().state == UnitState.OPEN


def test_an_absent_host_is_told_when_it_comes_back(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=1)
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease))
    assert sweeps.clean_up() == 0
    set_back("host", "last_seen", "2 hours")
    assert sweeps.clean_up() == 1
    assert volunteer.ask().settled == []
    assert [s.flops for s in volunteer.ask(done=[done(lease)]).settled] == [1000]


def test_row_14_old_events_go_in_batches(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=50)
    volunteer.ask(50)
    set_back("event", "created", "40 days")
    volunteer.another_host()
    assert sweeps.clean_up(batch=7) == 50
    assert Event.objects.count() == 0


def test_row_20_a_poison_unit_is_put_aside_and_released_by_hand(
    lab: Researcher, volunteer: Volunteer
) -> None:
    from goblin_wire.exchange import Returned

    job = lab.job(units=2)
    (poison, _) = volunteer.ask(2).leases
    volunteer.ask(returned=[Returned(lease=poison.lease, code="bad_graph")])
    for _ in range(2):
        other = Volunteer.make()
        leases = other.ask(1).leases
        other.ask(returned=[Returned(lease=x.lease, code="bad_graph") for x in leases])
    status = jobs.status(lab.lab.pk, UUID(hex=job.job))
    assert (status.quarantined, status.leased) == (1, 1)
    assert "quarantined" in [e.kind for e in lab.events().events]
    sweeps.release(Unit.objects.get(state="quarantined").pk)
    assert jobs.status(lab.lab.pk, UUID(hex=job.job)).open == 1
