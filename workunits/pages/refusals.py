"""Results that were not used, with the evidence that the site has."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from goblin_wire.states import LeaseState
from workunits.database import Row, row, rows
from workunits.pages import words
from workunits.pages.paging import Pages

PAGE = 20
KEPT_DAYS = 90
"""Older ones are not shown."""

# By the person's own wish, or nobody's fault and of no interest.
_SILENT = "('ok', 'paused', 'shutting_down', 'removed')"
_OF_MACHINE = f"""
FROM workunits_lease l
WHERE l.account_id = %(account)s AND NOT (l.code = 'ok') AND l.host_id = %(host)s
  AND l.created > now() - interval '{KEPT_DAYS} days'
  AND l.state IN ('rejected', 'returned') AND l.code NOT IN {_SILENT}"""

_COUNT = f"SELECT count(*) AS refusals {_OF_MACHINE}"

_REFUSALS = f"""
WITH chosen AS MATERIALIZED (
  SELECT l.id, l.unit_id, l.device, l.state, l.code, l.reason, l.created {_OF_MACHINE}
  ORDER BY l.created DESC, l.id DESC LIMIT %(limit)s OFFSET %(offset)s
)
SELECT c.id, c.device, c.state, c.code, c.reason, c.created, u.flops, j.kind,
       v.kind AS verdict, v.policy, v.residual, b.received, b.digest
FROM chosen c
LEFT JOIN workunits_unit u ON u.id = c.unit_id
LEFT JOIN workunits_job j ON j.id = u.job_id
LEFT JOIN workunits_verdict v ON v.lease_id = c.id
LEFT JOIN workunits_verdictbatch b ON b.id = v.batch_id
ORDER BY c.created DESC, c.id DESC"""  # noqa: S608


@dataclass(frozen=True, slots=True)
class Refusal:
    """One lease that brought nothing, and what the site knows of it."""

    lease: str
    device: str
    is_wrong: bool
    """Counted against the account; the others blame nobody."""
    is_of_machine: bool
    """Handed back by the machine itself, without a verdict."""
    code: str
    sentence: str
    said: str
    """What the lab, or the client, said; in its own words."""
    began: datetime
    judged: datetime | None
    policy: words.Text
    residual: float | None
    """Relative deviation that the lab found."""
    kind: words.Text
    flops: int | None
    batch: str
    """Digest of the lab's signed message."""


def refusal_pages(account: int, host: int) -> Pages:
    """The refusals of one machine, newest first."""
    of = {"account": account, "host": host}

    def count() -> int:
        found = row(_COUNT, of)
        return 0 if found is None else int(found.refusals)

    def read(limit: int, offset: int) -> list[Refusal]:
        found = rows(_REFUSALS, {**of, "limit": limit, "offset": offset})
        return [_refusal(each) for each in found]

    return Pages(PAGE, count, read)


def _refusal(each: Row) -> Refusal:
    return Refusal(
        lease=each.id.hex,
        device=each.device,
        is_wrong=each.state == LeaseState.REJECTED,
        is_of_machine=each.verdict is None and each.state == LeaseState.RETURNED,
        code=each.code,
        sentence=words.refusal(each.code),
        said=each.reason,
        began=each.created,
        judged=each.received,
        policy=words.POLICIES.get(each.policy, ""),
        residual=each.residual,
        kind=words.kind(each.kind or ""),
        flops=each.flops,
        batch=each.digest or "",
    )
