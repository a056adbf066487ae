"""What becomes of a job: pause, resume, cancel, finish; and how it stands."""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from goblin_wire.lab import JobAction, JobStatus
from goblin_wire.problems import Conflict, UnknownJob
from goblin_wire.states import UnitState
from workunits.database import Row, row, rows, run
from workunits.models import JobState

_JOB = """
SELECT id, uid, state, code, reason, registered FROM workunits_job
WHERE lab_id = %(lab)s AND uid = %(uid)s"""

_BY_STATE = """
SELECT state, count(*) AS units FROM workunits_unit WHERE job_id = %(job)s GROUP BY state"""

_OPEN_LEASES = """
SELECT count(*) AS leases FROM workunits_pendinglease p
JOIN workunits_lease l ON l.id = p.lease_id JOIN workunits_unit u ON u.id = l.unit_id
WHERE p.lab_id = %(lab)s AND p.open AND p.live AND u.job_id = %(job)s"""

_MOVE = """
UPDATE workunits_job SET state = %(state)s, code = %(code)s, reason = %(reason)s,
       swept = %(swept)s, closed = CASE WHEN %(swept)s THEN NULL ELSE now() END
WHERE id = %(job)s"""

_RESUME_DISPUTED = """
WITH resumed AS (
  UPDATE workunits_job SET state = 'open', code = 'ok', reason = ''
  WHERE id = %(job)s AND state = 'paused' AND code = 'cost_mismatch' RETURNING id, lab_id
)
INSERT INTO workunits_event (lab_id, job_id, kind, code, reason)
SELECT lab_id, id, 'job_resumed', 'ok', '' FROM resumed"""

MOVES: dict[str, tuple[frozenset[str], JobState]] = {
    "pause": (frozenset({JobState.OPEN}), JobState.PAUSED),
    "resume": (frozenset({JobState.PAUSED}), JobState.OPEN),
    "cancel": (frozenset({JobState.OPEN, JobState.PAUSED}), JobState.CANCELLED),
    "finish": (frozenset({JobState.OPEN, JobState.PAUSED}), JobState.FINISHED),
}
"""Action -> the states in which it means something, and the state it leads to."""

CLOSED = frozenset({JobState.CANCELLED, JobState.FINISHED})


def act(lab: int, job: UUID, action: JobAction) -> JobStatus:
    """Change the job's row, and nothing else: units and leases are swept later.

    Raises `UnknownJob`, or `Conflict` for an action that a closed job no longer takes.
    """
    meaningful, target = MOVES[action.action]
    with transaction.atomic():
        found = locked(lab, job)
        if found.state in meaningful:
            _move(found, target, action)
        elif found.state != target:
            raise Conflict(f"The job is {found.state}: it cannot {action.action} any more.")
    return status(lab, job)


def resume_disputed(job: int) -> bool:
    """An operator lets a job go on that the site paused for its costs; false if it did not."""
    return run(_RESUME_DISPUTED, {"job": job}) > 0


def _move(found: Row, target: JobState, action: JobAction) -> None:
    resumed = target is JobState.OPEN
    run(
        _MOVE,
        {
            "job": found.id,
            "state": target.value,
            "code": "ok" if resumed else action.code,
            "reason": "" if resumed else action.reason,
            "swept": target not in CLOSED,
        },
    )


def locked(lab: int, job: UUID) -> Row:
    """The job's row under lock; raises `UnknownJob` (another lab's job is unknown too)."""
    found = row(f"{_JOB} FOR UPDATE", {"lab": lab, "uid": job})
    if found is None:
        raise UnknownJob
    return found


def _found(lab: int, job: UUID) -> Row:
    found = row(_JOB, {"lab": lab, "uid": job})
    if found is None:
        raise UnknownJob
    return found


def brief_status(lab: int, job: UUID) -> JobStatus:
    """The job's state without counting its units by state."""
    found = _found(lab, job)
    return JobStatus(
        job=job.hex,
        state=found.state,
        code=found.code,
        reason=found.reason,
        units=found.registered,
    )


def status(lab: int, job: UUID) -> JobStatus:
    """The job's state with its units counted; raises `UnknownJob`."""
    found = _found(lab, job)
    counts = {each.state: each.units for each in rows(_BY_STATE, {"job": found.id})}
    leases = row(_OPEN_LEASES, {"job": found.id, "lab": lab})
    return JobStatus(
        job=job.hex,
        state=found.state,
        code=found.code,
        reason=found.reason,
        units=found.registered,
        open=counts.get(UnitState.OPEN, 0),
        leased=counts.get(UnitState.LEASED, 0),
        reported=counts.get(UnitState.REPORTED, 0),
        accepted=counts.get(UnitState.ACCEPTED, 0),
        quarantined=counts.get(UnitState.QUARANTINED, 0),
        open_leases=0 if leases is None else leases.leases,
    )
