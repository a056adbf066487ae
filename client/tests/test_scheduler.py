"""The scheduler alone: no clock, no socket; every race is a list of events."""

from __future__ import annotations

import msgspec

from client.tests.driver import LABS, OFFLINE, Driver, lease, one, result
from goblin_client.scheduling import actions, events
from goblin_client.scheduling.events import Failure, Trouble
from goblin_client.scheduling.scheduler import Scheduler
from goblin_client.scheduling.speaking import LONGEST_SILENCE_S, PAUSED_SILENCE_S
from goblin_wire.exchange import (
    Ended,
    ExchangeReply,
    ExchangeRequest,
    LabAddress,
    Settled,
    Unknown,
    Want,
)
from goblin_wire.states import Activity


def test_an_idle_device_asks_at_once_for_two_units() -> None:
    driver = Driver()
    request = one(driver.done, actions.Send).request
    assert [(want.device, want.units) for want in request.want] == [("cpu", 2)]
    assert request.seq == 1


def test_computing_starts_with_the_first_two_inputs_and_is_fed() -> None:
    driver = Driver()
    unit = lease(1)
    assert one(driver.reply(unit), actions.Fetch).lease == unit
    driver.tell(events.Admitted(unit.lease, 4, 10))
    assert not driver.of(actions.Compute)
    compute = one(driver.tell(events.Arrived(unit.lease, 2, 30)), actions.Compute)
    assert (compute.device, compute.blobs) == ("cpu", 2)
    feed = one(driver.tell(events.Arrived(unit.lease, 3, 40)), actions.Feed)
    assert feed.blobs == 3


def test_a_busy_device_is_given_only_what_is_whole() -> None:
    driver = Driver()
    first, second = lease(1), lease(2)
    driver.reply(first, second)
    driver.fetched(first)
    driver.tell(events.Admitted(second.lease, 4, 10))
    driver.tell(events.Arrived(second.lease, 2, 30))
    assert len(driver.of(actions.Compute)) == 1
    driver.tell(events.FetchEnded(second.lease))
    assert [each.lease.lease for each in driver.of(actions.Compute)] == [first.lease, second.lease]


def test_a_report_and_the_wish_for_work_go_in_one_message() -> None:
    driver = Driver()
    first, second = lease(1), lease(2)
    driver.reply(first, second)
    driver.fetched(first)
    driver.fetched(second)
    sent = len(driver.of(actions.Send))
    driver.tell(events.Computed("cpu", result(first)))
    assert len(driver.of(actions.Send)) == sent
    request = one(driver.tell(events.UploadEnded(first.lease)), actions.Send).request
    assert [done.lease for done in request.done] == [first.lease]
    assert request.want[0].units == 1
    assert [held.lease for held in request.holding] == [second.lease]


def test_a_slow_upload_does_not_keep_the_device_idle() -> None:
    driver = Driver()
    first, second = lease(1), lease(2)
    driver.reply(first, second)
    driver.fetched(first)
    driver.fetched(second)
    driver.tell(events.Computed("cpu", result(first)))
    assert driver.scheduler.wake_at <= driver.now + 0.5
    request = one(driver.tell(events.Ticked(), after=0.3), actions.Send).request
    assert request.want[0].units == 1
    assert not request.done


def test_a_result_is_kept_before_it_is_sent_and_until_it_is_settled() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    found = driver.to_upload(unit)
    kinds = [type(each) for each in found]
    assert kinds.index(actions.Keep) < kinds.index(actions.Upload)
    driver.tell(events.UploadEnded(unit.lease))
    driver.reply()
    assert not driver.of(actions.Forget)
    driver.tell(events.Ticked(), after=20)
    driver.reply(settled=[Settled(lease=unit.lease, verdict="rejected", code="wrong", reason="R")])
    forget = one(driver.done, actions.Forget)
    assert (forget.verdict, forget.code, forget.reason) == ("rejected", "wrong", "R")


def test_a_lost_reply_is_asked_for_again_with_the_same_number() -> None:
    driver = Driver()
    first = driver.of(actions.Send)[0].request
    driver.tell(events.NotReplied("unreachable", "away"))
    assert driver.scheduler.wake_at > driver.now
    driver.tell(events.Ticked(), after=2.0)
    assert driver.of(actions.Send)[1].request == first


