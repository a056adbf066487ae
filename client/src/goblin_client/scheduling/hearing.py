"""What each event changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from goblin_client.errors import CLIENT_FAILED
from goblin_client.scheduling import actions, events
from goblin_client.scheduling.conversation import MESSAGE_FAULTS, REFUSALS, REMOVED
from goblin_client.scheduling.events import Event, Failure, Trouble
from goblin_client.scheduling.state import NEVER, State
from goblin_client.scheduling.work import Device, Work
from goblin_wire.exchange import ExchangeReply, ExchangeRequest, Lease
from goblin_wire.fields import sentence
from goblin_wire.states import WorkState

INPUT_MISSING = "input_missing"
"""An input that was there is gone from the cache: it is fetched again."""
MAX_CRASHES = 2
MAX_FETCH_FAILURES = 6
MAX_UPLOAD_FAILURES = 3
MAX_DAMAGES = 3
CAPABILITY_PAUSE_S = 60.0
STOPPING = ("shutting_down", "The client is shutting down.")
PAUSED = ("paused", "The volunteer paused the client.")


def hear(state: State, event: Event) -> None:
    """Take one event into the state."""
    HANDLERS[type(event)](state, event)


# --- the site ------------------------------------------------------------------------------------
def replied(state: State, event: events.Replied) -> None:
    request = state.talk.answered(event.reply, state.now)
    if request is None:
        return
    state.site.succeeded()
    state.trouble = ""
    _note(state, event.reply.notice)
    _note_reports(state, request, event.reply)
    for settled in event.reply.settled:
        state.forget(settled.lease, settled.verdict, settled.code, settled.reason, settled.flops)
    for ended in event.reply.ended:
        _end(state, ended.lease, ended.code, ended.reason)
    for lease in (*event.reply.leases, *event.reply.again):
        _take(state, lease)


def _note(state: State, text: str) -> None:
    if text and text != state.notice:
        state.do(actions.Notice(text))
    state.notice = text


def _note_reports(state: State, request: ExchangeRequest, reply: ExchangeReply) -> None:
    for done in request.done:
        if work := state.works.get(done.lease):
            work.told_at = state.now
    for unknown in reply.unknown:
        if (work := state.works.get(unknown.lease)) and not work.unknown:
            work.unknown, work.told_at = True, None


def _end(state: State, lease: str, code: str, reason: str) -> None:
    work = state.works.get(lease)
    # What is computed still counts after the lease has run out.
    if work is not None and not (work.result is not None and code == "expired"):
        state.forget(lease, "ended", code, reason)


def _take(state: State, lease: Lease) -> None:
    if known := state.works.get(lease.lease):
        known.renew(lease)
        return
    if any(each.lease == lease.lease for each in state.talk.returned):
        return
    work = state.add(lease)
    if state.stopping_since is not None:
        state.hand_back(work, *STOPPING)
    elif state.paused_until is not None:
        state.hand_back(work, *PAUSED)
    elif lease.device not in state.devices or state.devices[lease.device].refused:
        state.hand_back(work, CLIENT_FAILED, f"The device {lease.device} is not in use.")


def not_replied(state: State, event: events.NotReplied) -> None:
    state.trouble = event.detail
    if event.code in REFUSALS:
        state.over = True
        state.do(actions.Exit(refused=event.detail, removed=event.code == REMOVED))
    elif event.code == "copied_host":
        state.talk.lose_name()
        state.do(actions.TakeNewHost())
    else:
        state.site.failed(state.now, event.retry_after)
        (state.talk.drop if event.code in MESSAGE_FAULTS else state.talk.unanswered)()


def waited(state: State, event: events.Waited) -> None:
    state.talk.waited(event.failed, state.now)


# --- transfers -----------------------------------------------------------------------------------
def admitted(state: State, event: events.Admitted) -> None:
    if work := state.works.get(event.lease):
        work.blobs, work.input_moved = event.blobs, event.bytes


def arrived(state: State, event: events.Arrived) -> None:
    work = state.works.get(event.lease)
    if work is None:
        return
    work.arrived, work.input_moved = event.blobs, event.bytes
    if work.state is WorkState.COMPUTING:
        state.do(actions.Feed(work.lease.device, work.id, work.arrived))


def fetch_ended(state: State, event: events.FetchEnded) -> None:
    lab = _free(state.fetching, event.lease)
    work = state.works.get(event.lease)
    if event.failure is None:
        state.lab(lab).succeeded()
        if work is not None:
            work.fetched, work.arrived, work.fetch_failures = True, work.blobs, 0
            if work.state is WorkState.FETCHING:
                work.state = WorkState.READY
    elif work is not None:
        _fetch_failed(state, work, event.failure)


def _fetch_failed(state: State, work: Work, failure: Failure) -> None:
    work.fetch_failures += 1
    if failure.trouble is Trouble.ENDPOINT:
        state.lab(work.lab).failed(state.now, failure.retry_after)
    if failure.trouble in (Trouble.UNIT, Trouble.CAPABILITY, Trouble.ENDED):
        state.hand_back(work, failure.code, failure.detail)
    elif failure.trouble is Trouble.DAMAGED and work.fetch_failures >= MAX_DAMAGES:
        state.hand_back(work, "digest_mismatch", failure.detail)
    elif work.fetch_failures >= MAX_FETCH_FAILURES:
        state.hand_back(work, "lab_unreachable", failure.detail)
    else:
        # The device is free for others meanwhile.
        state.stop_computing(work)
        work.begin_again()


def upload_moved(state: State, event: events.UploadMoved) -> None:
    if work := state.works.get(event.lease):
        work.output_moved = event.bytes


def upload_ended(state: State, event: events.UploadEnded) -> None:
    lab = _free(state.uploading, event.lease)
    work = state.works.get(event.lease)
    if event.failure is None:
        state.lab(lab).succeeded()
        if work is not None and work.result is not None:
            work.state = WorkState.REPORTED
            state.do(actions.Keep(work.result, uploaded=True))
    elif work is not None:
        _upload_failed(state, work, event.failure)


def _upload_failed(state: State, work: Work, failure: Failure) -> None:
    if failure.trouble is Trouble.DAMAGED:
        work.damages, work.afresh = work.damages + 1, True
        if work.damages >= MAX_DAMAGES:
            state.hand_back(work, CLIENT_FAILED, failure.detail)
    elif failure.trouble in (Trouble.UNIT, Trouble.ENDED):
        state.hand_back(work, failure.code, failure.detail)
    elif failure.trouble is Trouble.CAPABILITY:
        work.unlisted = True
        state.lab(work.lab).failed(state.now, CAPABILITY_PAUSE_S)
    else:
        work.upload_failures += 1
        # The lab may have moved; what is left out of `holding` is told again with its address.
        work.unlisted = work.upload_failures >= MAX_UPLOAD_FAILURES
        state.lab(work.lab).failed(state.now, failure.retry_after)


def _free(busy: dict[str, str], lease: str) -> str:
    """Mark the lab free whose transfer of this lease has ended; returns the lab."""
    lab = next((lab for lab, held in busy.items() if held == lease), "")
    busy.pop(lab, None)
    return lab


# --- devices -------------------------------------------------------------------------------------
def device_ready(state: State, event: events.DeviceReady) -> None:
    device = state.devices[event.device]
    device.ready, device.refused, device.restart_at = True, "", None
    device.memory, device.device_class = event.memory, sentence(event.device_class, 200)
    device.flops_per_s = event.flops_per_s


def device_refused(state: State, event: events.DeviceRefused) -> None:
    device = state.devices[event.device]
    device.ready, device.refused = False, event.detail
    state.do(actions.Notice(f"{device.name} is not used: {event.detail}"))
    state.requeue(device)
    state.hand_back_all(state.queue(device.name), CLIENT_FAILED, event.detail)
    if "cpu" not in state.devices and all(each.refused for each in state.devices.values()):
        state.devices["cpu"] = Device("cpu")
        state.do(actions.StartDevice("cpu"))
        state.do(actions.Notice("No other device counts, so the processor computes."))


def device_lost(state: State, event: events.DeviceLost) -> None:
    device = state.devices[event.device]
    guilty = state.works.get(device.running[0]) if device.running else None
    state.requeue(device)
    blameless = event.code == "cancelled"
    device.ready = False
    device.restart_at = state.now if blameless else state.now + device.backoff.failed()
    if guilty is None or blameless:
        return
    guilty.crashes += 1
    if guilty.crashes >= MAX_CRASHES:
        state.hand_back(guilty, event.code, event.detail)


def progressed(state: State, event: events.Progressed) -> None:
    if work := state.works.get(event.lease):
        work.share = event.share


def computed(state: State, event: events.Computed) -> None:
    device = state.devices[event.device]
    device.backoff.succeeded()
    device.took(event.result.seconds)
    lease = event.result.lease.lease
    if lease in device.running:
        device.running.remove(lease)
    work = state.works.get(lease)
    if work is not None and work.is_queued:
        work.finish(event.result)
        state.do(actions.Keep(event.result, uploaded=False))


def compute_failed(state: State, event: events.ComputeFailed) -> None:
    device = state.devices[event.device]
    if event.lease in device.running:
        device.running.remove(event.lease)
    work = state.works.get(event.lease)
    if work is None:
        return
    work.crashes += 1
    if event.code == INPUT_MISSING and work.crashes < MAX_CRASHES:
        work.begin_again()
    else:
        code = CLIENT_FAILED if event.code == INPUT_MISSING else event.code
        state.hand_back(work, code, event.detail)


# --- the person ----------------------------------------------------------------------------------
def pause_asked(state: State, event: events.PauseAsked) -> None:
    state.paused_until = NEVER if event.until is None else event.until
    state.hand_back_all(state.unfinished(), *PAUSED)


def resume_asked(state: State, _event: events.ResumeAsked) -> None:
    state.paused_until = None
    state.talk.dry = False


def stop_asked(state: State, _event: events.StopAsked) -> None:
    state.stopping_since = state.now
    state.hand_back_all(state.unfinished(), *STOPPING)


def ticked(_state: State, _event: events.Ticked) -> None:
    pass


HANDLERS: dict[type[Any], Callable[[State, Any], None]] = {
    events.Replied: replied,
    events.NotReplied: not_replied,
    events.Waited: waited,
    events.Admitted: admitted,
    events.Arrived: arrived,
    events.FetchEnded: fetch_ended,
    events.UploadMoved: upload_moved,
    events.UploadEnded: upload_ended,
    events.DeviceReady: device_ready,
    events.DeviceRefused: device_refused,
    events.DeviceLost: device_lost,
    events.Progressed: progressed,
    events.Computed: computed,
    events.ComputeFailed: compute_failed,
    events.PauseAsked: pause_asked,
    events.ResumeAsked: resume_asked,
    events.StopAsked: stop_asked,
    events.Ticked: ticked,
}
