"""Why there is no work: one code for programs, one sentence for the person at the machine."""

from __future__ import annotations

from typing import NamedTuple

from goblin_wire.exchange import Want
from goblin_wire.protocol import LAB_SEEN_S
from workunits import switches
from workunits.database import Row, row

MIB = 1024 * 1024


class Notice(NamedTuple):
    code: str
    sentence: str


NONE = Notice("ok", "")
LAB_LIMITS = {
    "quota_used": Notice("quota_used", "There is work, but its lab has used up today's quota."),
    "window_full": Notice("window_full", "The labs have as much in flight as they can take in."),
}

# Each flag is one thing that can be in the way, over all units that want a lease.
_WHY = f"""
WITH jobs AS MATERIALIZED (
  SELECT j.id, j.state, l.state = 'active' AND n.reachable
           AND n.last_seen > now() - make_interval(secs => {LAB_SEEN_S}) AS online,
         n.window_units > f.units AND n.window_bytes > f.bytes AS window_open,
         l.daily_flops > coalesce(d.flops, 0) + f.flops AS quota_left,
         w.sentence AS switched_off
  FROM workunits_job j
  JOIN research_access_lab l ON l.id = j.lab_id
  JOIN workunits_labnode n ON n.lab_id = j.lab_id
  LEFT JOIN workunits_labday d
    ON d.lab_id = j.lab_id AND d.day = (now() AT TIME ZONE 'UTC')::date
  CROSS JOIN LATERAL (
    SELECT count(*) AS units, coalesce(sum(p.output_bytes), 0) AS bytes,
           coalesce(sum(p.flops), 0) AS flops
    FROM workunits_pendinglease p WHERE p.lab_id = j.lab_id AND p.live) f
  {switches.of_lab("j.lab_id", "%(account)s")}
  WHERE j.state IN ('open', 'paused')
    AND EXISTS (SELECT 1 FROM workunits_opening o WHERE o.job_id = j.id)
  LIMIT 200
)
SELECT count(*) AS jobs,
       count(*) FILTER (WHERE state = 'open') AS open,
       min(switched_off) FILTER (WHERE state = 'open') AS switched_off,
       count(*) FILTER (WHERE allowed) AS allowed,
       count(*) FILTER (WHERE allowed AND online) AS online,
       count(*) FILTER (WHERE allowed AND online AND quota_left) AS in_quota,
       count(*) FILTER (WHERE allowed AND online AND quota_left AND window_open) AS ready,
       min(o.memory) FILTER (WHERE allowed AND online) AS memory,
       min(o.catalogue) FILTER (WHERE allowed AND online) AS catalogue
FROM (SELECT *, state = 'open' AND switched_off IS NULL AS allowed FROM jobs) AS jobs
LEFT JOIN LATERAL (
  SELECT (SELECT memory FROM workunits_opening WHERE job_id = jobs.id ORDER BY memory LIMIT 1),
         (SELECT catalogue FROM workunits_opening WHERE job_id = jobs.id LIMIT 1)
) o(memory, catalogue) ON true"""  # noqa: S608


def no_work(account: int, short: list[Want]) -> Notice:
    """Why none of these devices of an account got a unit."""
    found = row(_WHY, {"account": account})
    memory = max(want.memory for want in short)
    catalogue = max(want.catalogue for want in short)
    assert found is not None  # noqa: S101 - an aggregate always gives a row
    return _from_labs(found) or _from_devices(found, memory, catalogue)


def _from_labs(found: Row) -> Notice | None:
    if not found.jobs:
        return Notice("no_jobs", "There is no work at the moment; your machine waits for some.")
    if not found.open:
        return Notice("jobs_paused", "All jobs that have work are paused.")
    if not found.allowed:
        return Notice(switches.CODE, found.switched_off)
    if not found.online:
        return Notice("lab_offline", "There is work, but its lab is off line or cannot be reached.")
    if not found.in_quota:
        return LAB_LIMITS["quota_used"]
    if not found.ready:
        return LAB_LIMITS["window_full"]
    return None


def _from_devices(found: Row, memory: int, catalogue: int) -> Notice:
    if found.memory is not None and found.memory > memory:
        return Notice(
            "memory_too_small",
            f"The work that is there needs {_mib(found.memory)} MiB of memory for a unit, and this"
            f" machine offers {memory // MIB} MiB. Raise --memory if you can.",
        )
    if found.catalogue is not None and found.catalogue > catalogue:
        return Notice(
            "catalogue_too_old",
            f"The work that is there needs catalogue {found.catalogue}, and this client has"
            f" {catalogue}. Install the current version.",
        )
    return Notice("needs_others", "What is left is being computed, or waits for other machines.")


def _mib(size: int) -> int:
    return -(-size // MIB)


def slowed_down(seconds: float) -> Notice:
    return Notice(
        "slowed_down",
        "The last units of this machine came to nothing, so it gets the next one in"
        f" {_duration(seconds)}. Its status page says why they failed.",
    )


def account_limit(limit: int, needed: int) -> Notice:
    return Notice(
        "account_limit",
        f"A new account, or one that returned a wrong result, has at most {limit} units at a time,"
        f" until {needed} more were verified.",
    )


def host_limit(limit: int) -> Notice:
    return Notice("host_limit", f"One machine has at most {limit} units at a time.")


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes} minutes" if minutes < 120 else f"{round(minutes / 60)} hours"
