"""Jobs and units as labs register them: sizes only, in bulk, and as often as they like."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import transaction

from goblin_wire.lab import JobRegistration, JobStatus, UnitBatch, UnitRegistration
from goblin_wire.problems import BadMessage, Conflict, JobCancelled, UnsupportedComputation
from goblin_wire.states import Policy
from workunits import jobs
from workunits.database import row, run
from workunits.models import JobState

OFFERED = frozenset({Policy.CHECK.value})
"""Policies that are carried out: with another one a unit would be used on one lab's word."""

_JOB = """
INSERT INTO workunits_job (lab_id, uid, kind, units, registered, flops, grade, state, code, reason,
                           swept, created)
VALUES (%(lab)s, %(uid)s, %(kind)s, %(units)s, 0, %(flops)s, %(grade)s, 'open', 'ok', '', true,
        now())
ON CONFLICT (lab_id, uid) DO NOTHING"""

_SAME_JOB = """
SELECT kind = %(kind)s AND units = %(units)s AND flops = %(flops)s AND grade = %(grade)s AS same
FROM workunits_job WHERE lab_id = %(lab)s AND uid = %(uid)s"""

_COLUMNS = """unnest(%(uid)s::uuid[], %(position)s::bigint[], %(manifest)s::text[],
    %(flops)s::bigint[], %(memory)s::bigint[], %(input)s::bigint[], %(output)s::bigint[],
    %(policy)s::text[], %(catalogue)s::bigint[], %(copies)s::smallint[])
    AS v(uid, position, manifest, flops, memory, input, output, policy, catalogue, copies)"""

_UNITS = f"""
WITH made AS (
  INSERT INTO workunits_unit (job_id, lab_id, uid, position, manifest, flops, memory, input_bytes,
         output_bytes, policy, catalogue, copies, state, wanted, issued, spared, code)
  SELECT %(job)s, %(lab)s, v.uid, v.position, v.manifest, v.flops, v.memory, v.input, v.output,
         v.policy, v.catalogue, v.copies, 'open', v.copies, 0, 0, 'ok'
  FROM {_COLUMNS}
  ON CONFLICT (lab_id, uid) DO NOTHING
  RETURNING id, position, memory, catalogue
), opened AS (
  INSERT INTO workunits_opening (unit_id, job_id, rank, position, memory, catalogue)
  SELECT id, %(job)s, 1, position, memory, catalogue FROM made
)
UPDATE workunits_job SET registered = registered + (SELECT count(*) FROM made)
WHERE id = %(job)s"""  # noqa: S608

# Asked per row (OFFSET 0): as a join it was planned to walk over all units of the lab.
_DIFFERENT = f"""
SELECT count(*) AS units FROM {_COLUMNS}
LEFT JOIN LATERAL (
  SELECT * FROM workunits_unit x WHERE x.lab_id = %(lab)s AND x.uid = v.uid OFFSET 0) u ON true
WHERE (u.job_id, u.position, u.manifest, u.flops, u.memory, u.input_bytes, u.output_bytes,
       u.policy, u.catalogue, u.copies)
   IS DISTINCT FROM
      (%(job)s::bigint, v.position, v.manifest, v.flops, v.memory, v.input, v.output, v.policy,
       v.catalogue, v.copies)"""  # noqa: S608


def register_job(lab: int, message: JobRegistration) -> JobStatus:
    """Make the job, or find it. Raises `Conflict` if it was registered with other content."""
    job = UUID(hex=message.job)
    parameters = {
        "lab": lab,
        "uid": job,
        "kind": message.kind,
        "units": message.units,
        "flops": message.flops,
        "grade": message.grade.value,
    }
    run(_JOB, parameters)
    same = row(_SAME_JOB, parameters)
    if same is None or not same.same:
        raise Conflict("This job was registered before with other figures.")
    return jobs.status(lab, job)


def register_units(lab: int, job: UUID, batch: UnitBatch) -> JobStatus:
    """Make those of the units that are new.

    The reply counts registered units only; `GET` of the job counts them by state. Raises
    `UnknownJob`, `JobCancelled`, or `Conflict` (then nothing of the batch is taken).
    """
    _require_distinct(batch.units)
    with transaction.atomic():
        found = jobs.locked(lab, job)
        if found.state in {JobState.CANCELLED, JobState.FINISHED}:
            raise JobCancelled(f"The job is {found.state}; it takes no more units.")
        if batch.units:
            parameters = {"lab": lab, "job": found.id, **_arrays(batch.units)}
            run(_UNITS, parameters)
            different = row(_DIFFERENT, parameters)
            if different is None or different.units:
                raise Conflict("A unit of this batch was registered before with other content.")
    return jobs.brief_status(lab, job)


def require_offered(batch: UnitBatch) -> None:
    """Raise `UnsupportedComputation` for units whose policy nobody carries out yet."""
    other = {unit.policy.value for unit in batch.units} - OFFERED
    if other:
        raise UnsupportedComputation(
            f"This site has units verified by {' or '.join(sorted(OFFERED))} only so far;"
            f" {' and '.join(sorted(other))} cannot be asked for."
        )


def _require_distinct(units: list[UnitRegistration]) -> None:
    if len({unit.unit for unit in units}) != len(units):
        raise BadMessage("The batch names a unit twice.")


def _arrays(units: list[UnitRegistration]) -> dict[str, list[Any]]:
    return {
        "uid": [UUID(hex=unit.unit) for unit in units],
        "position": [unit.index for unit in units],
        "manifest": [unit.manifest for unit in units],
        "flops": [unit.flops for unit in units],
        "memory": [unit.memory for unit in units],
        "input": [unit.input_bytes for unit in units],
        "output": [unit.output_bytes for unit in units],
        "policy": [unit.policy.value for unit in units],
        "catalogue": [unit.catalogue for unit in units],
        "copies": [unit.copies if unit.policy is Policy.COMPARE else 1 for unit in units],
    }