def test_row_13_comes_back_after_the_delay_that_was_asked_for() -> None:
    driver = Driver()
    driver.tell(events.NotReplied("rate_limited", "slowly", retry_after=40.0))
    driver.tell(events.Ticked(), after=39.0)
    assert len(driver.of(actions.Send)) == 1
    assert 0 < driver.scheduler.wake_at - driver.now <= 1.1
    driver.tell(events.Ticked(), after=1.1)
    assert len(driver.of(actions.Send)) == 2


def test_row_21_a_copied_directory_goes_on_as_a_new_host() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    driver.to_upload(unit)
    driver.tell(events.UploadEnded(unit.lease))
    found = driver.tell(events.NotReplied("copied_host", "copy"))
    assert [type(action) for action in found] == [actions.TakeNewHost]
    driver.scheduler.renamed("b" * 32)
    request = one(driver.tell(events.Ticked()), actions.Send).request
    assert (request.host, request.seq) == ("b" * 32, 1)
    assert [done.lease for done in request.done] == [unit.lease]


def test_a_refused_token_ends_the_run() -> None:
    driver = Driver()
    assert (
        one(driver.tell(events.NotReplied("token_expired", "old")), actions.Exit).refused == "old"
    )


def test_a_removed_machine_ends_and_keeps_nothing() -> None:
    driver = Driver()
    found = driver.tell(events.NotReplied("host_removed", "It was removed."))
    assert one(found, actions.Exit) == actions.Exit(refused="It was removed.", removed=True)


def test_the_label_is_told_once_for_each_host_id() -> None:
    driver = Driver()
    driver.state.talk.label = "attic"
    driver.state.talk.rename("b" * 32)
    driver.tell(events.Ticked())
    driver.reply()
    driver.tell(events.Ticked(), after=30)
    told = [each.request.label for each in driver.of(actions.Send)]
    assert (told[1], set(told[2:])) == ("attic", {""})


def test_pause_and_stop_are_told_though_no_unit_is_in_hand() -> None:
    driver = Driver()
    driver.reply()
    paused = one(driver.tell(events.PauseAsked(driver.now + 50)), actions.Send).request
    assert (paused.activity, paused.resumes_s) == (Activity.PAUSED, 50)
    driver.reply()
    assert not driver.tell(events.PauseAsked(None))
    assert one(driver.tell(events.ResumeAsked()), actions.Send).request.activity == "running"
    driver.reply()
    goodbye = one(driver.tell(events.StopAsked()), actions.Send).request
    assert (goodbye.activity, goodbye.want) == (Activity.STOPPING, [])
    assert one(driver.reply(), actions.Exit).refused == ""


def test_who_never_said_hello_says_no_goodbye() -> None:
    scheduler = Scheduler("a" * 32, 0, ("cpu",))
    assert one(scheduler.handle(events.StopAsked(), 1.0), actions.Exit).refused == ""


def test_a_paused_client_is_heard_of_now_and_then() -> None:
    scheduler = Scheduler("a" * 32, 0, ("cpu",))
    first = one(scheduler.handle(events.PauseAsked(None), 1000.0), actions.Send).request
    assert (first.activity, first.resumes_s) == (Activity.PAUSED, 0)
    scheduler.handle(events.Replied(ExchangeReply()), 1001.0)
    assert scheduler.wake_at <= 1001.0 + PAUSED_SILENCE_S
    assert not scheduler.handle(events.Ticked(), 1100.0)
    assert one(scheduler.handle(events.Ticked(), 1301.5), actions.Send)


def test_who_computes_for_hours_speaks_every_minute() -> None:
    driver = Driver()
    long = lease(1, seconds=36_000.0)
    driver.reply(long, lease(2, seconds=36_000.0))
    driver.fetched(long)
    driver.reply()
    before = len(driver.of(actions.Send))
    driver.tell(events.Ticked(), after=LONGEST_SILENCE_S + 1)
    assert len(driver.of(actions.Send)) == before + 1


def test_an_unknown_lease_is_reported_with_its_capability() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    driver.to_upload(unit)
    driver.tell(events.UploadEnded(unit.lease))
    found = driver.reply(unknown=[Unknown(lease=unit.lease)])
    assert one(found, actions.Send).request.done[0].capability == "c.s"


