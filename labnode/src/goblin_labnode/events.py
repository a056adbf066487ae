"""Follows the site: says hello, reads events, waits for more."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from sqlite3 import Connection

from goblin_labnode.node import Node
from goblin_labnode.phases import WORKING, LeasePhase, Phase
from goblin_labnode.runs import Run
from goblin_labnode.site_client import SiteClient, WaitClient
from goblin_labnode.store.database import remember
from goblin_labnode.store.resend import resend_all
from goblin_labnode.store.units import (
    LeaseRecord,
    store_lease,
    store_lease_state,
    store_quarantine,
)
from goblin_wire.backoff import Backoff
from goblin_wire.lab import EventsReply, LabEvent, LabWelcome, Window
from goblin_wire.problems import Problem, UnknownJob

_log = logging.getLogger(__name__)

_HELLO_EVERY_S = 3600.0
_STATES = {
    "returned": LeasePhase.ENDED,
    "superseded": LeasePhase.ENDED,
    "expired": LeasePhase.EXPIRED,
}


class Follower:
    """`turn` reads events once and waits for the next."""

    def __init__(
        self, node: Node, client: SiteClient, waiting: WaitClient, told: Callable[[], None]
    ) -> None:
        """`told`: there is something new in the outbox."""
        self._node = node
        self._client = client
        self._waiting = waiting
        self._told = told
        self._backoff = Backoff(first=0.5, longest=30.0)
        self._hello_at = 0.0
        self._window = Window(units=node.config.window_units, bytes=node.config.window_bytes)

    def turn(self) -> float:
        """Seconds until the next turn."""
        try:
            if time.monotonic() >= self._hello_at:
                self._say_hello()
            reply = self._read()
            self._backoff.succeeded()
            if reply.events:
                return 0.0
            return self._wait(reply)
        except Problem as problem:
            return self._failed(problem)

    def _failed(self, problem: Problem) -> float:
        if self._node.site.failed(problem.code, problem.detail):
            _log.warning("the site cannot be followed: %s", problem.detail)
            self._node.note_all()
        self._hello_at = 0.0
        return self._backoff.failed(problem.retry_after)

    def _say_hello(self) -> None:
        config = self._node.config
        welcome = self._client.hello(config.endpoint, self._node.certificate)
        self._hello_at = time.monotonic() + _HELLO_EVERY_S
        self._take_figures(welcome)
        for run in self._node.runs():
            self._ask_about(run)
        self._told()

    def _ask_about(self, run: Run) -> None:
        """Whether the site holds the job back, which an event before our start may have said."""
        pending = self._node.database.row("SELECT 1 FROM outbox WHERE run = ?", run.run)
        if pending is not None or run.record.phase is not Phase.ACTIVE:
            return
        try:
            status = self._client.job(run.run)
        except UnknownJob:
            return
        run.held = (status.code, status.reason) if status.state == "paused" else None

    def _take_figures(self, said: LabWelcome | EventsReply) -> None:
        site = self._node.site
        before = site.offset
        news = site.answered(
            said.network,
            said.reachability,
            said.site_keys,
            said.flops_left_today,
            said.site_seconds,
        )
        if abs(site.offset - before) > 1:
            self._node.database.execute(
                "INSERT OR REPLACE INTO memory VALUES ('site_offset', ?)", str(site.offset)
            )
        if news:
            self._node.note_all()

    def _read(self) -> EventsReply:
        cursor = self._node.database.recall("cursor")
        reply = self._client.events(cursor, self._window)
        if reply.events or reply.reset or reply.cursor != cursor:
            with self._node.database.transaction() as connection:
                for event in reply.events:
                    self._store(connection, event)
                remember(connection, "cursor", reply.cursor)
                if reply.reset:
                    resend_all(connection)
        for event in reply.events:
            self._apply(event)
        self._take_figures(reply)
        if self._node.site.noted(reply.notice):
            self._node.note_all()
        if reply.reset:
            _log.warning("the site lost events: units and verdicts are told again")
            self._told()
        return reply

    def _wait(self, reply: EventsReply) -> float:
        if not reply.wait_url or not reply.ticket:
            return reply.poll_after_ms / 1000
        self._waiting.wait(reply.wait_url, reply.ticket)
        return 0.0

    def _store(self, connection: Connection, event: LabEvent) -> None:
        run = self._node.run(event.job)
        if run is None or event.unit is None or event.unit not in run.numbers:
            return
        if event.kind == "leased" and event.lease is not None:
            store_lease(connection, run.run, _lease(event, event.lease))
        elif event.kind in _STATES and event.lease is not None:
            if _may_end(run, event.lease):
                store_lease_state(
                    connection, event.lease, _STATES[event.kind], event.code, event.reason
                )
        elif event.kind in ("quarantined", "released"):
            reason = (event.reason or event.code) if event.kind == "quarantined" else None
            store_quarantine(connection, event.unit, reason)

    def _apply(self, event: LabEvent) -> None:
        run = self._node.run(event.job)
        if run is None:
            return
        if event.kind == "job_paused":
            run.held = (event.code, event.reason)
        elif event.kind == "job_resumed":
            run.held = None
        elif event.unit in run.numbers:
            self._apply_to_unit(run, event, run.numbers[event.unit])
        self._node.note(run)

    def _apply_to_unit(self, run: Run, event: LabEvent, number: int) -> None:
        with run.lock:
            if event.kind == "quarantined":
                run.units[number].quarantine = event.reason or event.code
            elif event.kind == "released":
                run.units[number].quarantine = None
            elif event.lease is not None:
                self._apply_to_lease(run, event, event.lease)

    def _apply_to_lease(self, run: Run, event: LabEvent, name: str) -> None:
        if event.kind == "leased":
            run.leases.setdefault(name, _lease(event, name))
        elif event.kind in _STATES and _may_end(run, name):
            lease = run.leases[name]
            lease.state, lease.code = _STATES[event.kind], event.code
            lease.reason = event.reason
            if lease.state is LeasePhase.ENDED:
                self._node.uploads.discard([name])


def _lease(event: LabEvent, lease: str) -> LeaseRecord:
    return LeaseRecord(
        lease=lease,
        unit=event.unit or "",
        volunteer=event.volunteer,
        device_class=event.device_class,
        seen_at=time.time(),
    )


def _may_end(run: Run, lease: str) -> bool:
    """A result that was judged, or is here to be judged, is not undone by a late event."""
    known = run.leases.get(lease)
    return known is not None and known.state in WORKING
