"""The exchange, to the letter of the protocol."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from goblin_wire.exchange import Done, Holding, Returned
from goblin_wire.problems import CopiedHost, NotAllowed, UnsupportedProtocol
from goblin_wire.states import LeaseState, Policy, VerdictKind
from workunits import jobs, limits, sweeps
from workunits.models import Host, Job, Lease, PendingLease
from workunits.tests.world import (
    MIB,
    Researcher,
    Volunteer,
    done,
    hex_id,
    unit,
    verdict,
    want,
)

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lab() -> Researcher:
    return Researcher.make()


@pytest.fixture
def volunteer() -> Volunteer:
    return Volunteer.make()


def expire(lease: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE workunits_pendinglease SET deadline = now() - interval '1 second'"
            " WHERE lease_id = %s",
            [lease],
        )
    sweeps.expire_leases()


# --- one conversation ---------------------------------------------------------------------------
def test_a_retry_gets_the_same_answer(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=3)
    first = volunteer.ask(2)
    again = volunteer.repeat()
    assert [x.lease for x in again.leases] == sorted(x.lease for x in first.leases)
    assert Lease.objects.count() == 2


def test_a_retry_of_a_report_gets_the_same_answer(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease))
    first = volunteer.ask()
    assert volunteer.repeat().settled == first.settled
    assert len(first.settled) == 1


def test_row_21_a_copied_directory_is_told_and_steals_nothing(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job(units=4)
    volunteer.ask(1)
    copy = Volunteer(volunteer.principal, volunteer.host, seq=volunteer.seq)
    (lease,) = volunteer.ask(1).again
    with pytest.raises(CopiedHost):
        copy.ask(1)
    copy.seq = 0
    with pytest.raises(CopiedHost):
        copy.ask(1)
    fresh = volunteer.another_host()
    assert len(fresh.ask(1).leases) == 1
    assert lease.lease not in {x.lease for x in fresh.ask().again}
    assert fresh.ask(done=[done(lease)]).unknown == []
    assert Lease.objects.get(id=lease.lease).state == LeaseState.REPORTED
    assert Host.objects.count() == 2


def test_the_same_number_with_another_nonce_is_a_copy(volunteer: Volunteer) -> None:
    volunteer.ask()
    volunteer.seq -= 1
    with pytest.raises(CopiedHost):
        volunteer.ask()


def test_a_client_may_count_from_nought(volunteer: Volunteer) -> None:
    volunteer.seq = -1
    assert volunteer.ask().notice_code == "ok"
    assert volunteer.repeat().notice_code == "ok"


def test_too_old_a_protocol_is_refused(volunteer: Volunteer) -> None:
    with pytest.raises(UnsupportedProtocol):
        volunteer.ask(protocol=0)


def test_open_leases_that_were_not_listed_come_again(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=2)
    first, second = volunteer.ask(2).leases
    reply = volunteer.ask(holding=[Holding(lease=first.lease)])
    assert [x.lease for x in reply.again] == [second.lease]
    assert reply.again[0].seconds == second.seconds


# --- reports ------------------------------------------------------------------------------------
def test_an_unknown_lease_is_told_as_unknown(volunteer: Volunteer) -> None:
    strange = hex_id()
    reply = volunteer.ask(done=[Done(lease=strange, outputs=[], bytes=0)])
    assert [u.lease for u in reply.unknown] == [strange]


def test_a_foreign_lease_is_as_unknown_as_none(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases
    thief = Volunteer.make()
    reply = thief.ask(
        done=[done(lease)],
        holding=[Holding(lease=lease.lease, progress=1.0)],
    )
    assert [u.lease for u in reply.unknown] == [lease.lease]
    assert (reply.ended, reply.settled) == ([], [])
    thief.ask(returned=[Returned(lease=lease.lease, code="failed")])
    assert Lease.objects.get(id=lease.lease).state == LeaseState.OPEN


def lose(lease: str) -> None:
    """As a crash loses a claim whose commit was not on disk."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT unit_id FROM workunits_lease WHERE id = %s", [lease])
        (lost,) = cursor.fetchone()
        cursor.execute("DELETE FROM workunits_lease WHERE id = %s", [lease])
        cursor.execute("DELETE FROM workunits_pendinglease WHERE lease_id = %s", [lease])
        cursor.execute("DELETE FROM workunits_event")
        cursor.execute(
            "UPDATE workunits_unit SET state = 'open', wanted = 1, issued = 0 WHERE id = %s", [lost]
        )
        cursor.execute(
            "INSERT INTO workunits_opening SELECT id, job_id, 1, position, memory, catalogue"
            " FROM workunits_unit WHERE id = %s",
            [lost],
        )


