"""The scheduler: it hears events and answers with actions. It has no clock, socket or disk."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable

from goblin_client.scheduling import actions, events
from goblin_client.scheduling.actions import Action
from goblin_client.scheduling.conversation import MESSAGE_FAULTS, REFUSALS, Conversation
from goblin_client.scheduling.events import Event, Failure, Trouble
from goblin_client.scheduling.work import Device, Endpoint, Work
from goblin_client.store import KeptResult
from goblin_wire.exchange import Done, Lease, Returned, Want
from goblin_wire.fields import sentence
from goblin_wire.states import WorkState
from opgraph.catalogue import CATALOGUE_VERSION

AHEAD = 2
"""Units that a device has: one in work, one fetched ahead."""
MOST_AHEAD = 64
"""The most that it has when units are shorter than a few round trips to the site."""
ASK_SECONDS = 600.0
FETCH_AHEAD_BYTES = 256 * 1024 * 1024
"""Units beyond the first two are fetched while the inputs before them stay below this."""
MAX_CRASHES = 2
MAX_FETCH_FAILURES = 6
MAX_DAMAGES = 3
RETELL_S = 600.0
"""A report without a verdict is repeated after this long."""
KEEP_S = 9 * 24 * 3600.0
"""A result that nobody settled is dropped then: no capability lives longer."""
CAPABILITY_PAUSE_S = 60.0
STOP_GRACE_S = 2.5
"""How long a stopping client goes on with uploads."""
NEVER = float("inf")


class Scheduler:
    """State of one host. `handle` takes an event and the time and returns what is to be done."""

    def __init__(
        self,
        host: str,
        seq: int,
        devices: Iterable[str],
        *,
        nonce: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        self.talk = Conversation(host, seq, nonce)
        self.devices = {name: Device(name) for name in devices}
        self.works: dict[str, Work] = {}
        self.site = Endpoint()
        self.labs: dict[str, Endpoint] = {}
        self.fetching: dict[str, str] = {}
        """Lab -> the lease that is being fetched from it."""
        self.uploading: dict[str, str] = {}
        self.paused_until: float | None = None
        self.stopping_since: float | None = None
        self.notice = ""
        self.trouble = ""
        """Why the site does not answer, if it doesn't."""
        self.over = False
        self._orders = 0
        self._todo: list[Action] = []
        self._wake = NEVER

    # --- in and out ------------------------------------------------------------------------------
    def restore(self, result: KeptResult, *, uploaded: bool, since: float, now: float) -> None:
        """Go on with a result of an earlier process."""
        work = self._add(result.lease, now)
        work.since, work.result, work.fetched = since, result, True
        work.state = WorkState.REPORTED if uploaded else WorkState.UPLOADING

    def renamed(self, host: str) -> None:
        """We are another host from now on; its leases go on under the new id."""
        self.talk.rename(host)
        for work in self.works.values():
            work.told_at = None

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take one event at time `now` (seconds); the actions are to be done in order."""
        self._todo = []
        if not self.over:
            getattr(self, f"_{type(event).__name__}")(event, now)
            self._decide(now)
        return self._todo

    @property
    def wake_at(self) -> float:
        """When `Ticked` is due at the latest."""
        return self._wake

    def is_held(self, lease: str) -> bool:
        return lease in self.works

    # --- the site --------------------------------------------------------------------------------
    def _Replied(self, event: events.Replied, now: float) -> None:
        reply = event.reply
        request = self.talk.answered(reply, now)
        if request is None:
            return
        self.site.succeeded()
        self.trouble = ""
        self._note(reply.notice)
        for done in request.done:
            if work := self.works.get(done.lease):
                work.told_at = now
        for unknown in reply.unknown:
            if (work := self.works.get(unknown.lease)) and not work.unknown:
                work.unknown, work.told_at = True, None
        for settled in reply.settled:
            self._forget(
                settled.lease, settled.verdict, settled.code, settled.reason, settled.flops
            )
        for ended in reply.ended:
            self._end(ended.lease, ended.code, ended.reason)
        for lease in (*reply.leases, *reply.again):
            self._take(lease, now)

    def _NotReplied(self, event: events.NotReplied, now: float) -> None:
        self.trouble = event.detail
        if event.code in REFUSALS:
            self.over = True
            self._todo.append(actions.Exit(refused=event.detail))
        elif event.code == "copied_host":
            self.talk.drop()
            self._todo.append(actions.TakeNewHost())
        else:
            self.site.failed(now, event.retry_after)
            (self.talk.drop if event.code in MESSAGE_FAULTS else self.talk.unanswered)()

    def _Waited(self, event: events.Waited, now: float) -> None:
        self.talk.waited(event.failed, now)

    def _note(self, text: str) -> None:
        if text and text != self.notice:
            self._todo.append(actions.Notice(text))
        self.notice = text

    def _take(self, lease: Lease, now: float) -> None:
        if known := self.works.get(lease.lease):
            known.lease, known.listed_at, known.unlisted = lease, now, False
            if known.result is not None:
                known.result.lease = lease
            return
        work = self._add(lease, now)
        if self.stopping_since is not None:
            self._return(work, "shutting_down", "The client is shutting down.")
        elif self.paused_until is not None:
            self._return(work, "paused", "The volunteer paused the client.")
        elif lease.device not in self.devices or self.devices[lease.device].refused:
            self._return(work, "failed", f"The device {lease.device} is not in use.")

    def _add(self, lease: Lease, now: float) -> Work:
        self._orders += 1
        work = Work(lease, self._orders, since=now, listed_at=now)
        self.works[work.id] = work
        return work

    def _return(self, work: Work, code: str, detail: str) -> None:
        """Hand the lease back."""
        self._drop(work)
        self.talk.returned.append(Returned(lease=work.id, code=code, detail=sentence(detail)))
        if code not in ("shutting_down", "paused"):
            self._todo.append(self._forgetting(work.id, work.lab, "returned", code, detail, 0))

    def _end(self, lease: str, code: str, reason: str) -> None:
        work = self.works.get(lease)
        # What is computed still counts after the lease has run out.
        if work is not None and not (work.result is not None and code == "expired"):
            self._forget(lease, "ended", code, reason, 0)

    def _forget(self, lease: str, verdict: str, code: str, reason: str, flops: int) -> None:
        if work := self.works.get(lease):
            self._drop(work)
            self._todo.append(self._forgetting(lease, work.lab, verdict, code, reason, flops))

    def _forgetting(
        self, lease: str, lab: str, verdict: str, code: str, reason: str, flops: int
    ) -> actions.Forget:
        return actions.Forget(lease, lab, verdict, code, reason, flops)

    def _drop(self, work: Work) -> None:
        self._stop_computing(work)
        self.works.pop(work.id, None)

    # --- transfers -------------------------------------------------------------------------------
    def _Admitted(self, event: events.Admitted, now: float) -> None:
        if work := self.works.get(event.lease):
            work.blobs = event.blobs
            work.input_moved = event.bytes

    def _Arrived(self, event: events.Arrived, now: float) -> None:
        work = self.works.get(event.lease)
        if work is None:
            return
        work.arrived = max(work.arrived, event.blobs)
        work.input_moved = max(work.input_moved, event.bytes)
        if work.state is WorkState.COMPUTING:
            self._todo.append(actions.Feed(work.lease.device, work.id, work.arrived))

    def _FetchEnded(self, event: events.FetchEnded, now: float) -> None:
        lab = _free(self.fetching, event.lease)
        work = self.works.get(event.lease)
        if event.failure is None:
            self._lab(lab).succeeded()
            if work is not None:
                work.fetched, work.arrived = True, max(work.arrived, work.blobs)
                if work.state is WorkState.FETCHING:
                    work.state = WorkState.READY
        elif work is not None:
            self._fetch_failed(work, event.failure, now)

    def _fetch_failed(self, work: Work, failure: Failure, now: float) -> None:
        work.fetch_failures += 1
        worn_out = work.fetch_failures >= MAX_FETCH_FAILURES
        if failure.trouble in (Trouble.UNIT, Trouble.CAPABILITY, Trouble.ENDED):
            self._return(work, failure.code, failure.detail)
        elif failure.trouble is Trouble.DAMAGED and work.fetch_failures >= MAX_DAMAGES:
            self._return(work, "digest_mismatch", failure.detail)
        elif worn_out:
            self._return(work, "lab_unreachable", failure.detail)
        else:
            self._stop_computing(work)
            work.state = WorkState.FETCHING
        if failure.trouble is Trouble.ENDPOINT:
            self._lab(work.lab).failed(now, failure.retry_after)

    def _UploadMoved(self, event: events.UploadMoved, now: float) -> None:
        if work := self.works.get(event.lease):
            work.output_moved = event.bytes

    def _UploadEnded(self, event: events.UploadEnded, now: float) -> None:
        lab = _free(self.uploading, event.lease)
        work = self.works.get(event.lease)
        if event.failure is None:
            self._lab(lab).succeeded()
            if work is not None and work.result is not None:
                work.state = WorkState.REPORTED
                self._todo.append(actions.Keep(work.result, uploaded=True))
        elif work is not None:
            self._upload_failed(work, event.failure, now)

    def _upload_failed(self, work: Work, failure: Failure, now: float) -> None:
        trouble = failure.trouble
        if trouble is Trouble.DAMAGED:
            work.damages, work.afresh = work.damages + 1, True
            if work.damages >= MAX_DAMAGES:
                self._return(work, "digest_mismatch", failure.detail)
        elif trouble in (Trouble.UNIT, Trouble.ENDED):
            self._return(work, failure.code, failure.detail)
        elif trouble is Trouble.CAPABILITY:
            work.unlisted = True
            self._lab(work.lab).failed(now, CAPABILITY_PAUSE_S)
        else:
            self._lab(work.lab).failed(now, failure.retry_after)

    def _lab(self, lab: str) -> Endpoint:
        return self.labs.setdefault(lab, Endpoint())

    # --- devices ---------------------------------------------------------------------------------
    def _DeviceReady(self, event: events.DeviceReady, now: float) -> None:
        device = self.devices[event.device]
        device.ready, device.refused, device.restart_at = True, "", None
        device.memory, device.device_class = event.memory, event.device_class
        device.flops_per_s = event.flops_per_s

    def _DeviceRefused(self, event: events.DeviceRefused, now: float) -> None:
        self.devices[event.device].refused = event.detail
        self._requeue(event.device)
        for work in self._queue(event.device):
            self._return(work, "failed", event.detail)

    def _DeviceLost(self, event: events.DeviceLost, now: float) -> None:
        device = self.devices[event.device]
        guilty = self.works.get(device.running[0]) if device.running else None
        self._requeue(event.device)
        blameless = event.code == "cancelled"
        device.ready = False
        device.restart_at = now if blameless else now + device.backoff.failed()
        if guilty is None or blameless:
            return
        guilty.crashes += 1
        if guilty.crashes >= MAX_CRASHES:
            self._return(guilty, event.code, event.detail)

    def _requeue(self, name: str) -> None:
        """What the device's process was given has to be given again."""
        device = self.devices[name]
        for lease in device.running:
            if work := self.works.get(lease):
                # Inputs that it had used already may be gone from the cache.
                work.state, work.fetched, work.arrived = WorkState.FETCHING, False, 0
                work.share = 0.0
        device.running = []

    def _stop_computing(self, work: Work) -> None:
        device = self.devices.get(work.lease.device)
        if device is not None and work.id in device.running:
            device.running.remove(work.id)
            self._todo.append(actions.CancelCompute(device.name, work.id))

    def _Progressed(self, event: events.Progressed, now: float) -> None:
        if work := self.works.get(event.lease):
            work.share = event.share

    def _Computed(self, event: events.Computed, now: float) -> None:
        device = self.devices[event.device]
        device.backoff.succeeded()
        device.took(event.result.seconds)
        lease = event.result.lease.lease
        if lease in device.running:
            device.running.remove(lease)
        work = self.works.get(lease)
        if work is not None and work.is_queued:
            event.result.lease = work.lease
            work.result, work.state, work.fetched = event.result, WorkState.UPLOADING, True
            self._todo.append(actions.Keep(work.result, uploaded=False))

    def _ComputeFailed(self, event: events.ComputeFailed, now: float) -> None:
        device = self.devices[event.device]
        if event.lease in device.running:
            device.running.remove(event.lease)
        if work := self.works.get(event.lease):
            self._return(work, event.code, event.detail)

    # --- the person ------------------------------------------------------------------------------
    def _PauseAsked(self, event: events.PauseAsked, now: float) -> None:
        self.paused_until = NEVER if event.until is None else event.until
        for work in self._unfinished():
            self._return(work, "paused", "The volunteer paused the client.")

    def _ResumeAsked(self, event: events.ResumeAsked, now: float) -> None:
        self.paused_until = None
        self.talk.dry = False

    def _StopAsked(self, event: events.StopAsked, now: float) -> None:
        self.stopping_since = now
        for work in self._unfinished():
            self._return(work, "shutting_down", "The client is shutting down.")

    def _Ticked(self, event: events.Ticked, now: float) -> None:
        pass

    def _unfinished(self) -> list[Work]:
        return [work for work in self.works.values() if work.is_queued]

    # --- what to do now --------------------------------------------------------------------------
    def _decide(self, now: float) -> None:
        self._wake = NEVER
        self._resume_in_time(now)
        self._drop_stale(now)
        self._start_devices(now)
        self._assign()
        self._fetch(now)
        self._upload(now)
        self._converse(now)
        self._await_work(now)
        self._exit_when_done(now)

    def _wake_by(self, when: float) -> None:
        self._wake = min(self._wake, when)

    def _resume_in_time(self, now: float) -> None:
        if self.paused_until is None:
            return
        if now >= self.paused_until:
            self._ResumeAsked(events.ResumeAsked(), now)
        else:
            self._wake_by(self.paused_until)

    def _drop_stale(self, now: float) -> None:
        for work in [each for each in self.works.values() if now - each.since > KEEP_S]:
            self._forget(work.id, "lapsed", "too_old", "Nobody asked for it any more.", 0)

    def _start_devices(self, now: float) -> None:
        if self.stopping_since is not None:
            return
        for device in self.devices.values():
            if device.restart_at is None:
                continue
            if now >= device.restart_at:
                device.restart_at = None
                self._todo.append(actions.StartDevice(device.name))
            else:
                self._wake_by(device.restart_at)

    def _queue(self, device: str) -> list[Work]:
        """The units that the device has yet to finish, oldest first."""
        return [
            work for work in self.works.values() if work.is_queued and work.lease.device == device
        ]

    def _assign(self) -> None:
        for device in self.devices.values():
            if device.ready:
                self._assign_to(device)

    def _assign_to(self, device: Device) -> None:
        for work in self._queue(device.name):
            if len(device.running) >= AHEAD:
                return
            if work.state is WorkState.COMPUTING:
                continue
            # A busy device gets only what it will not have to wait for.
            if work.state is WorkState.READY or (not device.running and work.can_begin):
                work.state = WorkState.COMPUTING
                device.running.append(work.id)
                self._todo.append(actions.Compute(device.name, work.lease, work.arrived))

    def _fetch(self, now: float) -> None:
        if self.stopping_since is not None:
            return
        for device in self.devices.values():
            ahead = 0
            for place, work in enumerate(self._queue(device.name)):
                if place >= AHEAD and ahead > FETCH_AHEAD_BYTES:
                    break
                ahead += work.lease.input_bytes
                self._fetch_one(device, work, now)

    def _fetch_one(self, device: Device, work: Work, now: float) -> None:
        if work.fetched or work.lab in self.fetching:
            return
        if not self._lab(work.lab).is_open(now):
            self._wake_by(self._lab(work.lab).ready_at)
            return
        if work.state is WorkState.LEASED:
            work.state = WorkState.FETCHING
        self.fetching[work.lab] = work.id
        self._todo.append(actions.Fetch(work.lease, device.memory))

    def _upload(self, now: float) -> None:
        for work in self.works.values():
            if work.state is not WorkState.UPLOADING or work.lab in self.uploading:
                continue
            lab = self._lab(work.lab)
            if lab.is_open(now) and work.result is not None:
                self.uploading[work.lab] = work.id
                self._todo.append(actions.Upload(work.result, work.afresh))
                work.afresh = False
            else:
                self._wake_by(lab.ready_at)

    def _wants(self) -> list[Want]:
        if self.stopping_since is not None or self.paused_until is not None:
            return []
        wants = [self._want(device) for device in self.devices.values() if device.ready]
        return [want for want in wants if want.units > 0]

    def _want(self, device: Device) -> Want:
        wished = self._wished(device)
        queue = self._queue(device.name)
        blocked = sum(1 for work in queue if not work.fetched and work.fetch_failures)
        return Want(
            device=device.name,
            units=max(0, min(wished - (len(queue) - blocked), 2 * wished - len(queue))),
            seconds=ASK_SECONDS,
            memory=device.memory,
            catalogue=CATALOGUE_VERSION,
            device_class=device.device_class,
            flops_per_s=device.flops_per_s,
        )

    def _wished(self, device: Device) -> int:
        """So many that the device does not idle during a few round trips."""
        if not device.unit_seconds:
            return AHEAD
        during = 4 * self.talk.round_trip / device.unit_seconds
        return max(AHEAD, min(MOST_AHEAD, int(during) + 1))

    # --- speaking --------------------------------------------------------------------------------
    def _converse(self, now: float) -> None:
        talk = self.talk
        if talk.sent_at is not None:
            return
        if not self.site.is_open(now):
            self._wake_by(self.site.ready_at)
        elif talk.pending is not None:
            self._todo.append(actions.Send(talk.repeat(now)))
        else:
            wants = self._wants()
            if self._must_speak(wants, now):
                self._speak(wants, now)

    def _speak(self, wants: list[Want], now: float) -> None:
        held = [
            work
            for work in self.works.values()
            if not work.unlisted and work.state is not WorkState.REPORTED
        ]
        done = [_done(work) for work in self.works.values() if self._is_untold(work, now)]
        for work in held:
            work.listed_at = now
        for device in self.devices.values():
            device.short_since = None
        holding = [work.holding() for work in held]
        self._todo.append(actions.Send(self.talk.compose(holding, done, wants, now)))

    def _must_speak(self, wants: list[Want], now: float) -> bool:
        talk = self.talk
        if talk.returned or talk.woken:
            return True
        if any(self._is_untold(work, now) for work in self.works.values()):
            return True
        if self.stopping_since is not None:
            return False
        return (
            self._is_short(wants, now) or self._is_renewal_due(now) or self._is_poll_due(wants, now)
        )

    def _is_untold(self, work: Work, now: float) -> bool:
        if work.state is not WorkState.REPORTED:
            return False
        if work.told_at is None or now >= work.told_at + RETELL_S:
            return True
        self._wake_by(work.told_at + RETELL_S)
        return False

    def _is_short(self, wants: list[Want], now: float) -> bool:
        """Whether to ask for work: at once for an idle device, else soon, so that a report can
        ride along."""
        if self.talk.dry:
            return False
        for want in wants:
            device = self.devices[want.device]
            if not device.running and not self._queue(device.name):
                return True
            if device.short_since is None:
                device.short_since = now
            due = device.short_since + min(2.0, 0.2 * (device.unit_seconds or 0.0))
            if now >= due:
                return True
            self._wake_by(due)
        return False

    def _is_renewal_due(self, now: float) -> bool:
        due = min(
            (
                work.listed_at + work.lease.seconds / 3
                for work in self.works.values()
                if work.state is not WorkState.REPORTED and not work.unlisted
            ),
            default=NEVER,
        )
        self._wake_by(due)
        return now >= due

    def _is_poll_due(self, wants: list[Want], now: float) -> bool:
        curious = bool(wants) or any(
            work.state is WorkState.REPORTED or work.unlisted for work in self.works.values()
        )
        if not curious or self.talk.waiting_since is not None or self.talk.can_wait(now):
            return False
        self._wake_by(self.talk.next_poll)
        return now >= self.talk.next_poll

    def _await_work(self, now: float) -> None:
        talk = self.talk
        if self.stopping_since is not None or not self.site.is_open(now):
            return
        if not talk.can_wait(now):
            if talk.wait_from > now:
                self._wake_by(talk.wait_from)
            return
        idle = not any(device.running for device in self.devices.values())
        reported = any(work.state is WorkState.REPORTED for work in self.works.values())
        if (talk.dry and self._wants()) or (idle and reported):
            self._todo.append(actions.AwaitWork(*talk.begin_wait(now)))

    def _exit_when_done(self, now: float) -> None:
        if self.stopping_since is None:
            return
        until = self.stopping_since + STOP_GRACE_S
        self._wake_by(until)
        sending = any(work.state is WorkState.UPLOADING for work in self.works.values())
        if self.talk.pending is None and not self.talk.returned and not (sending and now < until):
            self.over = True
            self._todo.append(actions.Exit())


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


def _free(busy: dict[str, str], lease: str) -> str:
    """Mark the lab free whose transfer of this lease has ended; returns the lab."""
    lab = next((lab for lab, held in busy.items() if held == lease), "")
    busy.pop(lab, None)
    return lab
