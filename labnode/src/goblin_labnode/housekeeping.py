"""What is looked at from time to time: changed files, paused runs, things that are kept too long.

The rule of what is removed: staged results and drafts when their run ends; a result in a place that
the lab node chose, and the record of how it came about, after `results_days` (that there was one
is known for a year longer); an uploaded array after `arrays_days` without use by any job that is
not finished; a begun upload after `uploads_days`. A file that a researcher named as output is never
removed once its job is done; the record of such a job goes after `results_days`.
"""

from __future__ import annotations

import logging
import time

from goblin_labnode import output as files
from goblin_labnode.arrays import UPLOADED
from goblin_labnode.files import Identity
from goblin_labnode.jobs import Jobs
from goblin_labnode.mending import restore_inputs
from goblin_labnode.node import Node
from goblin_labnode.phases import Phase
from goblin_labnode.runs import Run
from goblin_labnode.storage import require_room
from goblin_labnode.store.runs import RunRecord, finished_before, removed_before, strip_run
from goblin_wire.problems import DiskFull, FileMissing, Problem

_log = logging.getLogger(__name__)

LOOK_S = 2.0
SWEEP_S = 600.0
_DAY_S = 86_400.0
REMEMBERED_DAYS = 365
"""For so long after a result's removal a researcher is told of it, and not that it never was."""
_FOR_GOOD = frozenset({"internal"})
"""Reasons that do not mend by themselves; a restart tries them again."""


class Housekeeper:
    """`turn` looks after everything once."""

    def __init__(self, node: Node, jobs: Jobs) -> None:
        self._node = node
        self._jobs = jobs
        self._tried: dict[str, set[Identity]] = {}
        self._measured = False
        self._swept = time.monotonic() - SWEEP_S + 30

    def turn(self) -> float:
        """Seconds until the next look."""
        if not self._measured:
            self._measured = True
            self._node.speed.measure()
        for run in self._node.runs():
            if run.record.phase is Phase.ACTIVE:
                self._look(run)
            elif run.record.phase is Phase.PAUSED and run.record.code not in _FOR_GOOD:
                self._mend(run)
        self._node.proofs.sweep()
        if time.monotonic() - self._swept > SWEEP_S:
            self._swept = time.monotonic()
            self.sweep()
        return LOOK_S

    def sweep(self) -> None:
        """Remove what its rule does not keep."""
        now = time.time()
        keep = self._node.config.retention
        self._remove_runs(now, keep.results_days * _DAY_S)
        self._remove_arrays(now - keep.arrays_days * _DAY_S)
        self._node.array_uploads.sweep(now - keep.uploads_days * _DAY_S)
        self._node.uploads.sweep(self._is_live_lease)

    def _look(self, run: Run) -> None:
        try:
            run.glance_at_inputs()
            if not self._ended(run) and not files.is_there(run.record.output, self._node.roots):
                raise FileMissing("The disk that holds the output is away.")
        except Problem as problem:
            self._jobs.pause(run, problem)

    def _ended(self, run: Run) -> bool:
        """Whether the run was ended, as its output is gone for good."""
        if not files.is_lost(run.record.output, self._node.roots):
            return False
        self._jobs.fail(run, "file_missing", "The output file was removed while the job ran.")
        return True

    def _mend(self, run: Run) -> None:
        if self._ended(run):
            return
        tried = self._tried.setdefault(run.run, set())
        try:
            if run.record.code == DiskFull.code:
                require_room(self._node.folder.staging, run.record.output.data_bytes)
            restore_inputs(self._node, run, tried)
            self._jobs.resume(run)
        except Problem as problem:
            _log.debug("run %s still waits: %s", run.run, problem.detail)
        except OSError as error:
            _log.debug("run %s still waits: %s", run.run, error)
        else:
            self._tried.pop(run.run, None)

    def _remove_runs(self, now: float, kept: float) -> None:
        database = self._node.database
        for record in finished_before(database, now - kept):
            if record.output.own and record.phase is Phase.DONE:
                self._expire(record, now)
            else:
                database.execute("DELETE FROM runs WHERE run = ?", record.run)
        for run in removed_before(database, now - REMEMBERED_DAYS * _DAY_S):
            database.execute("DELETE FROM runs WHERE run = ?", run)

    def _expire(self, record: RunRecord, now: float) -> None:
        self._try_remove(record.output)
        record.output.removed_at = now
        with self._node.database.transaction() as connection:
            strip_run(connection, record)

    def _try_remove(self, output: files.Output) -> None:
        try:
            files.remove(output, self._node.roots)
        except (Problem, OSError) as error:
            _log.warning("a result could not be removed: %s", error)

    def _remove_arrays(self, before: float) -> None:
        used = {array for run in self._node.runs() for array in run.record.request.arrays}
        rows = self._node.database.rows(
            "SELECT id, root, path FROM arrays WHERE used_at < ?", before
        )
        for row in rows:
            if row["id"] in used:
                continue
            self._node.database.execute("DELETE FROM arrays WHERE id = ?", row["id"])
            if row["root"] == UPLOADED:
                (self._node.folder.arrays / row["path"]).unlink(missing_ok=True)

    def _is_live_lease(self, lease: str) -> bool:
        return any(lease in run.leases for run in self._node.runs())
