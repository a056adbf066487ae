"""Empties the outbox: one letter, or one batch, at a time, in order, until the site answered."""

from __future__ import annotations

import logging
import math
import time
from sqlite3 import Connection

import msgspec

from goblin_labnode.jobs import Jobs
from goblin_labnode.node import Node
from goblin_labnode.phases import Phase, UnitPhase
from goblin_labnode.runs import Run
from goblin_labnode.site_client import SiteClient, is_temporary
from goblin_labnode.store import outbox
from goblin_labnode.store.outbox import Letter
from goblin_labnode.store.units import store_registered
from goblin_wire.backoff import Backoff
from goblin_wire.lab import JobAction, JobRegistration, JobStatus, Verdict, VerdictOutcome
from goblin_wire.problems import Problem, QuotaExceeded
from goblin_wire.protocol import MAX_UNITS_PER_REGISTRATION

_log = logging.getLogger(__name__)

VERDICTS_AT_ONCE = 64
CANCEL_POLL_S = 1.0
FINISH_POLL_S = 0.5
IDLE_S = 60.0
HELD_S = 30.0
"""A run whose message was put off, for its quota, is tried again after this."""


class Sender:
    """`turn` does one thing and says when the next is due."""

    def __init__(self, node: Node, jobs: Jobs, client: SiteClient) -> None:
        self._node = node
        self._jobs = jobs
        self._client = client
        self._backoff = Backoff(first=0.5, longest=30.0)
        self._held: dict[str, float] = {}
        self._patience: dict[str, float] = {}
        self._polled = 0.0

    def turn(self) -> float:
        """Seconds until there is something to do again, unless woken."""
        try:
            sent = self._send_next()
            cancelling = self._poll_cancelling()
        except Problem as problem:
            return self._failed(problem)
        self._backoff.succeeded()
        if sent:
            return 0.0
        if cancelling:
            return CANCEL_POLL_S
        return self._until_held(IDLE_S)

    def _until_held(self, longest: float) -> float:
        due = min(self._held.values(), default=math.inf) - time.monotonic()
        return min(longest, max(0.05, due))

    def _failed(self, problem: Problem) -> float:
        if self._node.site.failed(problem.code, problem.detail):
            _log.warning("the site does not take our messages: %s", problem.detail)
            self._node.note_all()
        return self._backoff.failed(problem.retry_after)

    def _send_next(self) -> bool:
        now = time.monotonic()
        self._held = {run: until for run, until in self._held.items() if until > now}
        letters = outbox.next_letters(
            self._node.database, set(self._held), MAX_UNITS_PER_REGISTRATION
        )
        if not letters:
            return False
        try:
            self._send(letters)
        except Problem as problem:
            if is_temporary(problem):
                raise
            self._refused(letters, problem)
        self._node.site.reached()
        return True

    def _send(self, letters: list[Letter]) -> None:
        kind, run = letters[0].kind, letters[0].run
        if kind == "job":
            job = msgspec.json.decode(letters[0].body, type=JobRegistration)
            self._answered(letters, self._client.register_job(job))
        elif kind == "unit":
            self._send_units(run, letters)
        elif kind == "verdict":
            self._send_verdicts(letters[:VERDICTS_AT_ONCE])
        else:
            action = msgspec.json.decode(letters[0].body, type=JobAction)
            if action.action != "finish" or self._may_finish(run):
                self._answered(letters, self._client.act(run, action))

    def _may_finish(self, run: str) -> bool:
        """Whether nobody who works on the run still has to report; else it is held a while.

        Finishing ends all leases, and a result that was verified here earns its credit only with
        its report.
        """
        status = self._client.job(run)
        if not status.leased and not status.reported and not status.open_leases:
            self._patience.pop(run, None)
            return True
        pause = min(2 * self._patience.get(run, FINISH_POLL_S / 2), HELD_S)
        self._patience[run] = pause
        self._held[run] = time.monotonic() + pause
        return False

    def _answered(self, letters: list[Letter], status: JobStatus) -> None:
        with self._node.database.transaction() as connection:
            outbox.discard(connection, letters)
        run = self._node.run(letters[0].run)
        if run is not None:
            self._take_status(run, status)

    def _send_units(self, name: str, letters: list[Letter]) -> None:
        run = self._node.run(name)
        if run is None:
            with self._node.database.transaction() as connection:
                outbox.discard(connection, letters)
            return
        numbers = [run.numbers[letter.subject] for letter in letters]
        units = [run.manifest(number).registration(number) for number in numbers]
        status = self._client.register_units(name, units)
        with self._node.database.transaction() as connection:
            store_registered(connection, [letter.subject for letter in letters])
            outbox.discard(connection, letters)
        for number in numbers:
            run.set_state(number, UnitPhase.REGISTERED)
        self._take_status(run, status)
        self._node.note(run)

    def _send_verdicts(self, letters: list[Letter]) -> None:
        verdicts = [msgspec.json.decode(letter.body, type=Verdict) for letter in letters]
        reply = self._client.verdicts(verdicts)
        with self._node.database.transaction() as connection:
            outbox.discard(connection, letters)
            for verdict, outcome in zip(verdicts, reply.outcomes, strict=False):
                if outcome.state is None and verdict.capability is None:
                    self._send_with_capability(connection, letters[0].run, verdict, outcome)

    def _send_with_capability(
        self, connection: Connection, run: str, verdict: Verdict, outcome: VerdictOutcome
    ) -> None:
        """The site lost this lease: prove that it was made."""
        row = connection.execute(
            "SELECT capability FROM leases WHERE lease = ?", (verdict.lease,)
        ).fetchone()
        if row is None or row["capability"] is None:
            _log.warning("the site does not know lease %s: %s", verdict.lease, outcome.code)
            return
        verdict.capability = row["capability"]
        outbox.post(connection, run, "verdict", verdict.lease, verdict)

    def _refused(self, letters: list[Letter], problem: Problem) -> None:
        """The site will never take this, or not today."""
        if letters[0].kind == "verdict" and len(letters) > 1:
            self._send_one_by_one(letters[:VERDICTS_AT_ONCE])
            return
        run = self._node.run(letters[0].run)
        _log.warning("the site refused a %s: %s", letters[0].kind, problem.detail)
        if isinstance(problem, QuotaExceeded) and run is not None:
            run.held = (problem.code, problem.detail)
            self._held[run.run] = time.monotonic() + (problem.retry_after or HELD_S)
            self._node.note(run)
            return
        with self._node.database.transaction() as connection:
            outbox.discard(connection, letters)
        if run is None or letters[0].kind == "verdict":
            return
        if run.record.phase is Phase.CANCELLING:
            self._jobs.cancelled(run)
        else:
            self._jobs.fail(run, problem.code, f"The site refused: {problem.detail}", "site")

    def _send_one_by_one(self, letters: list[Letter]) -> None:
        """One verdict that the site finds malformed must not take others with it."""
        for letter in letters:
            try:
                self._send_verdicts([letter])
            except Problem as problem:
                if is_temporary(problem):
                    raise
                self._refused([letter], problem)

    def _take_status(self, run: Run, status: JobStatus) -> None:
        """A pause is news here too; its end is told by an event, which a reply must not undo."""
        if run.record.phase is Phase.ACTIVE:
            before = run.held
            if status.state == "paused":
                run.held = (status.code, status.reason)
            elif before is not None and before[0] == QuotaExceeded.code:
                run.held = None
            if run.held != before:
                self._node.note(run)
        if run.record.phase is Phase.CANCELLING and _is_over(status):
            self._jobs.cancelled(run)

    def _poll_cancelling(self) -> bool:
        runs = [run for run in self._node.runs() if run.record.phase is Phase.CANCELLING]
        if runs and time.monotonic() - self._polled >= CANCEL_POLL_S:
            self._polled = time.monotonic()
            for run in runs:
                self._poll(run)
        return bool(runs)

    def _poll(self, run: Run) -> None:
        try:
            self._take_status(run, self._client.job(run.run))
        except Problem as problem:
            if is_temporary(problem):
                raise
            self._jobs.cancelled(run)


def _is_over(status: JobStatus) -> bool:
    return status.state in ("cancelled", "finished") and status.open_leases == 0