def test_row_23_six_failures_at_once_are_one_step_of_backoff() -> None:
    driver = Driver()
    units = [lease(number) for number in range(6)]
    driver.reply(*units)
    for unit in units:
        driver.tell(events.FetchEnded(unit.lease, OFFLINE))
    lab = driver.state.labs[LABS[0]]
    assert lab.backoff.failures == 1
    assert lab.ready_at - driver.now <= 1.0


def test_row_24_a_dead_lab_does_not_hold_up_another() -> None:
    driver = Driver()
    dead, alive = lease(1, lab=0), lease(2, lab=1)
    driver.reply(dead, alive)
    driver.tell(events.FetchEnded(dead.lease, OFFLINE))
    driver.to_upload(alive)
    assert one(driver.done, actions.Upload).result.lease == alive
    assert not driver.state.lab(LABS[0]).is_open(driver.now)
    assert driver.state.lab(LABS[1]).is_open(driver.now)


def test_row_25_attempts_follow_the_logarithm_of_the_outage() -> None:
    driver = Driver()
    started = driver.now
    while driver.now < started + 3600:
        driver.tell(events.NotReplied("unreachable", "off line"))
        driver.tell(events.Ticked(), after=max(0.0, driver.scheduler.wake_at - driver.now))
    attempts = len(driver.of(actions.Send))
    assert 15 <= attempts <= 40


def test_row_26_a_result_is_delivered_after_five_days() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    driver.to_upload(unit)
    started = driver.now
    while driver.now < started + 5 * 86400:
        if unit.lease in driver.state.uploading.values():
            driver.tell(events.UploadEnded(unit.lease, OFFLINE))
        if driver.state.talk.sent_at is not None:
            driver.tell(events.NotReplied("unreachable", "away"))
        driver.tell(
            events.Ticked(), after=max(1.0, min(400.0, driver.scheduler.wake_at - driver.now))
        )
    driver.tell(events.UploadEnded(unit.lease))
    driver.tell(events.Ticked(), after=400)
    assert unit.lease in driver.state.works
    driver.reply()
    told = driver.of(actions.Send)[-1].request.done
    assert [done.lease for done in told] == [unit.lease]


def test_an_expired_lease_stops_computing_but_not_a_result() -> None:
    driver = Driver()
    first, second = lease(1), lease(2)
    driver.reply(first, second)
    driver.to_upload(first)
    driver.fetched(second)
    driver.tell(events.UploadEnded(first.lease))
    expired = [Ended(lease=each.lease, code="expired", reason="late") for each in (first, second)]
    found = driver.reply(ended=expired)
    assert one(found, actions.CancelCompute).lease == second.lease
    assert first.lease in driver.state.works


def test_a_crash_is_tried_again_then_handed_back_with_the_reason() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    driver.fetched(unit)
    driver.tell(events.DeviceLost("cpu", "memory", "killed"))
    assert not driver.state.talk.returned
    driver.tell(events.Ticked(), after=1.0)
    assert one(driver.done, actions.StartDevice)
    driver.tell(events.DeviceReady("cpu", 10_000, "class", 1e9))
    driver.fetched(unit)
    driver.tell(events.DeviceLost("cpu", "memory", "killed"))
    returned = [each for send in driver.of(actions.Send) for each in send.request.returned]
    pending = driver.state.talk.returned
    assert [(each.lease, each.code) for each in [*returned, *pending]][-1] == (unit.lease, "memory")


def test_a_stalled_download_frees_the_device() -> None:
    driver = Driver()
    first, second = lease(1, lab=0), lease(2, lab=1)
    driver.reply(first, second)
    driver.tell(events.Admitted(first.lease, 4, 10))
    driver.tell(events.Arrived(first.lease, 2, 30))
    driver.fetched(second)
    found = driver.tell(events.FetchEnded(first.lease, OFFLINE))
    assert one(found, actions.CancelCompute).lease == first.lease
    assert second.lease in driver.state.devices["cpu"].running


def test_a_unit_that_is_refused_goes_back_with_the_code() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    bad = Failure(Trouble.UNIT, "cost_mismatch", "The graph has other operations.")
    request = one(driver.tell(events.FetchEnded(unit.lease, bad)), actions.Send).request
    assert [(each.lease, each.code) for each in request.returned] == [(unit.lease, "cost_mismatch")]


