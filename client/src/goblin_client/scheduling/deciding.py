"""What is to be done now: devices, downloads, uploads, the end."""

from __future__ import annotations

from goblin_client.scheduling import actions
from goblin_client.scheduling.events import ResumeAsked
from goblin_client.scheduling.hearing import resume_asked
from goblin_client.scheduling.speaking import AHEAD, await_work, converse
from goblin_client.scheduling.state import NEVER, State
from goblin_client.scheduling.work import Device, Work
from goblin_wire.states import WorkState

FETCH_AHEAD_BYTES = 256 * 1024 * 1024
"""Units beyond the first two are fetched while the inputs before them stay below this."""
KEEP_S = 9 * 24 * 3600.0
"""A result that nobody settled is dropped then: no capability lives longer."""
STOP_GRACE_S = 2.5
"""How long a stopping client goes on with uploads."""


def decide(state: State) -> None:
    """Put everything that can be done now on `state.todo`, and the next time on `state.wake`."""
    state.wake = NEVER
    _resume_in_time(state)
    _drop_stale(state)
    if state.stopping_since is None:
        _start_devices(state)
        for device in state.devices.values():
            _fetch(state, device)
            if device.ready:
                _assign(state, device)
    _upload(state)
    converse(state)
    await_work(state)
    _exit_when_done(state)


def _resume_in_time(state: State) -> None:
    if state.paused_until is None:
        return
    if state.now >= state.paused_until:
        resume_asked(state, ResumeAsked())
    else:
        state.wake_by(state.paused_until)


def _drop_stale(state: State) -> None:
    for work in [each for each in state.works.values() if state.now - each.since > KEEP_S]:
        state.forget(work.id, "lapsed", "too_old", "Nobody asked for it any more.")


def _start_devices(state: State) -> None:
    for device in state.devices.values():
        if device.restart_at is None:
            continue
        if state.now >= device.restart_at:
            device.restart_at = None
            state.do(actions.StartDevice(device.name))
        else:
            state.wake_by(device.restart_at)


def _assign(state: State, device: Device) -> None:
    for work in state.queue(device.name):
        if len(device.running) >= AHEAD:
            return
        if work.state is WorkState.COMPUTING:
            continue
        # A busy device gets only what it will not have to wait for.
        if work.state is WorkState.READY or (not device.running and work.can_begin):
            work.state = WorkState.COMPUTING
            device.running.append(work.id)
            state.do(actions.Compute(device.name, work.lease, work.arrived))


def _fetch(state: State, device: Device) -> None:
    ahead = 0
    for place, work in enumerate(state.queue(device.name)):
        if place >= AHEAD and ahead > FETCH_AHEAD_BYTES:
            return
        ahead += work.lease.input_bytes
        _fetch_one(state, device, work)


def _fetch_one(state: State, device: Device, work: Work) -> None:
    lab = state.lab(work.lab)
    if work.fetched or work.lab in state.fetching or not device.memory:
        return
    if not lab.is_open(state.now):
        state.wake_by(lab.ready_at)
        return
    if work.state is WorkState.LEASED:
        work.state = WorkState.FETCHING
    state.fetching[work.lab] = work.id
    state.do(actions.Fetch(work.lease, device.memory))


def _upload(state: State) -> None:
    for work in state.works.values():
        if work.state is not WorkState.UPLOADING or work.lab in state.uploading:
            continue
        lab = state.lab(work.lab)
        if not lab.is_open(state.now):
            state.wake_by(lab.ready_at)
        elif work.result is not None:
            state.uploading[work.lab] = work.id
            state.do(actions.Upload(work.result, work.afresh))
            work.afresh = False


def _exit_when_done(state: State) -> None:
    if state.stopping_since is None or state.over:
        return
    until = state.stopping_since + STOP_GRACE_S
    sending = state.any_in(WorkState.UPLOADING) and state.now < until
    if state.talk.pending is None and not state.talk.returned and not sending:
        state.over = True
        state.do(actions.Exit())
    elif sending:
        state.wake_by(until)