def test_a_lease_lost_in_a_crash_is_made_again_from_its_capability(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases
    lose(lease.lease)
    assert len(volunteer.ask(done=[done(lease)]).unknown) == 1
    reply = volunteer.ask(done=[done(lease, capability=lease.capability)])
    assert reply.unknown == []
    assert lab.judge(verdict(lease)).outcomes[0].state == LeaseState.ACCEPTED
    assert volunteer.ask().settled[0].verdict == "accepted"


def test_a_verdict_on_a_lost_lease_makes_it_again_too(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases
    lose(lease.lease)
    assert lab.judge(verdict(lease)).outcomes[0].state is None
    outcome = lab.judge(verdict(lease, capability=lease.capability)).outcomes[0]
    assert outcome.state == LeaseState.EXPIRED
    volunteer.ask(done=[done(lease)])
    assert volunteer.ask(done=[done(lease)]).settled[0].verdict == "accepted"


def test_anothers_capability_brings_nothing(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases
    lose(lease.lease)
    thief = Volunteer.make()
    reply = thief.ask(done=[done(lease, capability=lease.capability)])
    assert len(reply.unknown) == 1
    assert Lease.objects.count() == 0
    reply = volunteer.ask(done=[done(lease, capability=lease.capability[:-4] + "AAAA")])
    assert len(reply.unknown) == 1


def test_a_late_report_is_taken(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases
    expire(lease.lease)
    assert Lease.objects.get().state == LeaseState.EXPIRED
    (newer,) = volunteer.ask(1).leases
    reply = volunteer.ask(done=[done(lease)], holding=[Holding(lease=newer.lease)])
    assert [e.lease for e in reply.ended] == [newer.lease]
    lab.judge(verdict(lease))
    assert volunteer.ask().settled[0].flops == 1000


def test_a_late_report_is_thanked_when_the_unit_is_decided(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job()
    (late,) = volunteer.ask(1).leases
    expire(late.lease)
    other = Volunteer.make()
    (lease,) = other.ask(1).leases
    other.ask(done=[done(lease)])
    lab.judge(verdict(lease))
    reply = volunteer.ask(done=[done(late)])
    assert (reply.settled, [e.code for e in reply.ended]) == ([], ["decided"])
    assert "thank you" in reply.ended[0].reason


def test_progress_renews_a_lease_and_standing_still_does_not(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases

    def hold(progress: float) -> float:
        PendingLease.objects.update(deadline="2030-01-01T00:00:00Z")
        with connection.cursor() as cursor:
            cursor.execute("UPDATE workunits_pendinglease SET deadline = now()")
        before = PendingLease.objects.get().deadline
        volunteer.ask(holding=[Holding(lease=lease.lease, progress=progress)])
        return (PendingLease.objects.get().deadline - before).total_seconds()

    assert hold(0.5) >= limits.LEAST_LEASE_S - 1
    assert hold(0.5) == 0
    assert hold(0.6) > 0


def test_row_02_a_rejected_result_is_computed_by_another_account(lab: Researcher) -> None:
    lab.job()
    cheat, honest = Volunteer.make(), Volunteer.make()
    (bad,) = cheat.ask(1).leases
    cheat.ask(done=[done(bad)])
    lab.judge(verdict(bad, VerdictKind.REJECTED, code="wrong_result", reason="Row 3 is wrong."))
    reply = cheat.ask(1)
    assert reply.leases == []
    assert (reply.settled[0].verdict, reply.settled[0].reason) == ("rejected", "Row 3 is wrong.")
    (good,) = honest.ask(1).leases
    assert good.unit == bad.unit
    honest.ask(done=[done(good)])
    assert lab.judge(verdict(good)).outcomes[0].unit_state == "accepted"


def test_row_12_a_storage_fault_is_told_as_a_retry(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease, VerdictKind.REISSUED, code="storage_failed"))
    reply = volunteer.ask(1)
    assert reply.settled[0].verdict == "reissued"
    assert reply.leases[0].unit == lease.unit
    assert Host.objects.get().rejected == 0


def test_a_cost_that_two_accounts_dispute_pauses_the_job(lab: Researcher) -> None:
    lab.job(units=3)
    for _ in range(2):
        volunteer = Volunteer.make()
        (lease,) = volunteer.ask(1).leases
        assert Job.objects.get().state == "open"
        volunteer.ask(returned=[Returned(lease=lease.lease, code="cost_mismatch")])
    assert (Job.objects.get().state, Job.objects.get().code) == ("paused", "cost_mismatch")
    assert "job_paused" in [e.kind for e in lab.events().events]
    assert Volunteer.make().ask(1).notice_code == "jobs_paused"


def test_an_operator_lets_a_disputed_job_go_on_and_its_lab_hears_of_it(lab: Researcher) -> None:
    lab.job()
    job = Job.objects.get()
    Job.objects.update(state="paused", code="cost_mismatch", reason="Other costs.")
    lab.events()
    assert jobs.resume_disputed(job.pk)
    assert [event.kind for event in lab.events().events] == ["job_resumed"]
    assert len(Volunteer.make().ask(1).leases) == 1
    assert not jobs.resume_disputed(job.pk)


def test_an_operator_cannot_resume_what_the_lab_paused(lab: Researcher) -> None:
    lab.job()
    Job.objects.update(state="paused", code="file_changed")
    assert not jobs.resume_disputed(Job.objects.get().pk)
    assert Job.objects.get().state == "paused"


# --- how much -----------------------------------------------------------------------------------
def test_row_07_a_client_that_always_fails_gets_few_units(lab: Researcher) -> None:
    lab.job(units=200)
    volunteer = Volunteer.make(seasoned=False)
    given = 0
    for _ in range(60):
        leases = volunteer.ask(50).leases
        given += len(leases)
        volunteer.ask(returned=[Returned(lease=x.lease, code="failed") for x in leases])
    assert 0 < given <= limits.PATIENCE + limits.NEW_ACCOUNT_OPEN_LEASES
    reply = volunteer.ask(1)
    assert reply.notice_code == "slowed_down"
    assert reply.ticket == ""


def test_row_07_rejected_results_slow_down_whatever_host_id_they_come_from(
    lab: Researcher,
) -> None:
    lab.job(units=200)
    volunteer = Volunteer.make()
    given = 0
    for _ in range(40):
        host = volunteer.another_host()
        leases = host.ask(1).leases
        given += len(leases)
        host.ask(done=[done(x) for x in leases])
        if leases:
            lab.judge(*[verdict(x, VerdictKind.REJECTED) for x in leases])
    assert given == limits.PATIENCE


def test_many_leases_that_fail_together_are_one_incident(lab: Researcher) -> None:
    lab.job(units=200)
    volunteer = Volunteer.make()
    volunteer.ask(64)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workunits_pendinglease SET deadline = now() - interval '1 second'")
    assert sweeps.expire_leases() == 64
    reply = volunteer.ask(1)
    assert reply.notice_code == "slowed_down"
    assert reply.poll_after_ms <= 1000 * limits.FIRST_PAUSE_S + 1


@pytest.mark.parametrize("code", ["lease_ended", "lab_unreachable", "paused"])
def test_what_is_not_the_machines_fault_does_not_slow_it_down(lab: Researcher, code: str) -> None:
    lab.job(units=200)
    volunteer = Volunteer.make()
    for _ in range(2):
        leases = volunteer.ask(32).leases
        volunteer.ask(returned=[Returned(lease=x.lease, code=code) for x in leases])
    assert len(volunteer.ask(1).leases) == 1


def test_row_13_the_delay_that_is_told_is_the_delay_that_is_meant(lab: Researcher) -> None:
    lab.job(units=50)
    volunteer = Volunteer.make()
    leases = volunteer.ask(limits.PATIENCE).leases
    volunteer.ask(returned=[Returned(lease=x.lease, code="failed") for x in leases])
    wait = volunteer.ask(1).poll_after_ms
    assert 1000 * (limits.FIRST_PAUSE_S - 5) < wait <= 1000 * limits.FIRST_PAUSE_S + 1
    with connection.cursor() as cursor:
        for table in ("host", "standing"):
            cursor.execute(
                f"UPDATE workunits_{table} SET failed_at = failed_at - interval '1 ms' * {wait}"
            )
    assert len(volunteer.ask(1).leases) == 1


def test_an_account_does_not_make_machines_without_end() -> None:
    volunteer = Volunteer.make()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO workunits_host (account_id, uid, seq, nonce, answered, granted, version,"
            " created, last_seen, failed_in_row, rejected, accepted)"
            " SELECT %s, gen_random_uuid(), 0, '', '{}', 0, '', now(), now(), 0, 0, 0"
            " FROM generate_series(1, %s)",
            [volunteer.principal.account_id, limits.MAX_HOSTS_PER_ACCOUNT - 1],
        )
    volunteer.ask()
    with pytest.raises(NotAllowed):
        volunteer.another_host().ask()
    volunteer.ask()


def test_row_08_a_new_account_gets_no_more_than_its_limit(lab: Researcher) -> None:
    lab.job(units=100)
    volunteer = Volunteer.make(seasoned=False)
    reply = volunteer.ask(50)
    assert len(reply.leases) == limits.NEW_ACCOUNT_OPEN_LEASES
    second = volunteer.another_host().ask(50)
    assert (second.leases, second.notice_code, second.ticket) == ([], "account_limit", "")


@pytest.mark.parametrize("code", ["shutting_down", "paused"])
def test_row_04_a_machine_that_is_switched_off_every_evening_may_go_on(
    lab: Researcher, volunteer: Volunteer, code: str
) -> None:
    lab.job(units=1)
    for _ in range(3 * limits.HAND_BACKS_PER_LEASE):
        (lease,) = volunteer.ask(1).leases
        volunteer.ask(returned=[Returned(lease=lease.lease, code=code)])
    # Not without end: an account alone cannot have it given out for ever.
    assert volunteer.ask(1).notice_code == "needs_others"
    assert len(Volunteer.make().ask(1).leases) == 1


def test_a_wrong_result_puts_an_account_on_probation(lab: Researcher) -> None:
    lab.job(units=200)
    volunteer = Volunteer.make()
    first, *rest = volunteer.ask(limits.NEW_ACCOUNT_UNITS + 1).leases
    assert len(rest) == limits.NEW_ACCOUNT_UNITS
    volunteer.ask(done=[done(first), *map(done, rest)])
    lab.judge(verdict(first, VerdictKind.REJECTED))
    assert len(volunteer.ask(50).leases) == limits.NEW_ACCOUNT_OPEN_LEASES
    assert volunteer.another_host().ask(50).notice_code == "account_limit"
    lab.judge(*map(verdict, rest))
    assert len(volunteer.ask(50).leases) == 50


def test_row_16_a_device_gets_the_seconds_that_it_asked_for(lab: Researcher) -> None:
    lab.job(units=100, flops=10 * 10**9)
    volunteer = Volunteer.make()
    reply = volunteer.ask(want=[want(64, seconds=95.0, flops_per_s=1e9)])
    assert len(reply.leases) == 10


@pytest.mark.parametrize("speed", [0.0, 1.0, -5.0, 1e30, 1e-300])
def test_row_18_impossible_speeds_are_clamped(lab: Researcher, speed: float) -> None:
    lab.job(units=2, flops=10**12)
    (lease,) = Volunteer.make().ask(want=[want(1, flops_per_s=speed)]).leases
    assert limits.LEAST_LEASE_S <= lease.seconds <= limits.LONGEST_LEASE_S


def test_several_devices_share_the_answer(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(units=3)
    reply = volunteer.ask(want=[want(1), want(1, device="gpu0"), want(1, device="gpu1")])
    assert sorted(x.device for x in reply.leases) == ["cpu", "gpu0", "gpu1"]
    assert len({x.unit for x in reply.leases}) == 3


# --- why there is nothing -----------------------------------------------------------------------
def notice(volunteer: Volunteer) -> str:
    reply = volunteer.ask(1)
    assert reply.leases == []
    assert reply.notice
    return reply.notice_code


def test_row_22_the_reason_is_said_precisely(lab: Researcher, volunteer: Volunteer) -> None:
    assert notice(volunteer) == "no_jobs"
    lab.job(memory=100 * MIB)
    assert notice(volunteer) == "memory_too_small"
    assert "100 MiB" in volunteer.ask(1).notice
    with connection.cursor() as cursor:
        cursor.execute("UPDATE workunits_labnode SET last_seen = now() - interval '2 minutes'")
    assert notice(volunteer) == "lab_offline"


def test_the_catalogue_is_named(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job(catalogue=2)
    assert notice(volunteer) == "catalogue_too_old"


def test_the_quota_is_kept_and_named(volunteer: Volunteer) -> None:
    lab = Researcher.make(daily_flops=2500)
    lab.job(units=10)
    assert len(volunteer.ask(10).leases) == 2
    reply = volunteer.another_host().ask(1)
    # No ticket: waiting would end at once, again and again.
    assert (reply.leases, reply.notice_code, reply.ticket) == ([], "quota_used", "")


def test_the_window_is_kept_and_named(volunteer: Volunteer) -> None:
    lab = Researcher.make()
    lab.window.units = 3
    lab.job(units=10)
    lab.events()
    leases = volunteer.ask(10).leases
    assert len(leases) == 3
    assert notice(volunteer.another_host()) == "window_full"
    volunteer.ask(done=[done(x) for x in leases])
    assert notice(volunteer.another_host()) == "window_full"
    lab.judge(*[verdict(x) for x in leases])
    assert len(volunteer.ask(10).leases) == 3


def test_what_the_account_computed_already_is_left_to_others(volunteer: Volunteer) -> None:
    lab = Researcher.make()
    lab.job(units=1, copies=2, policy=Policy.COMPARE)
    (lease,) = volunteer.ask(5).leases
    assert notice(volunteer.another_host()) == "needs_others"
    (other,) = Volunteer.make().ask(5).leases
    assert other.unit == lease.unit


def test_row_19_half_verified_units_are_served_first(lab: Researcher) -> None:
    job = lab.job(units=5, copies=2, policy=Policy.COMPARE)
    first, second = Volunteer.make(), Volunteer.make()
    begun = {x.unit for x in first.ask(2).leases}
    lab.register(job.job, [unit(0)])
    assert {x.unit for x in second.ask(2).leases} == begun


def test_the_least_served_lab_comes_first(volunteer: Volunteer) -> None:
    rich, poor = Researcher.make(), Researcher.make()
    rich.job(units=8)
    poor.job(units=8)
    (one,) = volunteer.ask(1).leases
    (two,) = volunteer.another_host().ask(1).leases
    assert {one.lab.lab, two.lab.lab} == {rich.lab.key.hex, poor.lab.key.hex}


def test_three_leases_of_a_unit_are_all_that_an_account_gets(lab: Researcher) -> None:
    lab.job()
    volunteer = Volunteer.make()
    for _ in range(limits.MAX_LEASES_PER_ACCOUNT_AND_UNIT):
        (lease,) = volunteer.ask(1).leases
        volunteer.ask(returned=[Returned(lease=lease.lease, code="lab_unreachable")])
    assert volunteer.ask(1).leases == []
    (other,) = Volunteer.make().ask(1).leases
    assert other.unit == lease.unit


def test_a_small_network_tries_again_the_next_day(lab: Researcher, volunteer: Volunteer) -> None:
    lab.job()
    for _ in range(limits.MAX_LEASES_PER_ACCOUNT_AND_UNIT):
        (lease,) = volunteer.ask(1).leases
        volunteer.ask(returned=[Returned(lease=lease.lease, code="lab_unreachable")])
    assert volunteer.ask(1).notice_code == "needs_others"
    Lease.objects.update(created=timezone.now() - timedelta(seconds=limits.FORGIVEN_S + 60))
    assert len(volunteer.ask(1).leases) == 1


def test_who_returned_a_wrong_result_gets_the_unit_never_again(
    lab: Researcher, volunteer: Volunteer
) -> None:
    lab.job()
    (lease,) = volunteer.ask(1).leases
    volunteer.ask(done=[done(lease)])
    lab.judge(verdict(lease, VerdictKind.REJECTED))
    Lease.objects.update(created=timezone.now() - timedelta(seconds=limits.FORGIVEN_S + 60))
    assert volunteer.ask(1).leases == []


# --- who profits --------------------------------------------------------------------------------
def test_a_member_of_the_lab_computes_without_credit(lab: Researcher) -> None:
    from workunits.models import CreditEntry
    from workunits.tests.world import season

    member = Volunteer(lab.principal)
    season(lab.principal.account_id)
    lab.job()
    (lease,) = member.ask(1).leases
    member.ask(done=[done(lease)])
    lab.judge(verdict(lease))
    settled = member.ask().settled
    assert (settled[0].verdict, settled[0].flops) == ("accepted", 0)
    assert CreditEntry.objects.count() == 0


def test_row_11_credit_is_what_the_unit_costs_whatever_is_claimed(lab: Researcher) -> None:
    lab.job(flops=12345)
    volunteer = Volunteer.make()
    (lease,) = volunteer.ask(want=[want(1, flops_per_s=1e21)]).leases
    volunteer.ask(done=[done(lease, seconds=1e9, bytes=2**50)])
    lab.judge(verdict(lease))
    assert volunteer.ask().settled[0].flops == 12345
