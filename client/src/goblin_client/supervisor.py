"""The supervisor: does what the scheduler says, and tells it what happened."""

from __future__ import annotations

import logging
import math
import queue
import signal
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from goblin_client import snapshot
from goblin_client.control import Answer, Command, ControlServer
from goblin_client.directory import StateDirectory
from goblin_client.errors import Refused
from goblin_client.lanes import Lane
from goblin_client.pool import DevicePool
from goblin_client.scheduling import actions, events
from goblin_client.scheduling.events import Event
from goblin_client.scheduling.scheduler import Scheduler
from goblin_client.scheduling.state import NEVER
from goblin_client.site import Site, Waiter
from goblin_client.store import Settlement, Store
from goblin_client.transfer.cache import BlobCache
from goblin_client.transfer.link import LabLinks
from goblin_client.transfers import Downloads, Uploads
from goblin_wire.http import READ_TIMEOUT_S
from goblin_wire.problems import Problem

log = logging.getLogger("goblin_client")
STOP_S = 4.0
"""After this long the program ends, whatever is still under way."""
LONGEST_SLEEP_S = 3600.0
"""The system takes no time that is too large, whoever told it."""


@dataclass(frozen=True)
class RunOptions:
    """How to run. Bytes, threads of one device, and device names (`cpu`, `gpu0`, ...)."""

    memory: int
    threads: int
    cache: int
    devices: tuple[str, ...] = ("cpu",)
    allow_private: bool = False
    silence_s: float = READ_TIMEOUT_S


@dataclass(frozen=True)
class Commanded:
    """A command of the person, to be answered."""

    command: Command
    answer: queue.SimpleQueue[Answer]


