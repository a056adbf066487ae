"""What happens to jobs: submitted, cancelled, paused, resumed, done."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable

from goblin_labnode import output as files
from goblin_labnode import outputs
from goblin_labnode.arrays import touch_arrays
from goblin_labnode.node import Node
from goblin_labnode.output import Output, OutputFile
from goblin_labnode.phases import Phase, UnitPhase
from goblin_labnode.planning import lab_figures, make_plan, network_figures
from goblin_labnode.requests import Request, check_submission
from goblin_labnode.runs import Run
from goblin_labnode.store import outbox
from goblin_labnode.store import runs as run_store
from goblin_labnode.store.runs import RunRecord
from goblin_labnode.store.units import UnitRecord, disclose_residuals, insert_units
from goblin_wire.blobs import derive_id
from goblin_wire.control import Submission
from goblin_wire.lab import JobAction, JobRegistration
from goblin_wire.problems import DiskFull, OutputExists, Problem, UnknownJob
from opgraph.cost import flops
from opgraph.partition.product import ProductPlan

_log = logging.getLogger(__name__)
KIND = "product"


class Jobs:
    """Each method leaves memory, database and outbox in agreement."""

    def __init__(
        self, node: Node, started: Callable[[Run], None], told: Callable[[], None]
    ) -> None:
        """`started` begins work on an active run; `told`: something is in the outbox."""
        self._node = node
        self._started = started
        self._told = told
        self._lock = threading.Lock()

    # --- submitting --------------------------------------------------------------------------
    def submit(self, submission: Submission) -> RunRecord:
        """The run of this computation: the one that is there, or a new attempt."""
        node = self._node
        request = check_submission(submission, node.arrays.get)
        job = _job_id(node.secrets.id_key_bytes, node.config.lab, request)
        with self._lock:
            latest = self._latest(job)
            if latest is not None and not submission.fresh and self._usable(latest):
                if submission.name and submission.name != latest.name:
                    run_store.rename(node.database, latest, submission.name)
                return latest
            if latest is not None and not latest.finished:
                self._cancel(latest, "A fresh attempt was asked for.")
            return self._start(job, request, submission.name, latest)

    def find(self, job_or_name: str) -> RunRecord:
        """Raises `UnknownJob`."""
        record = run_store.find_run(self._node.database, job_or_name)
        if record is None:
            raise UnknownJob(f"There is no job {job_or_name[:80]!r}; lab.jobs() lists all.")
        return self._live(record)

    def list(self) -> list[RunRecord]:
        return [self._live(record) for record in run_store.latest_runs(self._node.database)]

    def _latest(self, job: str) -> RunRecord | None:
        record = run_store.latest_of_job(self._node.database, job)
        return None if record is None else self._live(record)

    def _live(self, record: RunRecord) -> RunRecord:
        run = self._node.run(record.run)
        return record if run is None else run.record

    def _usable(self, record: RunRecord) -> bool:
        if record.phase is Phase.DONE:
            return files.is_there(record.output, self._node.roots)
        return record.phase in (Phase.ACTIVE, Phase.PAUSED)

    def _start(self, job: str, request: Request, name: str, latest: RunRecord | None) -> RunRecord:
        node = self._node
        attempt = 1 if latest is None else latest.attempt + 1
        key = node.secrets.id_key_bytes
        run = job if attempt == 1 else derive_id(key, "run", job, str(attempt))
        figures = network_figures(node.site.network, memory=request.memory, loopback=node.loopback)
        plan = make_plan(
            request, figures, lab_figures(node.speed.flops_per_s, loopback=node.loopback)
        )
        output = outputs.plan_output(request, run, node.roots)
        self._clear_place(output, latest)
        record = RunRecord(
            run=run,
            job=job,
            attempt=attempt,
            name=name,
            request=request,
            plan=plan,
            secret=secrets.token_bytes(32),
            output=output,
            submitted_at=time.time(),
        )
        self._insert(record)
        return record

    def _clear_place(self, output: Output, latest: RunRecord | None) -> None:
        """An output of this job's own may be made anew; any other file is left alone."""
        if not outputs.is_taken(output, self._node.roots):
            return
        if latest is not None and files.is_there(latest.output, self._node.roots):
            files.remove(latest.output, self._node.roots)
        if outputs.is_taken(output, self._node.roots):
            raise OutputExists(f"{output.path!r} exists already; choose another name or remove it.")

    def _insert(self, record: RunRecord) -> None:
        node = self._node
        outputs.create_draft(record.output, record.run, node.roots)
        try:
            with node.database.transaction(durable=True) as connection:
                run_store.insert_run(connection, record)
                insert_units(connection, record.run, _units(node, record))
                touch_arrays(connection, record.request.arrays)
                if record.plan.tiles:
                    outbox.post(connection, record.run, "job", "", _registration(record))
        except BaseException:
            outputs.abandon(record.output, record.run, node.roots)
            raise
        run = node.add(record)
        self._settle(run, fresh=True)
        node.note(run)
        self._told()

    def _settle(self, run: Run, *, fresh: bool) -> None:
        """Name and reserve the output, open the inputs, begin."""
        record, node = run.record, self._node
        try:
            outputs.settle(record.output, record.run, node.roots)
        except Problem as problem:
            if fresh or isinstance(problem, OutputExists):
                self._forget(run)
                raise
            self.pause(run, problem)
            return
        try:
            run.open(node.arrays, node.roots)
            self._reserve(run)
        except Problem as problem:
            self.pause(run, problem)
            return
        self._begin(run)

    def _begin(self, run: Run) -> None:
        if run.count(UnitPhase.VERIFIED) == len(run.units):
            self.conclude(run)
        else:
            self._started(run)

    def _forget(self, run: Run) -> None:
        """A run that could not begin leaves no trace."""
        with self._node.database.transaction() as connection:
            outbox.discard_run(connection, run.run)
            connection.execute("DELETE FROM runs WHERE run = ?", (run.run,))
        outputs.abandon(run.record.output, run.run, self._node.roots)
        self._node.drop(run)

    def _reserve(self, run: Run) -> None:
        output: OutputFile | None = run.output
        if output is not None:
            output.reserve()

    # --- after a restart -----------------------------------------------------------------------
    def restore(self) -> None:
        """Take up all unfinished runs where they stand."""
        for record in run_store.unfinished(self._node.database):
            run = self._node.add(record)
            if record.phase is Phase.ACTIVE:
                self._take_up(run)

    def _take_up(self, run: Run) -> None:
        try:
            self._settle(run, fresh=False)
        except OutputExists as problem:
            _log.warning("run %s: %s", run.run, problem.detail)

    # --- stopping and going on -----------------------------------------------------------------
    def pause(self, run: Run, problem: Problem) -> None:
        """Stop with a reason that somebody has to mend."""
        with run.phase_lock:
            if run.record.phase is not Phase.ACTIVE:
                return
            action = JobAction(action="pause", code=problem.code, reason=_public(problem))
            self._move(run, Phase.PAUSED, problem.code, problem.detail, "lab", action)
        run.close()

    def resume(self, run: Run) -> None:
        """Go on, if the reason is gone: raises the `Problem` that is still there."""
        outputs.settle(run.record.output, run.run, self._node.roots)
        run.open(self._node.arrays, self._node.roots)
        self._reserve(run)
        with run.phase_lock:
            if run.record.phase is not Phase.PAUSED:
                return
            self._move(run, Phase.ACTIVE, "ok", "", "lab", JobAction(action="resume"))
        self._begin(run)

    def fail(self, run: Run, code: str, reason: str, cause: str = "lab") -> None:
        """End a run that cannot be done."""
        with run.phase_lock:
            if run.record.finished:
                return
            action = JobAction(action="cancel", code=code)
            self._move(run, Phase.FAILED, code, reason, cause, action)
        self._end(run)

    def cancel(self, job_or_name: str) -> bool:
        """Whether the job is, or was, cancelled; false where it had ended otherwise."""
        with self._lock:
            record = self.find(job_or_name)
            if record.phase in (Phase.DONE, Phase.FAILED):
                return False
            self._cancel(record, "The researcher cancelled the job.")
            return True

    def cancelled(self, run: Run) -> None:
        """The site says that no lease is left."""
        with run.phase_lock:
            record = run.record
            if record.phase is not Phase.CANCELLING:
                return
            self._move(run, Phase.CANCELLED, record.code, record.reason, record.cause, None)
        self._end(run)

    def conclude(self, run: Run) -> None:
        """Every tile is verified and in the output."""
        with run.phase_lock:
            if run.record.finished:
                return
            with self._node.database.transaction() as connection:
                disclose_residuals(connection, run.run)
            action = JobAction(action="finish") if run.units else None
            self._move(run, Phase.DONE, "ok", "Every tile was verified.", "lab", action)
        self._node.drop(run)

    def _cancel(self, record: RunRecord, reason: str) -> None:
        run = self._node.run(record.run)
        if run is None or record.phase is Phase.CANCELLING:
            return
        with run.phase_lock, self._node.database.transaction() as connection:
            unannounced = not run.units or outbox.is_unannounced(connection, run.run)
            if unannounced:
                outbox.discard_run(connection, run.run)
            outbox.discard_units(connection, run.run)
        if unannounced:
            self._move(run, Phase.CANCELLED, "job_cancelled", reason, "researcher", None)
            self._end(run)
            return
        action = JobAction(action="cancel", code="job_cancelled")
        self._move(run, Phase.CANCELLING, "job_cancelled", reason, "researcher", action)
        run.close()

    def _end(self, run: Run) -> None:
        self._node.drop(run)
        outputs.abandon(run.record.output, run.run, self._node.roots)

    def _move(
        self,
        run: Run,
        phase: Phase,
        code: str,
        reason: str,
        cause: str,
        action: JobAction | None,
    ) -> None:
        """Into a phase, in the database and in memory. A full disk keeps no run from stopping."""
        try:
            with self._node.database.transaction() as connection:
                run_store.store_phase(
                    connection, run.record, phase, code=code, reason=reason, cause=cause
                )
                run_store.store_counters(connection, run.record)
                if action is not None:
                    outbox.post(connection, run.run, "action", action.action, action)
        except DiskFull:
            if phase is not Phase.PAUSED:
                raise
        run_store.take_phase(run.record, phase, code=code, reason=reason, cause=cause)
        self._node.note(run)
        self._told()


