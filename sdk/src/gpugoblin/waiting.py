"""Following a job: every change once, through restarts of the lab node and lost connections."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from goblin_wire.backoff import Backoff
from goblin_wire.control import JobInfo
from goblin_wire.protocol import WAIT_S
from goblin_wire.states import FINISHED_JOBS, JobState
from gpugoblin.connection import PATIENCE_S, READ_TIMEOUT_S, Connection, segment
from gpugoblin.errors import Unavailable, Unreachable

REPLY_S = 10.0
"""Beyond the time that a held request takes by design."""
POLL_S = 0.1
_NOTHING = (-1, JobState.PLANNING, "")
Note = Callable[[str], None]


def job_info(
    connection: Connection,
    job: str,
    *,
    patience: float = PATIENCE_S,
    read_timeout: float = READ_TIMEOUT_S,
) -> JobInfo:
    """The job as it is now. `job`: id or name."""
    path = f"/v1/jobs/{segment(job)}"
    return connection.call("GET", path, None, JobInfo, patience=patience, read_timeout=read_timeout)


def changes(
    connection: Connection,
    job: str,
    *,
    deadline: float | None = None,
    note: Note | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[JobInfo]:
    """Every state of the job as it changes; ends with a finished one, or at the deadline.

    An absent lab node is waited for without an end (but the deadline's) and told of by `note`.
    """
    version, last, backoff = -1, _NOTHING, Backoff(first=0.2, longest=5.0)
    while True:
        left = WAIT_S if deadline is None else min(WAIT_S, deadline - clock())
        if left <= 0 and version >= 0:
            return
        if left < 1 and version >= 0:  # the lab node holds a request for whole seconds only
            sleep(min(left, POLL_S))
        try:
            info = _held(connection, job, version, max(int(left), 0))
        except (Unreachable, Unavailable) as problem:
            wait = backoff.failed(problem.retry_after)
            if deadline is not None and clock() + wait > deadline:
                raise
            if note is not None and backoff.failures == 1:
                note(f"{problem.detail} Waiting for it.")
            sleep(wait)
            continue
        backoff.succeeded()
        # A reason may change without an event of the job, as when the last volunteer goes.
        told = (info.version, info.state, info.reason)
        if told != last:
            version, last = info.version, told
            yield info
        if info.state in FINISHED_JOBS:
            return


def _held(connection: Connection, job: str, version: int, wait: int) -> JobInfo:
    path = f"/v1/jobs/{segment(job)}"
    if version >= 0 and wait:
        path += f"?after={version}&wait={wait}"
    return connection.call("GET", path, None, JobInfo, patience=0.0, read_timeout=wait + REPLY_S)
