"""Units and their leases as the quorum machine takes them, read under lock."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from goblin_wire.states import LeaseState, Policy, UnitState, VerdictKind
from workunits.database import Query, Row, query, together
from workunits.quorum import Copy, Judgement, Unit

_COLUMNS = """
    u.id, u.uid, u.job_id, u.lab_id, u.position, u.flops, u.memory, u.catalogue, u.input_bytes,
    u.output_bytes, u.policy, u.copies, u.state, u.wanted, u.issued, u.spared, u.code, u.chosen,
    j.state AS job_state, j.kind AS job_kind"""

_LOCK = f"""
SELECT {_COLUMNS} FROM workunits_unit u JOIN workunits_job j ON j.id = u.job_id
WHERE u.id = ANY(%(units)s) ORDER BY u.id FOR UPDATE OF u"""  # noqa: S608

_UNITS_OF_LEASES = """ARRAY(
    SELECT l.unit_id FROM workunits_lease l
    WHERE l.id = ANY(%(leases)s) AND (%(account)s::bigint IS NULL OR l.account_id = %(account)s))"""

_LOCK_OF_LEASES = f"""
SELECT {_COLUMNS} FROM workunits_unit u JOIN workunits_job j ON j.id = u.job_id
WHERE u.id = ANY({_UNITS_OF_LEASES}) AND (%(lab)s::bigint IS NULL OR u.lab_id = %(lab)s)
ORDER BY u.id FOR UPDATE OF u"""  # noqa: S608

_COPY_COLUMNS = """
SELECT l.id, l.unit_id, l.copy, l.account_id, l.host_id, l.state, l.outputs, l.code, l.reason,
       v.kind AS verdict, v.outputs AS verdict_outputs, v.code AS verdict_code,
       v.reason AS verdict_reason
FROM workunits_lease l
LEFT JOIN LATERAL (SELECT * FROM workunits_verdict x WHERE x.lease_id = l.id OFFSET 0) v ON true"""

_COPIES = f"{_COPY_COLUMNS} WHERE l.unit_id = ANY(%(units)s)"

_COPIES_OF_LEASES = f"{_COPY_COLUMNS} WHERE l.unit_id = ANY({_UNITS_OF_LEASES})"


# The constructor of an enumeration is dear for what every row needs.
_UNIT_STATES = {state.value: state for state in UnitState}
_LEASE_STATES = {state.value: state for state in LeaseState}
_POLICIES = {policy.value: policy for policy in Policy}
_KINDS = {kind.value: kind for kind in VerdictKind}


@dataclass(slots=True)
class Held:
    """A locked unit: its row, its state for the machine, and all its leases."""

    row: Row
    unit: Unit
    copies: dict[UUID, Copy]


def lock_units_of_leases(
    leases: Sequence[UUID], *, account: int | None = None, lab: int | None = None
) -> dict[int, Held]:
    """Lock the units of these leases in the order of their ids, then read all their leases."""
    return held_units(*together(of_leases(leases, account=account, lab=lab)))


def of_leases(
    leases: Sequence[UUID], *, account: int | None = None, lab: int | None = None
) -> list[Query]:
    """The two statements of `lock_units_of_leases`, whose rows `held_units` takes.

    Two on purpose: what the first one saw is older than the locks, and two last reports would each
    miss the other.
    """
    parameters = {"leases": list(leases), "account": account, "lab": lab}
    return [query(_LOCK_OF_LEASES, parameters), query(_COPIES_OF_LEASES, parameters)]


def lock_units(units: Iterable[int]) -> dict[int, Held]:
    """Lock these units in the order of their ids, then read all their leases."""
    parameters = {"units": list(units)}
    return held_units(*together([query(_LOCK, parameters), query(_COPIES, parameters)]))


def held_units(units: list[Row], copies: list[Row]) -> dict[int, Held]:
    """The locked units with their leases; those of units that were not locked are left out."""
    held = {row.id: Held(row, _unit(row), {}) for row in units}
    for row in copies:
        if row.unit_id in held:
            held[row.unit_id].copies[row.id] = _copy(row)
    return held


def _unit(row: Row) -> Unit:
    return Unit(
        state=_UNIT_STATES[row.state],
        policy=_POLICIES[row.policy],
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
        state=_LEASE_STATES[row.state],
        outputs=None if row.outputs is None else tuple(row.outputs),
        judgement=_judgement(row),
        code=row.code,
        reason=row.reason,
    )


def _judgement(row: Row) -> Judgement | None:
    if row.verdict is None:
        return None
    return Judgement(
        _KINDS[row.verdict], tuple(row.verdict_outputs), row.verdict_code, row.verdict_reason
    )
