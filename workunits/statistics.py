"""The network in figures: what the public status page and the cockpit show.

The scheduler finds them four times a minute and writes two small tables, so that a page costs two
short queries however large the network is. Each statement here is bounded: it walks over what is on
line, over the newest `EVENTS` events or `LEASES` leases, or over the jobs of two hours.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple
from uuid import UUID

import msgspec
from django.db import transaction
from django.utils import timezone

from goblin_wire.protocol import LAB_SEEN_S
from goblin_wire.states import LeaseState
from gpugoblin_site.database.pipeline import uuid_of
from workunits import limits
from workunits.database import row, rows, run
from workunits.models import Hour, Measured

MOST_WAITING = 1_000_000
"""Units that want a lease are counted up to this."""
EVENTS = 20_000
LEASES = 50_000
DAY_S = 86_400
OLD_S = 120.0
"""Figures older than this say that the scheduler stands still."""
REFUSED = (LeaseState.REJECTED, LeaseState.RETURNED, LeaseState.EXPIRED, LeaseState.LAPSED)
"""Leases that came to nothing."""
_ONLINE = f"last_seen > now() - make_interval(secs => {limits.ONLINE_S})"

_NOW = f"""
SELECT (SELECT count(DISTINCT host_id) FROM workunits_device WHERE {_ONLINE}) AS machines,
       (SELECT count(*) FROM workunits_device WHERE {_ONLINE}) AS devices,
       (SELECT count(*) FROM workunits_labnode
        WHERE last_seen > now() - make_interval(secs => {LAB_SEEN_S})) AS labs,
       (SELECT count(*) FROM workunits_pendinglease WHERE live AND open) AS open_leases,
       (SELECT count(*) FROM workunits_pendinglease WHERE live AND NOT open) AS reported,
       (SELECT count(*) FROM (SELECT 1 FROM workunits_opening LIMIT {MOST_WAITING}) AS first)
         AS waiting,
       (SELECT coalesce(sum(units), 0)::bigint FROM workunits_labday) AS verified,
       (SELECT coalesce(sum(flops), 0)::float8 FROM workunits_labday) AS verified_flops,
       (SELECT count(*) FROM workunits_unit
        WHERE NOT (code IN ('ok', 'job_cancelled')) AND state = 'quarantined') AS quarantined,
       (SELECT count(*) FROM workunits_job WHERE state = 'paused' AND code = 'cost_mismatch')
         AS disputed"""  # noqa: S608 - numbers

_VERIFYING = f"""
WITH last AS MATERIALIZED (
  SELECT lease_id, kind, created FROM workunits_event ORDER BY id DESC LIMIT {EVENTS}
)
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY s) AS p50,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY s) AS p95, count(*) AS results
FROM (SELECT greatest(0, extract(epoch FROM a.created - r.created))::float8 AS s
      FROM last a JOIN last r ON r.lease_id = a.lease_id AND r.kind = 'reported'
      WHERE a.kind = 'accepted') AS spans"""  # noqa: S608 - a number

_REFUSALS = f"""
SELECT state, code, count(*) AS leases FROM (
  SELECT state, code FROM workunits_lease WHERE id > %(since)s ORDER BY id DESC LIMIT {LEASES}
) AS newest GROUP BY state, code"""  # noqa: S608 - a number

_VERSIONS = f"""
SELECT h.version, count(*) AS machines FROM workunits_host h
WHERE h.id IN (SELECT host_id FROM workunits_device WHERE {_ONLINE})
GROUP BY h.version ORDER BY machines DESC, h.version LIMIT 20"""  # noqa: S608 - a number

_STORE = """
INSERT INTO workunits_measured (id, at, machines, devices, labs, open_leases, reported, waiting,
  verified, verified_flops, quarantined, disputed, verify_p50_s, verify_p95_s, verify_results,
  leases_looked_at, refusals, versions)
VALUES (1, now(), %(machines)s, %(devices)s, %(labs)s, %(open_leases)s, %(reported)s, %(waiting)s,
  %(verified)s, %(verified_flops)s, %(quarantined)s, %(disputed)s, %(p50)s, %(p95)s, %(results)s,
  %(looked_at)s, %(refusals)s, %(versions)s)
ON CONFLICT (id) DO UPDATE SET (at, machines, devices, labs, open_leases, reported, waiting,
  verified, verified_flops, quarantined, disputed, verify_p50_s, verify_p95_s, verify_results,
  leases_looked_at, refusals, versions)
