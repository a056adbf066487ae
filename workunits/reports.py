"""What a client says about leases that are over: finished, or handed back."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from accounts.authentication import Principal
from goblin_wire.exchange import Done, ExchangeRequest, Returned
from workunits import capabilities, limits, quorum, recreation
from workunits.changes import Changes
from workunits.database import row, run
from workunits.identifiers import uuids
from workunits.quorum import Copy
from workunits.snapshot import Held

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


@dataclass(slots=True)
class Reports:
    """What a message says of leases that are over, and what that changes."""

    ids: list[UUID]
    copies: dict[UUID, Copy]
    """Those that are the account's, as they stand now."""
    changes: Changes
    disputed: list[int]
    """Jobs whose costs were found to be other than declared."""

    def unknown(self, done: list[Done]) -> list[UUID]:
        """The leases in `done` that are not leases of the account."""
        return [lease for lease in self.ids[: len(done)] if lease not in self.copies]


def ids_of(done: list[Done], returned: list[Returned]) -> list[UUID]:
    """The leases that are over: the finished ones first."""
    return [*uuids([each.lease for each in done]), *uuids([each.lease for each in returned])]


def take(
    principal: Principal,
    host: int,
    ids: list[UUID],
    message: ExchangeRequest,
    held: dict[int, Held],
) -> Reports:
    """Decide what reports and hand-backs of the account's leases lead to; nothing is written yet.

    `ids` as `ids_of` gives them, `held` their units, which the caller locked.
    """
    by_lease = {lease: unit for unit in held.values() for lease in unit.copies}
    changes = Changes(hosts=dict.fromkeys(ids, host))
    own: dict[UUID, Held] = {}
    happenings: list[Done | Returned] = [*message.done, *message.returned]
    for lease, each in zip(ids, happenings, strict=True):
        unit = by_lease.get(lease)
        if unit is None or unit.copies[lease].account != principal.account_id:
            continue
        own[lease] = unit
        _cancel_if_needed(changes, unit)
        changes.happen(unit, _happening(lease, each))
    copies = {lease: unit.copies[lease] for lease, unit in own.items()}
    return Reports(ids, copies, changes, _disputed(own, ids[len(message.done) :], message.returned))


def _happening(lease: UUID, each: Done | Returned) -> quorum.Happening:
    if isinstance(each, Done):
        return quorum.Reported(lease, tuple(each.outputs))
    return quorum.Returned(lease, each.code, each.detail)


def unknown(principal: Principal, done: list[Done]) -> list[UUID]:
    """The leases among `done` that are not leases of this account."""
    ids = uuids([each.lease for each in done])
    own = recreation.known(ids, account=principal.account_id) if ids else set()
    return [lease for lease in ids if lease not in own]


def _cancel_if_needed(changes: Changes, unit: Held) -> None:
    """A cancelled job is only its row at first; the units that are touched follow at once."""
    if unit.row.job_state == "cancelled":
        changes.happen(unit, quorum.Cancelled())


def recreate(principal: Principal, done: list[Done]) -> None:
    """Make those leases again that the database lost and whose capability is ours."""
    tokens = {UUID(hex=each.lease): each.capability for each in done if each.capability}
    if not tokens:
        return
    for lease in tokens.keys() - recreation.known(tokens):
        claims = capabilities.read(tokens[lease] or "")
        if claims is not None and claims.lease == lease.hex:
            recreation.recreate(claims, account=principal.account_id)


def _disputed(own: dict[UUID, Held], ids: list[UUID], returned: list[Returned]) -> list[int]:
    found = {
        own[lease].row.job_id
        for lease, each in zip(ids, returned, strict=True)
        if each.code == "cost_mismatch" and lease in own
    }
    return sorted(found)


def pause_disputed(jobs: list[int]) -> None:
    """Pause those of the jobs that enough accounts dispute, once what they said is written."""
    for job in jobs:
        disputing = row(_DISPUTING, {"job": job})
        if disputing is not None and disputing.accounts >= limits.MAX_COST_MISMATCHES:
            run(_PAUSE, {"job": job, "reason": _COST_SENTENCE})
