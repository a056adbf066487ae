"""A job: a computation that the lab node keeps, whatever becomes of this process."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from goblin_wire import control
from goblin_wire.states import FINISHED_JOBS, JobState
from gpugoblin import future, job_text, result
from gpugoblin.connection import Connection, segment
from gpugoblin.errors import (
    JobCancelled,
    JobFailed,
    NotReady,
    Problem,
    Unavailable,
    Unreachable,
)
from gpugoblin.parts import Part, parts
from gpugoblin.progress import Progress, Silent, View, choose
from gpugoblin.report import Report
from gpugoblin.waiting import changes, job_info

if TYPE_CHECKING:
    from gpugoblin.future import JobFuture

GLANCE_S = 2.0
"""How long printing a job, and `why()`, wait for a lab node that is away."""


class Job:
    """A handle: the id is all that it is. `lab.job(id_or_name)` makes the same one anywhere.

    It can be pickled (the key is not; it is read again from the lab node's folder, the
    environment or the keyring), awaited, and given to `concurrent.futures` by `future()`.
    """

    def __init__(self, connection: Connection, info: control.JobInfo | str) -> None:
        self.connection = connection
        self._info = info if isinstance(info, control.JobInfo) else None
        self.id = info.job if isinstance(info, control.JobInfo) else info
        self._future: JobFuture | None = None

    @property
    def name(self) -> str:
        """The name that it was given, or empty."""
        return self._now().name

    @property
    def state(self) -> JobState:
        """`planning`, `waiting`, `running`, `verifying`, `done`, `failed`, `cancelling`,
        `cancelled` or `paused`, as the lab node says now."""
        return self._now().state

    @property
    def shape(self) -> tuple[int, ...]:
        """The result's shape."""
        return tuple(self._now().shape)

    def why(self) -> str:
        """One sentence: what it is doing, or why it waits or ended, and since when."""
        try:
            self._info = job_info(self.connection, self.id, patience=GLANCE_S)
            return job_text.why(self._info)
        except (Unreachable, Unavailable) as problem:
            return job_text.absent(self._info, problem)

    def progress(self) -> Progress:
        """How far it is now."""
        return Progress(self._now())

    def watch(self) -> Iterator[Progress]:
        """Each change of the progress as it happens, until the job is finished."""
        for info in changes(self.connection, self.id):
            self._info = info
            yield Progress(info)

    def parts(self) -> Iterator[Part]:
        """The verified tiles, first those that are there, then each as it lands.

        Raises `JobFailed` or `JobCancelled` after the last one where the job ended so.
        """
        yield from parts(self.connection, self.id)
        self._raise_if_lost(self._now())

    def report(self) -> Report:
        """Who computed what, what was refused and why, residuals, bytes, exposure."""
        found = self.connection.call("GET", f"{self._path}/report", None, control.Report)
        return Report(found)

    def result(
        self,
        timeout: float | None = None,
        *,
        to: str | os.PathLike[str] | None = None,
        show: bool = True,
    ) -> NDArray[Any]:
        """Wait for the result and return it: a read-only memory map where the lab node's file is
        shared with this machine, else a download (`to`: into this `.npy` file).

        Raises `NotReady` after `timeout` seconds, `JobFailed`, `JobCancelled`, `ResultExpired`;
        `ValueError` for a timeout that is not a number. Ctrl-C ends the wait and not the job.
        """
        view = self._view(show)
        try:
            self._wait(timeout, view)
            return result.fetch(self.connection, self.id, to=to, note=view.note)
        except KeyboardInterrupt:
            view.close()
            print(job_text.interrupted(self.id, self._info), file=sys.stderr)  # noqa: T201
            raise
        finally:
            view.close()

    def exception(self, timeout: float | None = None) -> Problem | None:
        """Wait for the end: what it failed with, or none. Raises `NotReady`."""
        try:
            self._wait(timeout, Silent())
        except (JobFailed, JobCancelled) as problem:
            return problem
        return None

    def done(self) -> bool:
        """Whether it has ended, in whichever way."""
        return self.state in FINISHED_JOBS

    def running(self) -> bool:
        """Whether it has not ended."""
        return not self.done()

    def cancelled(self) -> bool:
        """Whether it was cancelled."""
        return self.state == JobState.CANCELLED

    def cancel(self) -> bool:
        """Stop it. False where it had ended before; it is `cancelled` once all leases are gone."""
        reply = self.connection.call("POST", f"{self._path}/cancel", None, control.CancelReply)
        return reply.cancelled

    def future(self) -> Future[NDArray[Any]]:
        """A `concurrent.futures.Future` of the result, fed by a thread.

        Works with `as_completed` and `wait`. Its `cancel()` cancels the job; a job that was
        cancelled ends it with `JobCancelled`, which says by whom and why.
        """
        if self._future is None:
            self._future = future.start(self)
        return self._future

    def add_done_callback(self, function: Callable[[Job], object]) -> None:
        """Call `function(job)` once it has ended; it may call `job.result()`."""
        self.future().add_done_callback(lambda _: function(self))

    def __await__(self) -> Generator[Any, None, NDArray[Any]]:
        # Not `future()`: cancelling the task that waits shall not cancel the job.
        return asyncio.wrap_future(future.start_plain(self)).__await__()

    def info(self) -> control.JobInfo:
        """Every fact that the lab node tells about it, now."""
        return self._now()

    @property
    def _path(self) -> str:
        return f"/v1/jobs/{segment(self.id)}"

    def _wait(self, timeout: float | None, view: View) -> None:
        if timeout is not None and math.isnan(timeout):
            raise ValueError(
                "timeout is a number of seconds, or None to wait for as long as it takes"
            )
        deadline = None if timeout is None else time.monotonic() + timeout
        info = self._info
        following = changes(self.connection, self.id, deadline=deadline, note=view.note)
        for info in following:
            self._info = info
            view.show(info)
        if info is None or info.state not in FINISHED_JOBS:
            raise NotReady(f"The job is not done after {timeout:g} s. {self.why()}")
        self._raise_if_lost(info)

    def _raise_if_lost(self, info: control.JobInfo) -> None:
        kind = {JobState.FAILED: JobFailed, JobState.CANCELLED: JobCancelled}.get(info.state)
        if kind is not None:
            raise kind(
                job_text.why(info),
                job=info.job,
                reason=info.reason,
                reason_code=info.code,
                by=info.by,
                age_s=info.age_s,
            )

    def _now(self) -> control.JobInfo:
        self._info = job_info(self.connection, self.id)
        return self._info

    def _glance(self) -> tuple[control.JobInfo | None, str]:
        """The facts for printing: now, or the last known and why there are no newer ones."""
        try:
            self._info = job_info(self.connection, self.id, patience=0.0, read_timeout=GLANCE_S)
        except Problem as problem:
            return self._info, problem.detail
        return self._info, ""

    def _view(self, show: bool) -> View:
        return choose(job_text.bundle) if show else Silent()

    def __repr__(self) -> str:
        info, trouble = self._glance()
        return job_text.line(self.id, info, trouble)

    def _repr_html_(self) -> str:
        info, trouble = self._glance()
        return job_text.html(self.id, info, trouble)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and other.id == self.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __reduce__(self) -> tuple[Callable[[str, str], Job], tuple[str, str]]:
        return reopen, (self.connection.place, self.id)


def reopen(place: str, job: str) -> Job:
    """The job of a pickle; nothing is asked of the lab node yet."""
    return Job(Connection(place), job)