= (excluded.at, excluded.machines, excluded.devices, excluded.labs, excluded.open_leases,
   excluded.reported, excluded.waiting, excluded.verified, excluded.verified_flops,
   excluded.quarantined, excluded.disputed, excluded.verify_p50_s, excluded.verify_p95_s,
   excluded.verify_results, excluded.leases_looked_at, excluded.refusals, excluded.versions)"""

# From the hour before the last one that is known: it may still have been growing.
_HOURS = """
WITH present AS (SELECT date_trunc('hour', now(), 'UTC') AS hour),
begun AS (
  SELECT greatest((SELECT max(hour) FROM workunits_hour) - interval '1 hour',
                  hour - interval '24 hours') AS hour FROM present
), verified AS MATERIALIZED (
  SELECT hour, sum(flops) AS flops, sum(units) AS units FROM workunits_jobhour
  WHERE hour >= (SELECT hour FROM begun) GROUP BY hour
)
INSERT INTO workunits_hour AS kept (hour, flops, units, machines)
SELECT s.hour, coalesce(v.flops, 0), coalesce(v.units, 0),
       CASE WHEN s.hour = p.hour THEN %(machines)s::integer ELSE 0 END
FROM present p CROSS JOIN begun b
CROSS JOIN generate_series(b.hour, p.hour, interval '1 hour') AS s(hour)
LEFT JOIN verified v ON v.hour = s.hour
ON CONFLICT (hour) DO UPDATE SET flops = excluded.flops, units = excluded.units,
  machines = greatest(kept.machines, excluded.machines)"""

_JOINS_BY_HASH = "SET LOCAL enable_hashjoin = on"


class HourFigures(NamedTuple):
    """What one hour brought; zeros where nothing was."""

    hour: datetime
    """Its beginning (UTC)."""
    flops: Decimal
    """Verified, as are the units."""
    units: int
    machines: int
    """The most that were on line when it was looked."""


def measure() -> int:
    """Find everything and write it down; for the scheduler."""
    with transaction.atomic():
        run(_JOINS_BY_HASH)
        now = row(_NOW)
        verifying = row(_VERIFYING)
        assert now is not None and verifying is not None  # noqa: S101, PT018 - aggregates
        refusals, looked_at = _refusals()
        values: dict[str, Any] = {
            **now._asdict(),
            **verifying._asdict(),
            "looked_at": looked_at,
            "refusals": _json(refusals),
            "versions": _json({each.version: each.machines for each in rows(_VERSIONS)}),
        }
        run(_STORE, values)
        run(_HOURS, {"machines": now.machines})
    return 1


def latest() -> Measured | None:
    """The network as it was seen last; none before the scheduler's first look. One query."""
    return Measured.objects.first()


def is_old(measured: Measured) -> bool:
    """Whether the figures are so old that the scheduler must be standing still."""
    return (timezone.now() - measured.at).total_seconds() > OLD_S


def last_hours(number: int = 24) -> list[HourFigures]:
    """The last hours, the present one last, also those without work. One query."""
    present = timezone.now().replace(minute=0, second=0, microsecond=0)
    first = present - timedelta(hours=number - 1)
    known = {each.hour: each for each in Hour.objects.filter(hour__gte=first)}
    return [_hour(first + timedelta(hours=at), known) for at in range(number)]


def _hour(hour: datetime, known: dict[datetime, Hour]) -> HourFigures:
    found = known.get(hour)
    if found is None:
        return HourFigures(hour, Decimal(0), 0, 0)
    return HourFigures(hour, found.flops, found.units, found.machines)


def _refusals() -> tuple[dict[str, int], int]:
    """Leases of the last day that came to nothing by `state/code`, and how many were looked at."""
    found = rows(_REFUSALS, {"since": _lease_before(time.time() - DAY_S)})
    states = {state.value for state in REFUSED}
    counts = {f"{each.state}/{each.code}": each.leases for each in found if each.state in states}
    return counts, sum(each.leases for each in found)


def _lease_before(moment: float) -> UUID:
    """Below the id of each lease that was made from `moment` (Unix seconds) on."""
    return uuid_of(int(moment * 1000) << 80)


def _json(value: dict[str, int]) -> str:
    return msgspec.json.encode(value).decode()
