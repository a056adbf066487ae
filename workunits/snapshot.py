"""Units and their leases as the quorum machine takes them, read under lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from goblin_wire.states import LeaseState, Policy, UnitState, VerdictKind
from workunits.database import Row, rows
from workunits.quorum import Copy, Judgement, Unit

_COLUMNS = """
    u.id, u.uid, u.job_id, u.lab_id, u.position, u.flops, u.memory, u.catalogue, u.output_bytes,
    u.policy, u.copies, u.state, u.wanted, u.issued, u.spared, u.code, u.chosen,
    j.state AS job_state"""

_LOCK = f"""
SELECT {_COLUMNS} FROM workunits_unit u JOIN workunits_job j ON j.id = u.job_id
WHERE u.id = ANY(%(units)s) ORDER BY u.id FOR UPDATE OF u"""  # noqa: S608

_LOCK_OF_LEASES = f"""
SELECT {_COLUMNS} FROM workunits_unit u JOIN workunits_job j ON j.id = u.job_id
WHERE u.id = ANY(ARRAY(
    SELECT l.unit_id FROM workunits_lease l
    WHERE l.id = ANY(%(leases)s) AND (%(account)s::bigint IS NULL OR l.account_id = %(account)s)))
  AND (%(lab)s::bigint IS NULL OR u.lab_id = %(lab)s)
ORDER BY u.id FOR UPDATE OF u"""  # noqa: S608

_COPIES = """
SELECT l.id, l.unit_id, l.copy, l.account_id, l.host_id, l.state, l.outputs, l.code, l.reason,
       v.kind AS verdict, v.outputs AS verdict_outputs, v.code AS verdict_code,
       v.reason AS verdict_reason
FROM workunits_lease l
LEFT JOIN LATERAL (SELECT * FROM workunits_verdict x WHERE x.lease_id = l.id OFFSET 0) v ON true
WHERE l.unit_id = ANY(%(units)s)"""


@dataclass(slots=True)
class Held:
    """A locked unit: its row, its state for the machine, and all its leases."""

    row: Row
    unit: Unit
    copies: dict[UUID, Copy]


def lock_units_of_leases(
    leases: Sequence[UUID], *, account: int | None = None, lab: int | None = None
) -> dict[int, Held]:
    """Lock the units of these leases in the order of their ids, then read all their leases.

    The leases are read by a second statement on purpose: what the first one saw is older than the
    locks, and two last reports would each miss the other.
    """
    parameters = {"leases": list(leases), "account": account, "lab": lab}
    return _with_copies(rows(_LOCK_OF_LEASES, parameters))


def lock_units(units: Iterable[int]) -> dict[int, Held]:
    """Lock these units in the order of their ids, then read all their leases."""
    return _with_copies(rows(_LOCK, {"units": list(units)}))


def _with_copies(found: list[Row]) -> dict[int, Held]:
    held = {row.id: Held(row, _unit(row), {}) for row in found}
    if held:
        for row in rows(_COPIES, {"units": list(held)}):
            held[row.unit_id].copies[row.id] = _copy(row)
    return held


def _unit(row: Row) -> Unit:
    return Unit(
        state=UnitState(row.state),
        policy=Policy(row.policy),
        copies=row.copies,
        wanted=row.wanted,
        issued=row.issued,
        spared=row.spared,
        code=row.code,
        chosen=row.chosen,
    )


def _copy(row: Row) -> Copy:
    return Copy(
        lease=row.id,
        index=row.copy,
        account=row.account_id,
        host=row.host_id,
        state=LeaseState(row.state),
        outputs=None if row.outputs is None else tuple(row.outputs),
        judgement=_judgement(row),
        code=row.code,
        reason=row.reason,
    )


def _judgement(row: Row) -> Judgement | None:
    if row.verdict is None:
        return None
    return Judgement(
        VerdictKind(row.verdict), tuple(row.verdict_outputs), row.verdict_code, row.verdict_reason
    )
