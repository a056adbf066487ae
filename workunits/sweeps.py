"""What time does to leases and jobs. Each function may run at any time, any number of times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from uuid import UUID

from django.db import transaction

from goblin_wire.protocol import LAB_SEEN_S
from workunits import limits, patience, quorum
from workunits.batches import act_on_all
from workunits.changes import Changes
from workunits.database import rows, run
from workunits.leasetime import failures_sql
from workunits.probe import probe_all
from workunits.quorum import Happening
from workunits.snapshot import lock_units, lock_units_of_leases

BATCH = 500

# While a lab is off line the clocks of its leases stand still.
_DUE = f"""
SELECT p.lease_id FROM workunits_pendinglease p JOIN workunits_labnode n ON n.lab_id = p.lab_id
WHERE p.live AND p.open = %(open)s AND p.deadline < now() AND p.lease_id > %(after)s
  AND (NOT p.open OR n.last_seen > now() - make_interval(secs => {LAB_SEEN_S}))
ORDER BY p.lease_id LIMIT {BATCH}"""  # noqa: S608

_STILL_DUE = """
SELECT lease_id FROM workunits_pendinglease
WHERE lease_id = ANY(%(leases)s) AND live AND open = %(open)s AND deadline < now()"""

_PUT_ASIDE = f"""
UPDATE workunits_pendinglease
SET deadline = now() + make_interval(secs => {limits.PUT_ASIDE_S})
WHERE lease_id = %(lease)s"""  # noqa: S608

_FAILED_HOSTS = f"""
UPDATE workunits_host h
SET failed_in_row = {failures_sql("h.failed_in_row", "v.failed")}, failed_at = now()
FROM (SELECT l.host_id, count(*) AS failed FROM workunits_lease l
      WHERE l.id = ANY(%(leases)s) GROUP BY l.host_id) v
WHERE h.id = v.host_id"""  # noqa: S608

_UNSWEPT = "SELECT id FROM workunits_job WHERE NOT swept ORDER BY id"

_UNDECIDED = f"""
SELECT id FROM workunits_unit
WHERE job_id = %(job)s AND id > %(after)s AND state NOT IN ('accepted', 'cancelled')
ORDER BY id LIMIT {BATCH}"""  # noqa: S608

_SWEPT = "UPDATE workunits_job SET swept = true WHERE id = %(job)s"

_TO_PROBE = f"""
SELECT n.lab_id FROM workunits_labnode n JOIN research_access_lab l ON l.id = n.lab_id
WHERE l.state = 'active' AND n.last_seen > now() - make_interval(secs => {LAB_SEEN_S})
  AND (n.probed_at IS NULL
       OR n.probed_at < now() - make_interval(
            secs => CASE WHEN n.reachable THEN {limits.PROBE_AGAIN_S} ELSE {limits.PROBE_RETRY_S}
                    END))
ORDER BY n.probed_at NULLS FIRST LIMIT {patience.MOST}"""  # noqa: S608

# Ids grow with time, so that a look at the lowest ones is enough.
_OLD_EVENTS = f"""
DELETE FROM workunits_event WHERE id IN (
  SELECT id FROM (SELECT id, created FROM workunits_event ORDER BY id LIMIT %(limit)s) AS lowest
  WHERE created < now() - make_interval(days => {limits.EVENTS_KEPT_DAYS}))"""  # noqa: S608

# A host that comes back later names what it still keeps, and is told then.
_STALE_TOLD = f"""
DELETE FROM workunits_pendinglease WHERE lease_id IN (
  SELECT p.lease_id FROM workunits_pendinglease p JOIN workunits_host h ON h.id = p.host_id
  WHERE NOT p.live AND h.last_seen < now() - make_interval(secs => {limits.ABSENT_S})
  LIMIT %(limit)s)"""  # noqa: S608

_OLD_DEVICES = """
DELETE FROM workunits_device WHERE id IN (
  SELECT id FROM workunits_device WHERE last_seen < now() - interval '30 days' LIMIT %(limit)s)"""


def expire_leases() -> int:
    """Open leases whose time ran out; their units go out again. Returns their number."""
    return _sweep(is_open=True, make=quorum.Expired)


def lapse_reports() -> int:
    """Reports that no lab judged in time."""
    return _sweep(is_open=False, make=quorum.Lapsed)


def _sweep(*, is_open: bool, make: Callable[..., Happening]) -> int:
    def let_go(leases: Sequence[UUID]) -> int:
        return _let_go(leases, is_open=is_open, make=make)

    total, after = 0, UUID(int=0)
    while due := [each.lease_id for each in rows(_DUE, {"open": is_open, "after": after})]:
        total += act_on_all(due, let_go, _put_aside)
        after = due[-1]
    return total


def _put_aside(lease: UUID) -> None:
    """It is looked at again later; until then it stays as it is."""
    run(_PUT_ASIDE, {"lease": lease})


def _let_go(leases: Sequence[UUID], *, is_open: bool, make: Callable[..., Happening]) -> int:
    with transaction.atomic():
        held = lock_units_of_leases(leases)
        by_lease = {lease: unit for unit in held.values() for lease in unit.copies}
        # Asked again under the locks: a lease may have been renewed or reported meanwhile.
        still = [
            each.lease_id
            for each in rows(_STILL_DUE, {"leases": list(leases), "open": is_open})
            if each.lease_id in by_lease
        ]
        changes = Changes()
        for lease in still:
            changes.happen(by_lease[lease], make(lease))
        changes.write()
        if is_open and still:
            run(_FAILED_HOSTS, {"leases": still})
    return len(still)


def sweep_closed_jobs() -> int:
    """Cancel the undecided units of jobs that were cancelled or finished."""
    total = 0
    for job in rows(_UNSWEPT):
        after = 0
        while units := rows(_UNDECIDED, {"job": job.id, "after": after}):
            total += act_on_all([each.id for each in units], _cancel, _leave)
            after = units[-1].id
        run(_SWEPT, {"job": job.id})
    return total


def _leave(_unit: int) -> None:
    """A unit of a closed job goes out to nobody, whatever state it keeps."""


def _cancel(units: Sequence[int]) -> int:
    with transaction.atomic():
        changes = Changes()
        held = lock_units(units)
        for unit in held.values():
            changes.happen(unit, quorum.Cancelled())
        changes.write()
    return len(held)


def probe_labs() -> int:
    """Probe labs that are due: daily, and soon again where it failed."""
    return probe_all([each.lab_id for each in rows(_TO_PROBE)])


def clean_up(batch: int = 10_000) -> int:
    """Remove what nobody reads any more, a batch at a time so that no lock is held for long."""
    removed = 0
    for statement in (_OLD_EVENTS, _STALE_TOLD, _OLD_DEVICES):
        while (gone := run(statement, {"limit": batch})) > 0:
            removed += gone
    return removed


def release(unit: int) -> None:
    """An operator lets a quarantined unit go out again."""
    with transaction.atomic():
        changes = Changes()
        for held in lock_units([unit]).values():
            changes.happen(held, quorum.Released())
        changes.write()
