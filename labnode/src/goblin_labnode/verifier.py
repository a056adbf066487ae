"""The thread that judges received results, several at a time, and makes the outcome durable.

Order: tile into the output, output synced, records and verdict in one transaction. A kill between
any two of these leaves a result that is judged again, with the same outcome.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from sqlite3 import Connection

import msgspec

from goblin_labnode.jobs import Jobs
from goblin_labnode.judging import Judgement, judge
from goblin_labnode.node import Node
from goblin_labnode.phases import LeasePhase, UnitPhase
from goblin_labnode.preparing import prepare_block
from goblin_labnode.runs import Run
from goblin_labnode.store.runs import store_counters
from goblin_labnode.store.units import (
    LeaseRecord,
    store_generation,
    store_lease,
    store_lease_state,
    store_verdict,
    store_verified,
)
from goblin_wire.problems import Internal, Problem
from opgraph.errors import ExecutionCancelled

_log = logging.getLogger(__name__)

AT_ONCE = 8
"""Results that share one sync and one transaction."""
REJECTIONS_BEFORE_ROTATION = 4
"""Refused tiles of a column block after which new vectors are drawn for it."""


class Verifier(threading.Thread):
    """Takes leases whose result is complete."""

    def __init__(self, node: Node, jobs: Jobs, told: Callable[[], None]) -> None:
        super().__init__(name="verifier", daemon=True)
        self._node = node
        self._jobs = jobs
        self._told = told
        self._ready = threading.Condition()
        self._queue: deque[tuple[Run, LeaseRecord]] = deque()
        self._stopped = False

    def put(self, run: Run, lease: LeaseRecord) -> None:
        """A result has arrived."""
        with run.lock:
            lease.state = LeasePhase.RECEIVED
        self._node.note(run)
        with self._ready:
            self._queue.append((run, lease))
            self._ready.notify()

    def again(self, run: Run) -> None:
        """Look at all received results of a run, after its checks are ready or it goes on."""
        with run.lock:
            waiting = [each for each in run.leases.values() if each.state is LeasePhase.RECEIVED]
        with self._ready:
            queued = {lease.lease for _, lease in self._queue}
            self._queue.extend((run, each) for each in waiting if each.lease not in queued)
            self._ready.notify()

    def stop(self) -> None:
        with self._ready:
            self._stopped = True
            self._ready.notify()

    def run(self) -> None:
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self._queue or self._stopped)
                if self._stopped:
                    return
                run, batch = self._take()
            try:
                self._judge(run, batch)
            except Exception:
                _log.exception("verification failed; the job stops")
                self._jobs.pause(run, Internal("Verification failed unexpectedly; see the log."))

    def _take(self) -> tuple[Run, list[LeaseRecord]]:
        """The first run that waits, and up to `AT_ONCE` of its results."""
        run = self._queue[0][0]
        mine = [lease for other, lease in self._queue if other is run][:AT_ONCE]
        taken = {lease.lease for lease in mine}
        self._queue = deque(each for each in self._queue if each[1].lease not in taken)
        return run, mine

    def _judge(self, run: Run, leases: list[LeaseRecord]) -> None:
        found: list[Judgement] = []
        try:
            for lease in leases:
                judgement = self._judge_one(
                    run, lease, {each.number for each in found if each.accepted}
                )
                if judgement is not None:
                    found.append(judgement)
            self._commit(run, found)
        except Problem as problem:
            self._jobs.pause(run, problem)
        except ExecutionCancelled:
            _log.debug("the run stopped while its vectors were drawn anew")

    def _judge_one(self, run: Run, lease: LeaseRecord, done: set[int]) -> Judgement | None:
        """None where the result is not needed, or can't be judged now."""
        number = run.numbers[lease.unit]
        if not run.active or lease.state is not LeasePhase.RECEIVED:
            return None
        if number in done or run.units[number].state is UnitPhase.VERIFIED:
            return None
        if run.tile(number).column_block not in run.checks:
            return None
        upload = self._node.uploads.get(lease.lease)
        if upload is None:
            return None
        with upload.content() as staged:
            return judge(run, lease, staged)

    def _commit(self, run: Run, found: list[Judgement]) -> None:
        output = run.output
        if not found or output is None:
            return
        if any(each.accepted for each in found):
            output.sync()
        run.record.check_seconds += sum(each.seconds for each in found)
        rotated = self._count_rejections(run, found)
        with self._node.database.transaction(durable=True) as connection:
            for each in found:
                _store(connection, run, each)
            for block, (generation, rejections) in rotated.items():
                store_generation(connection, run.run, block, generation, rejections)
            store_counters(connection, run.record)
        self._told()
        for each in found:
            self._settle(run, each)
        self._rotate(run, rotated)
        self._node.note(run)
        if run.verified == len(run.units):
            self._jobs.conclude(run)

    def _settle(self, run: Run, judgement: Judgement) -> None:
        """The same in memory; what was staged is not needed any more."""
        lease = judgement.lease
        with run.lock:
            lease.state, lease.code, lease.reason = (
                judgement.phase,
                judgement.code,
                judgement.reason,
            )
        if judgement.accepted:
            run.set_state(judgement.number, UnitPhase.VERIFIED)
            others = [each.lease for each in run.leases_on(lease.unit)]
            self._node.uploads.discard(others)
        else:
            _log.info("a result was not used: %s", judgement.reason)
            self._node.uploads.discard([lease.lease])

    def _count_rejections(self, run: Run, found: list[Judgement]) -> dict[int, tuple[int, int]]:
        """Column blocks with refused tiles: generation and rejections after them."""
        changed: dict[int, tuple[int, int]] = {}
        for each in found:
            if not each.accepted:
                block = run.tile(each.number).column_block
                generation, rejections = changed.get(block, run.generations.get(block, (0, 0)))
                rejections += 1
                rotate = rejections % REJECTIONS_BEFORE_ROTATION == 0
                changed[block] = (generation + rotate, rejections)
        return changed

    def _rotate(self, run: Run, changed: dict[int, tuple[int, int]]) -> None:
        for block, (generation, rejections) in changed.items():
            before = run.generations.get(block, (0, 0))[0]
            run.generations[block] = (generation, rejections)
            if generation != before:
                # Missing while it is prepared: if the run is paused now, it is made on return.
                del run.checks[block]
                check = prepare_block(run, block)
                run.check_inputs()
                run.checks[block] = check


def _store(connection: Connection, run: Run, judgement: Judgement) -> None:
    lease = judgement.lease
    store_lease(connection, run.run, lease)
    store_lease_state(connection, lease.lease, judgement.phase, judgement.code, judgement.reason)
    if judgement.accepted:
        store_verified(connection, run.run, lease.unit, lease.lease, judgement.repaired_rows)
    verdict = msgspec.json.encode(judgement.verdict()).decode()
    store_verdict(connection, run.run, lease.lease, verdict, judgement.residual)
