"""A job as a future of the standard library, fed by one thread."""

from __future__ import annotations

import threading
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from numpy.typing import NDArray

from gpugoblin.errors import JobCancelled

if TYPE_CHECKING:
    from gpugoblin.job import Job

F = TypeVar("F", bound=Future[NDArray[Any]])


class JobFuture(Future[NDArray[Any]]):
    """`cancel()` cancels the job; the future then ends with `JobCancelled`."""

    def __init__(self, job: Job) -> None:
        super().__init__()
        self._job = job

    def cancel(self) -> bool:
        return not self.done() and self._job.cancel()

    def cancelled(self) -> bool:
        return self.done() and isinstance(self.exception(), JobCancelled)

    def running(self) -> bool:
        return not self.done()


def start(job: Job) -> JobFuture:
    """A future of the job's result."""
    return _fed(JobFuture(job), job)


def start_plain(job: Job) -> Future[NDArray[Any]]:
    """A future whose cancellation ends the wait and leaves the job alone."""
    plain: Future[NDArray[Any]] = Future()
    return _fed(plain, job)


def _fed(future: F, job: Job) -> F:
    thread = threading.Thread(
        target=_feed, args=(future, job), name=f"gpugoblin-{job.id[:8]}", daemon=True
    )
    thread.start()
    return future


def _feed(future: Future[NDArray[Any]], job: Job) -> None:
    try:
        outcome = job.result(show=False)
    except BaseException as problem:
        with suppress(InvalidStateError):
            future.set_exception(problem)
    else:
        with suppress(InvalidStateError):
            future.set_result(outcome)
    finally:
        job.connection.forget()  # this thread's own sockets