def test_damaged_uploads_start_afresh_and_end() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    driver.to_upload(unit)
    damaged = Failure(Trouble.DAMAGED, "digest_mismatch", "damaged")
    assert one(driver.tell(events.UploadEnded(unit.lease, damaged)), actions.Upload).afresh
    driver.tell(events.UploadEnded(unit.lease, damaged))
    driver.tell(events.UploadEnded(unit.lease, damaged))
    assert unit.lease not in driver.state.works


def test_stopping_hands_back_at_once_and_ends() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    driver.fetched(unit)
    found = driver.tell(events.StopAsked())
    assert one(found, actions.CancelCompute)
    request = one(found, actions.Send).request
    assert [each.code for each in request.returned] == ["shutting_down"]
    assert one(driver.reply(), actions.Exit).refused == ""


def test_row_45_a_paused_client_gets_no_lease() -> None:
    driver = Driver()
    late = lease(1)
    driver.tell(events.PauseAsked(driver.now + 50))
    request = one(driver.reply(late), actions.Send).request
    assert [(each.lease, each.code) for each in request.returned] == [(late.lease, "paused")]
    assert not request.want
    driver.reply()
    assert not driver.of(actions.Fetch)
    found = driver.tell(events.Ticked(), after=51)
    assert one(found, actions.Send).request.want[0].units == 2


def test_waiting_replaces_polling_and_wakes_at_once() -> None:
    driver = Driver()
    found = driver.reply(wait_url="https://site.example/wait", ticket="t")
    assert one(found, actions.AwaitWork).ticket == "t"
    assert driver.tell(events.Ticked(), after=20) == []
    assert one(driver.tell(events.Waited(failed=False)), actions.Send)


def test_a_wait_that_always_ends_at_once_does_not_spin() -> None:
    driver = Driver()
    started, turns = driver.now, 0
    while driver.now < started + 60 and turns < 1000:
        driver.reply(wait_url="https://site.example/wait", ticket="t", poll_after_ms=1000)
        if driver.state.talk.waiting_since is not None:
            driver.tell(events.Waited(failed=False), after=0.01)
        else:
            pause = max(0.01, min(30.0, driver.scheduler.wake_at - driver.now))
            driver.tell(events.Ticked(), after=pause)
        turns += 1
    assert turns < 240


def test_a_lease_for_a_device_that_is_not_here_goes_back() -> None:
    driver = Driver()
    driver.reply(lease(1, device="gpu0"))
    returned = [each.code for send in driver.of(actions.Send) for each in send.request.returned]
    assert returned == ["client_failed"]


def test_two_devices_are_kept_busy_by_themselves() -> None:
    driver = Driver("cpu", "gpu0")
    wants: list[Want] = [w for send in driver.of(actions.Send) for w in send.request.want]
    assert wants[0].device == "cpu"
    driver.reply(lease(1), lease(2), lease(3, device="gpu0"), lease(4, device="gpu0"))
    for number, device in ((1, "cpu"), (3, "gpu0")):
        driver.fetched(lease(number, device=device))
    assert {each.device for each in driver.of(actions.Compute)} == {"cpu", "gpu0"}


def test_where_no_other_device_counts_the_processor_computes() -> None:
    driver = Driver("gpu0", "gpu1")
    found = driver.tell(events.DeviceRefused("gpu0", "It failed its self-test."))
    assert not [each for each in found if isinstance(each, actions.StartDevice)]
    found = driver.tell(events.DeviceRefused("gpu1", "It is gone."))
    assert one(found, actions.StartDevice).device == "cpu"
    assert any("processor" in each.text for each in driver.of(actions.Notice))
    assert driver.state.devices["gpu0"].refused == "It failed its self-test."
    found = driver.tell(events.DeviceRefused("cpu", "Nothing computes."))
    assert not [each for each in found if isinstance(each, actions.StartDevice)]


def test_every_lease_of_many_is_renewed_in_time() -> None:
    devices = [f"gpu{number}" for number in range(16)]
    driver = Driver(*devices)
    driver.reply(*[lease(number, device=devices[number % 16]) for number in range(1000)])
    named: dict[str, float] = {}
    for _ in range(120):
        driver.done.clear()
        driver.tell(events.Ticked(), after=1.0)
        for send in driver.of(actions.Send):
            named |= {held.lease: driver.now for held in send.request.holding}
            driver.reply()
        assert len(named) == 1000 or driver.now < 125
    assert min(named.values()) > driver.now - 60


