"""When the client speaks to the site, and what it says: reports and wishes in one message."""

from __future__ import annotations

from goblin_client.scheduling import actions
from goblin_client.scheduling.state import NEVER, State
from goblin_client.scheduling.work import Device, Work
from goblin_wire.exchange import Done, Want
from goblin_wire.protocol import MAX_HOLDING
from goblin_wire.states import Activity, WorkState
from opgraph.catalogue import CATALOGUE_VERSION

AHEAD = 2
"""Units that a device has: one in work, one fetched ahead."""
MOST_AHEAD = 64
"""The most that it has when units are shorter than a round trip to the site."""
ASK_SECONDS = 600.0
LONGEST_SILENCE_S = 60.0
"""So often a machine that computes speaks at least: until then it does not hear that it was
removed or that a lease has ended."""
PAUSED_SILENCE_S = 300.0
"""The same for one that is paused."""
LONGEST_PAUSE_TOLD_S = 1e9
RETELL_S = 600.0
"""A report without a verdict is repeated after this long."""
MAX_KEPT_BYTES = 16 * 1024**3
"""With more results than this without a verdict, no new unit is asked for."""
PATIENCE = 0.5
"""For this share of a unit's time a wish for work waits for a report to ride along with."""
MAX_PATIENCE_S = 2.0


def converse(state: State) -> None:
    """Send the next message if there is one to send; one is under way at a time."""
    talk = state.talk
    if talk.sent_at is not None or not talk.host:
        return
    if not state.site.is_open(state.now):
        state.wake_by(state.site.ready_at)
    elif talk.pending is not None:
        state.do(actions.Send(talk.repeat(state.now)))
    else:
        wants = _wants(state)
        if _must_speak(state, wants):
            _speak(state, wants)


def _speak(state: State, wants: list[Want]) -> None:
    works = state.works.values()
    held = [work for work in works if work.state is not WorkState.REPORTED and not work.unlisted]
    done = [_done(work) for work in works if _is_untold(state, work)]
    listed = sorted(held, key=lambda work: work.listed_at)[:MAX_HOLDING]
    for work in listed:
        work.listed_at = state.now
    for device in state.devices.values():
        device.short_since = None
    holding = [work.holding() for work in listed]
    message = state.talk.compose(
        holding,
        done,
        wants,
        state.now,
        activity=_activity(state),
        resumes_s=_resumes_s(state),
    )
    state.do(actions.Send(message))


def _activity(state: State) -> Activity:
    if state.stopping_since is not None:
        return Activity.STOPPING
    return Activity.RUNNING if state.paused_until is None else Activity.PAUSED


def _resumes_s(state: State) -> float:
    """Until a paused client goes on by itself; 0 where the person has to say so."""
    if state.paused_until is None or state.paused_until == NEVER:
        return 0.0
    return min(LONGEST_PAUSE_TOLD_S, max(1.0, state.paused_until - state.now))


def _done(work: Work) -> Done:
    result = work.result
    assert result is not None  # noqa: S101 - only finished units are reported
    return Done(
        lease=work.id,
        outputs=result.digests,
        bytes=sum(result.sizes),
        seconds=result.seconds,
        capability=work.lease.capability if work.unknown else None,
    )


def _must_speak(state: State, wants: list[Want]) -> bool:
    if state.talk.returned or state.talk.woken:
        return True
    if [work for work in state.works.values() if _is_untold(state, work)]:
        return True
    if _is_other_than_told(state):
        return True
    if state.stopping_since is not None:
        return False
    # Each of these also says when it will be due, so all are asked.
    return any(
        [
            _is_short(state, wants),
            _is_renewal_due(state),
            _is_pause_to_be_told_again(state),
            _is_poll_due(state, wants),
        ]
    )


def _is_untold(state: State, work: Work) -> bool:
    if work.state is not WorkState.REPORTED:
        return False
    if work.told_at is None or state.now >= work.told_at + RETELL_S:
        return True
    state.wake_by(work.told_at + RETELL_S)
    return False


def _is_short(state: State, wants: list[Want]) -> bool:
    """Whether to ask for work: at once for an idle device, else soon."""
    if state.talk.dry:
        return False
    for want in wants:
        device = state.devices[want.device]
        if not state.queue(device.name):
            return True
        if device.short_since is None:
            device.short_since = state.now
        due = device.short_since + _patience(state, device)
        if state.now >= due:
            return True
        state.wake_by(due)
    return False


def _patience(state: State, device: Device) -> float:
    if not state.any_in(WorkState.UPLOADING):
        return 0.0
    return min(MAX_PATIENCE_S, PATIENCE * (device.unit_seconds or 0.0))


def _is_renewal_due(state: State) -> bool:
    due = min(
        (
            work.listed_at + min(LONGEST_SILENCE_S, work.lease.seconds / 3)
            for work in state.works.values()
            if work.state is not WorkState.REPORTED and not work.unlisted
        ),
        default=NEVER,
    )
    state.wake_by(due)
    return state.now >= due


def _is_other_than_told(state: State) -> bool:
    """Whether we do something else than the site knows; nobody says goodbye without a hello."""
    told, doing = state.talk.told, _activity(state)
    return told is not doing and (told is not None or doing is Activity.PAUSED)


def _is_pause_to_be_told_again(state: State) -> bool:
    if state.paused_until is None:
        return False
    due = state.talk.spoken_at + PAUSED_SILENCE_S
    state.wake_by(due)
    return state.now >= due


def _is_poll_due(state: State, wants: list[Want]) -> bool:
    talk = state.talk
    curious = bool(wants) or any(
        work.state is WorkState.REPORTED or work.unlisted for work in state.works.values()
    )
    if not curious or talk.waiting_since is not None or talk.can_wait(state.now):
        return False
    state.wake_by(talk.next_poll)
    return state.now >= talk.next_poll


def await_work(state: State) -> None:
    """Wait at the site for work or verdicts while there is nothing else to say."""
    talk = state.talk
    if state.stopping_since is not None or not state.site.is_open(state.now):
        return
    if not talk.can_wait(state.now):
        if talk.wait_from > state.now:
            state.wake_by(talk.wait_from)
        return
    idle = not any(device.running for device in state.devices.values())
    if (talk.dry and _wants(state)) or (idle and state.any_in(WorkState.REPORTED)):
        state.do(actions.AwaitWork(*talk.begin_wait(state.now)))


def _wants(state: State) -> list[Want]:
    if state.stopping_since is not None or state.paused_until is not None:
        return []
    if state.kept_bytes > MAX_KEPT_BYTES:
        return []
    wants = [_want(state, device) for device in state.devices.values() if device.ready]
    return [want for want in wants if want.units > 0]


def _want(state: State, device: Device) -> Want:
    wished, queue = _wished(state, device), state.queue(device.name)
    blocked = sum(1 for work in queue if not work.fetched and work.fetch_failures)
    return Want(
        device=device.name,
        # What waits for a lab that does not answer is made up for, but not without end.
        units=max(0, min(wished - len(queue) + blocked, 2 * wished - len(queue))),
        seconds=ASK_SECONDS,
        memory=device.memory,
        catalogue=CATALOGUE_VERSION,
        device_class=device.device_class,
        flops_per_s=device.flops_per_s,
    )


def _wished(state: State, device: Device) -> int:
    """So many that the device does not idle during the round trips of fetch and report."""
    if not device.unit_seconds:
        return AHEAD
    during = 2 * state.talk.round_trip / device.unit_seconds
    return max(AHEAD, min(MOST_AHEAD, int(during) + 1))