class Supervisor:
    """One run of the client in a state directory whose lock is held."""

    def __init__(self, directory: StateDirectory, options: RunOptions) -> None:
        self._directory = directory
        self._events: queue.SimpleQueue[Event | Commanded] = queue.SimpleQueue()
        self._store = Store(directory.database)
        label = directory.membership().label
        self._scheduler = Scheduler(*self._store.host(), options.devices, label=label)
        self._held: set[str] = set()
        self._resumed: set[str] = set()
        self._stop_at = NEVER
        self._interrupted = False
        self._finished: actions.Exit | None = None
        self._open(options)
        self._restore()

    def _open(self, options: RunOptions) -> None:
        membership = self._directory.membership()
        post = self._events.put
        make_links = partial(
            LabLinks, allow_private=options.allow_private, read_timeout=options.silence_s
        )
        self._site = Site(membership.site, membership.token, read_timeout=options.silence_s)
        self._waiter = Waiter()
        self._site_lane, self._wait_lane = Lane("exchange"), Lane("wait")
        self._cache = BlobCache(
            self._directory.cache,
            options.cache,
            is_computing=lambda lease: self._pool.is_computing(lease),
        )
        self._downloads = Downloads(self._cache, make_links, self._held.__contains__, post)
        self._uploads = Uploads(self._directory.results, make_links, self._held.__contains__, post)
        self._pool = DevicePool(
            self._directory.results,
            options.memory,
            options.threads,
            post=post,
            released=self._cache.release,
            awaited=self._cache.awaited,
        )
        self._devices = options.devices

    def _restore(self) -> None:
        """Go on with results of an earlier process; remove what no result belongs to."""
        now, unix = time.monotonic(), time.time()
        for result, uploaded in self._store.results():
            lease = result.lease.lease
            self._scheduler.restore(
                result, uploaded=uploaded, since=now - max(0.0, unix - result.made), now=now
            )
            self._resumed.add(lease)
        self._held.update(self._scheduler.state.works)
        for file in self._directory.results.iterdir():
            if file.name.partition(".")[0] not in self._held:
                # What a process of a run that was killed left may still be going by itself.
                file.unlink(missing_ok=True)
        paused = self._store.paused_until()
        if paused is not None:
            until = None if paused == math.inf else now + paused - unix
            self._events.put(events.PauseAsked(until))

    # --- the loop --------------------------------------------------------------------------------
    def run(self) -> int:
        """Work until told to stop; the exit code. Raises `Refused` where the site refuses us."""
        signal.signal(signal.SIGTERM, self._on_signal)
        signal.signal(signal.SIGINT, self._on_signal)
        control = ControlServer(self._directory.socket, self._command)
        try:
            for device in self._devices:
                self._pool.start(device)
            self._events.put(events.Ticked())
            while self._finished is None and time.monotonic() < self._stop_at:
                self._step()
        finally:
            self._pool.kill()
            control.close()
            self._directory.socket.unlink(missing_ok=True)
            self._store.close()
        if self._finished is not None and self._finished.removed:
            self._directory.remove()
        if self._finished is not None and self._finished.refused:
            raise Refused(self._finished.refused)
        return 130 if self._interrupted else 0

    def _on_signal(self, number: int, _frame: Any) -> None:
        self._interrupted = number == signal.SIGINT
        self._events.put(events.StopAsked())

    def _step(self) -> None:
        event = self._next()
        if isinstance(event, Commanded):
            event.answer.put(self._obey(event.command))
            return
        if isinstance(event, events.StopAsked):
            if self._stop_at < NEVER:
                return
            self._stop_at = time.monotonic() + STOP_S
            log.info("stopping: handing back what is not finished")
        if isinstance(event, events.Computed):
            self._downloads.forget(event.result.lease.lease)
        for action in self._scheduler.handle(event, time.monotonic()):
            getattr(self, f"_{type(action).__name__}")(action)
        self._let_go()

    def _next(self) -> Event | Commanded:
        due = min(self._scheduler.wake_at, self._stop_at)
        timeout = min(LONGEST_SLEEP_S, max(0.0, due - time.monotonic()))
        try:
            return self._events.get(timeout=timeout)
        except queue.Empty:
            return events.Ticked()

    def _let_go(self) -> None:
        """Clean up behind leases that are over; note new ones."""
        works = self._scheduler.state.works
        for lease in self._held - works.keys():
            self._downloads.forget(lease)
            for file in self._directory.results.glob(f"{lease}.*"):
                file.unlink(missing_ok=True)
        self._held.intersection_update(works)
        self._held.update(works)

    # --- commands of the person ------------------------------------------------------------------
    def _command(self, command: Command) -> Answer:
        answer: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        self._events.put(Commanded(command, answer))
        try:
            return answer.get(timeout=5)
        except queue.Empty:
            return {"error": "The client is busy; try again."}

    def _obey(self, command: Command) -> Answer:
        now, unix = time.monotonic(), time.time()
        if command.name == "pause":
            until = None if command.until is None else now + command.until - unix
            self._store.pause(command.until or math.inf)
            self._events.put(events.PauseAsked(until))
        elif command.name == "resume":
            self._store.pause(None)
            self._events.put(events.ResumeAsked())
        elif command.name == "leave":
            self._events.put(events.StopAsked())
        running = snapshot.of_state(self._scheduler.state, now, self._pool.pids(), unix)
        return {
            **snapshot.of_store(self._store),
            **running,
            "running": True,
            "cache_bytes": self._cache.used,
        }

    # --- actions ---------------------------------------------------------------------------------
    def _Send(self, action: actions.Send) -> None:
        request = action.request
        self._store.set_facts(seq=str(request.seq))

        def exchange() -> None:
            try:
                self._events.put(events.Replied(self._site.exchange(request)))
            except Problem as problem:
                log.warning("site: %s", problem.detail)
                self._events.put(
                    events.NotReplied(problem.code, problem.detail, problem.retry_after)
                )
            except Exception as error:
                log.exception("the exchange failed")
                self._events.put(events.NotReplied("internal", type(error).__name__))

        self._site_lane.submit(exchange)

    def _AwaitWork(self, action: actions.AwaitWork) -> None:
        def wait() -> None:
            failed = True
            try:
                self._waiter.wait(action.url, action.ticket)
                failed = False
            except Problem as problem:
                log.warning("waiting: %s", problem.detail)
            finally:
                self._events.put(events.Waited(failed))

        self._wait_lane.submit(wait)

    def _TakeNewHost(self, _action: actions.TakeNewHost) -> None:
        log.warning("this state directory is a copy; going on as a new host")
        self._scheduler.renamed(self._store.new_host())
        self._events.put(events.Ticked())

    def _Fetch(self, action: actions.Fetch) -> None:
        self._held.add(action.lease.lease)
        self._downloads.start(action.lease, action.memory)

    def _Compute(self, action: actions.Compute) -> None:
        prepared = self._downloads.prepared[action.lease.lease]
        self._pool.begin(action.device, action.lease, prepared, action.blobs)

    def _Feed(self, action: actions.Feed) -> None:
        self._pool.feed(action.device, action.lease, action.blobs)

    def _CancelCompute(self, action: actions.CancelCompute) -> None:
        self._pool.cancel(action.device, action.lease)

    def _StartDevice(self, action: actions.StartDevice) -> None:
        self._pool.start(action.device)

    def _Keep(self, action: actions.Keep) -> None:
        self._store.keep(action.result, uploaded=action.uploaded)

    def _Upload(self, action: actions.Upload) -> None:
        lease = action.result.lease.lease
        self._uploads.start(action.result, afresh=action.afresh, resumed=lease in self._resumed)
        self._resumed.discard(lease)

    def _Forget(self, action: actions.Forget) -> None:
        if action.verdict != "accepted":
            log.warning(
                "lease %s: %s (%s) %s", action.lease, action.verdict, action.code, action.reason
            )
        self._store.settle(
            Settlement(
                lease=action.lease,
                lab=action.lab,
                at=time.time(),
                verdict=action.verdict,
                code=action.code,
                reason=action.reason,
                flops=action.flops,
            )
        )

    def _Notice(self, action: actions.Notice) -> None:
        log.info("%s", action.text)

    def _Exit(self, action: actions.Exit) -> None:
        self._finished = action