def test_a_lease_told_again_is_still_to_be_renewed() -> None:
    driver = Driver()
    unit = lease(1, seconds=60)
    driver.reply(unit)
    work = driver.state.works[unit.lease]
    listed = work.listed_at
    driver.now += 10
    work.renew(msgspec.structs.replace(unit, capability="d.s"))
    assert (work.listed_at, work.lease.capability) == (listed, "d.s")


def test_clients_that_were_told_the_same_come_back_at_different_moments() -> None:
    polls, waits = set(), set()
    for _ in range(20):
        driver = Driver()
        driver.reply(wait_url="https://site/wait", ticket="t", poll_after_ms=10_000)
        polls.add(driver.state.talk.next_poll - driver.now)
        driver.tell(events.Waited(failed=True), after=5)
        waits.add(driver.state.talk.wait_from - driver.now)
    assert len(polls) > 10
    assert len(waits) > 10
    assert min(polls) >= 10
    assert max(polls) <= 12


def waits_in_vain(driver: Driver, seconds: float) -> int:
    """How often the client waits while each wait ends at once and brings nothing."""
    waits, until = 0, driver.now + seconds
    while driver.now < until:
        if driver.state.talk.waiting_since is None:
            driver.tell(events.Ticked(), after=0.05)
        else:
            waits += 1
            driver.tell(events.Waited(failed=False), after=0.05)
            driver.reply(wait_url="https://site/wait", ticket="t", poll_after_ms=60_000)
    return waits


def test_waits_in_vain_become_as_rare_as_polls() -> None:
    driver = Driver()
    driver.reply(wait_url="https://site/wait", ticket="t", poll_after_ms=60_000)
    assert 8 < waits_in_vain(driver, 5) < 18
    assert 25 < waits_in_vain(driver, 60) < 90


def test_some_waits_in_vain_keep_nobody_from_work() -> None:
    """A job of a few short units calls many who find nothing: they must be there for the next."""
    driver = Driver()
    driver.reply(wait_url="https://site/wait", ticket="t", poll_after_ms=60_000)
    assert waits_in_vain(driver, 0.4) > 5
    assert driver.state.talk.wait_from <= driver.now


def test_messages_survive_the_wire() -> None:
    driver = Driver()
    request = driver.of(actions.Send)[0].request
    assert msgspec.json.decode(msgspec.json.encode(request), type=ExchangeRequest) == request


def test_without_the_waiting_address_polls_become_rare() -> None:
    driver = Driver()
    started = driver.now
    while driver.now < started + 600:
        if driver.state.talk.sent_at is not None:
            driver.reply(wait_url="https://site.example/wait", ticket="t", poll_after_ms=1000)
        elif driver.state.talk.waiting_since is not None:
            driver.tell(events.Waited(failed=True))
        else:
            pause = driver.scheduler.wake_at - driver.now
            driver.tell(events.Ticked(), after=max(0.0, min(60.0, pause)))
    assert 10 <= len(driver.of(actions.Send)) <= 50


def test_a_lab_that_moved_is_told_again() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    driver.to_upload(unit)
    for _ in range(3):
        driver.tell(events.UploadEnded(unit.lease, OFFLINE))
        driver.tell(events.Ticked(), after=10)
    driver.reply()
    driver.tell(events.UploadEnded(unit.lease, OFFLINE))
    driver.tell(events.Ticked(), after=30)
    assert not driver.of(actions.Send)[-1].request.holding
    moved = msgspec.structs.replace(
        unit, lab=LabAddress(lab=LABS[0], endpoint="https://elsewhere.example")
    )
    driver.reply(again=[moved])
    driver.tell(events.UploadEnded(unit.lease, OFFLINE))
    driver.tell(events.Ticked(), after=60)
    assert driver.of(actions.Upload)[-1].result.lease.lab.endpoint.startswith("https://elsewhere")


def test_results_without_verdicts_do_not_fill_the_disk() -> None:
    driver = Driver()
    unit = lease(1)
    driver.reply(unit)
    driver.fetched(unit)
    huge = result(unit)
    huge.sizes = [17 * 1024**3]
    driver.tell(events.Computed("cpu", huge))
    driver.tell(events.UploadEnded(unit.lease))
    assert not driver.of(actions.Send)[-1].request.want