def _job_id(key: bytes, lab: str, request: Request) -> str:
    """The same computation of the same data into the same place is the same job."""
    return derive_id(
        key,
        "job",
        lab,
        request.graph,
        request.left,
        request.right,
        str(request.shape),
        request.out or "",
        request.grade,
        str(request.memory or 0),
    )


def _units(node: Node, record: RunRecord) -> list[UnitRecord]:
    key, plan = node.secrets.id_key_bytes, record.plan
    costs = _costs(plan)
    return [
        UnitRecord(
            tile.index,
            derive_id(key, "unit", record.run, str(tile.index)),
            UnitPhase.PLANNED,
            costs[tile.shape],
        )
        for tile in plan.tiles
    ]


def _costs(plan: ProductPlan) -> dict[tuple[int, int], int]:
    examples = {tile.shape: tile for tile in plan.tiles}
    return {shape: flops(plan.graph(tile)) for shape, tile in examples.items()}


def _registration(record: RunRecord) -> JobRegistration:
    return JobRegistration(
        job=record.run,
        kind=KIND,
        units=len(record.plan.tiles),
        flops=record.plan.flops,
        grade=record.request.grade,
    )


def _public(problem: Problem) -> str:
    """The reason as the site and volunteers may see it: without names of files."""
    return " ".join((type(problem).__doc__ or "").split())[:500]
