"""What a client says about leases that are over: finished, or handed back."""

from __future__ import annotations

from uuid import UUID

from accounts.authentication import Principal
from goblin_wire.exchange import Done, Returned
from workunits import capabilities, limits, quorum, recreation
from workunits.changes import Changes
from workunits.database import durable, row, run
from workunits.quorum import Copy
from workunits.snapshot import Held, lock_units_of_leases

_DISPUTING = """
SELECT count(DISTINCT l.account_id) AS accounts
FROM workunits_lease l JOIN workunits_unit u ON u.id = l.unit_id
WHERE l.code = 'cost_mismatch' AND u.job_id = %(job)s"""

_PAUSE = """
WITH paused AS (
  UPDATE workunits_job SET state = 'paused', code = 'cost_mismatch', reason = %(reason)s
  WHERE id = %(job)s AND state = 'open' RETURNING id, lab_id
)
INSERT INTO workunits_event (lab_id, job_id, kind, code, reason)
SELECT lab_id, id, 'job_paused', 'cost_mismatch', %(reason)s FROM paused"""

_COST_SENTENCE = (
    "Several volunteers computed other costs from the graphs of this job than were declared."
)


def take(
    principal: Principal, host: int, done: list[Done], returned: list[Returned]
) -> tuple[dict[UUID, Copy], list[UUID]]:
    """Take reports and hand-backs of the account's leases, on disk when this returns.

    Returns the leases as they stand now, and the ids among `done` that the site does not know.
    """
    if not done and not returned:
        return {}, []
    ids = [*(UUID(hex=d.lease) for d in done), *(UUID(hex=r.lease) for r in returned)]
    with durable():
        _recreate(principal, done)
        held = lock_units_of_leases(ids, account=principal.account_id)
        by_lease = {lease: unit for unit in held.values() for lease in unit.copies}
        changes = Changes(hosts=dict.fromkeys(ids, host))
        for lease, happening in _happenings(done, returned):
            if (unit := by_lease.get(lease)) is not None and _is_own(unit, lease, principal):
                _cancel_if_needed(changes, unit)
                changes.happen(unit, happening)
        changes.write()
        _pause_disputed(by_lease, returned)
    copies = {
        lease: by_lease[lease].copies[lease]
        for lease in ids
        if lease in by_lease and _is_own(by_lease[lease], lease, principal)
    }
    unknown = [UUID(hex=each.lease) for each in done if UUID(hex=each.lease) not in copies]
    return copies, unknown


def unknown(principal: Principal, done: list[Done]) -> list[UUID]:
    """The leases among `done` that are not leases of this account."""
    ids = [UUID(hex=each.lease) for each in done]
    own = recreation.known(ids, account=principal.account_id) if ids else set()
    return [lease for lease in ids if lease not in own]


def _is_own(unit: Held, lease: UUID, principal: Principal) -> bool:
    return unit.copies[lease].account == principal.account_id


def _happenings(
    done: list[Done], returned: list[Returned]
) -> list[tuple[UUID, quorum.Reported | quorum.Returned]]:
    reports = [
        (UUID(hex=d.lease), quorum.Reported(UUID(hex=d.lease), tuple(d.outputs))) for d in done
    ]
    backs = [
        (UUID(hex=r.lease), quorum.Returned(UUID(hex=r.lease), r.code, r.detail)) for r in returned
    ]
    return [*reports, *backs]


def _cancel_if_needed(changes: Changes, unit: Held) -> None:
    """A cancelled job is only its row at first; the units that are touched follow at once."""
    if unit.row.job_state == "cancelled":
        changes.happen(unit, quorum.Cancelled())


def _recreate(principal: Principal, done: list[Done]) -> None:
    tokens = {UUID(hex=each.lease): each.capability for each in done if each.capability}
    if not tokens:
        return
    for lease in tokens.keys() - recreation.known(tokens):
        claims = capabilities.read(tokens[lease] or "")
        if claims is not None and claims.lease == lease.hex:
            recreation.recreate(claims, account=principal.account_id)


def _pause_disputed(by_lease: dict[UUID, Held], returned: list[Returned]) -> None:
    jobs = {
        by_lease[UUID(hex=each.lease)].row.job_id
        for each in returned
        if each.code == "cost_mismatch" and UUID(hex=each.lease) in by_lease
    }
    for job in sorted(jobs):
        disputing = row(_DISPUTING, {"job": job})
        if disputing is not None and disputing.accounts >= limits.MAX_COST_MISMATCHES:
            run(_PAUSE, {"job": job, "reason": _COST_SENTENCE})
