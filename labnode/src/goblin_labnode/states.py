"""What people are told of a job: its state, the sentence that says why, its progress."""

from __future__ import annotations

import time
from typing import NamedTuple

from goblin_labnode.node import Node
from goblin_labnode.phases import LeasePhase, Phase, UnitPhase
from goblin_labnode.runs import Run
from goblin_labnode.site_state import SiteState
from goblin_labnode.store.runs import RunRecord
from goblin_wire.control import JobInfo, Progress, TimeRange
from goblin_wire.fields import sentence
from goblin_wire.states import JobState
from opgraph.partition.estimate import duration

_PHASES = {
    Phase.PAUSED: JobState.PAUSED,
    Phase.DONE: JobState.DONE,
    Phase.FAILED: JobState.FAILED,
    Phase.CANCELLING: JobState.CANCELLING,
    Phase.CANCELLED: JobState.CANCELLED,
}


SWITCHED_OFF = "switched_off"
"""The code of a job that waits since the site's operators stopped its lab, or everything."""


class Standing(NamedTuple):
    state: JobState
    code: str
    reason: str
    by: str


def standing(node: Node, record: RunRecord) -> Standing:
    """State and reason of a job now; the reason is never empty."""
    phase = _PHASES.get(record.phase)
    if phase is JobState.CANCELLING:
        return Standing(phase, record.code, _cancelling(node, record), record.cause)
    if phase is not None:
        return Standing(phase, record.code, record.reason or phase.value, record.cause)
    run = node.run(record.run)
    if run is None:
        return Standing(JobState.PLANNING, "ok", "The job is being taken up.", "lab")
    return _active(node.site, run)


def _active(site: SiteState, run: Run) -> Standing:
    total = len(run.units)
    leased, received = run.leased_units(), run.received_units()
    planned = run.count(UnitPhase.PLANNED)
    registered = run.count(UnitPhase.REGISTERED)
    working = len(leased - received)
    if received and not working and run.verified + len(received) == total:
        reason = f"{len(received)} results are here and wait for verification."
        return Standing(JobState.VERIFYING, "ok", reason, "lab")
    if working or received:
        reason = f"{working} of {total} units are being computed, {run.verified} are verified."
        if site.notice:
            reason = f"{reason} No more are given out: {site.notice}"
        return Standing(JobState.RUNNING, "ok", reason, "site")
    if planned and not registered:
        return _planning(site, run)
    return _waiting(site, run)


def _planning(site: SiteState, run: Run) -> Standing:
    if site.trouble is not None and not run.count(UnitPhase.PLANNED):
        return _waiting(site, run)
    panels = _panel_count(run)
    reason = f"{len(run.blobs)} of {panels} panels are hashed."
    return Standing(JobState.PLANNING, "ok", reason, "lab")


def _waiting(site: SiteState, run: Run) -> Standing:
    code, reason, by = _waits_for(site, run)
    return Standing(JobState.WAITING, code, reason, by)


def _waits_for(site: SiteState, run: Run) -> tuple[str, str, str]:
    if site.trouble is not None:
        since = duration(max(0.0, time.time() - site.trouble_since))
        return site.trouble[0], f"The site has not answered for {since}: {site.trouble[1]}", "lab"
    if run.held is not None:
        return run.held[0], f"The site holds the job back: {run.held[1] or run.held[0]}", "site"
    if run.count(UnitPhase.READY) and not run.count(UnitPhase.REGISTERED):
        return "ok", "The site is being told of the units.", "lab"
    if site.notice:
        return SWITCHED_OFF, f"The site gives out none of this lab's units: {site.notice}", "site"
    if not site.reachability.reachable:
        said = site.reachability.reason or "the site has not looked yet."
        return (
            site.reachability.code,
            f"The lab's endpoint is not known to be reachable: {said}",
            ("site"),
        )
    stuck = [unit for unit in run.units if unit.quarantine]
    if stuck and run.verified + len(stuck) == len(run.units):
        return "quarantined", f"{len(stuck)} units are held back: {stuck[0].quarantine}", "site"
    if not site.network.devices:
        return "no_volunteers", f"0 volunteers are online, {_last_seen(site)}.", "site"
    count = site.network.devices
    return "ok", f"{count} devices are online; none has taken a unit of this job yet.", "site"


def _last_seen(site: SiteState) -> str:
    seconds = site.network.last_seen_s
    return "none was ever seen" if seconds is None else f"last seen {duration(seconds)} ago"


def _cancelling(node: Node, record: RunRecord) -> str:
    trouble = node.site.trouble
    if trouble is not None:
        return f"{record.reason} The site was not reached yet: {trouble[1]}"[:1000]
    return f"{record.reason} Volunteers who work on it are being told."


def _panel_count(run: Run) -> int:
    plan = run.plan
    rows, columns = len(plan.row_cuts) - 1, len(plan.column_cuts) - 1
    return (len(plan.slice_cuts) - 1) * (rows + columns)


def job_info(node: Node, record: RunRecord) -> JobInfo:
    """Everything that a job's card shows."""
    version = node.changes.version(record.job)
    now = standing(node, record)
    return JobInfo(
        job=record.job,
        name=record.name,
        attempt=record.attempt,
        state=now.state,
        code=now.code,
        reason=sentence(now.reason, 1000),
        by=now.by,
        age_s=max(0.0, time.time() - record.phase_at),
        submitted_s=max(0.0, time.time() - record.submitted_at),
        version=version,
        progress=progress(node, record),
        shape=record.request.shape,
        dtype=record.request.dtype,
    )


def progress(node: Node, record: RunRecord) -> Progress:
    """Counts of units and bytes; `left` from the speed so far."""
    run = node.run(record.run)
    units = len(record.plan.tiles)
    ended = record.finished_at or time.time()
    elapsed = max(0.0, ended - record.submitted_at)
    found = Progress(
        units=units,
        flops=record.plan.flops,
        elapsed_s=elapsed,
        bytes_down=record.bytes_down,
        bytes_up=record.bytes_up,
    )
    if run is not None:
        _count_live(found, run)
    else:
        _count_stored(found, node, record)
    if elapsed > 0:
        found.flops_per_s = found.flops_verified / elapsed
    if run is not None and found.flops_verified:
        left = (found.flops - found.flops_verified) / found.flops_per_s
        found.left = TimeRange(low_s=0.7 * left, high_s=1.5 * left)
    return found


def _count_live(found: Progress, run: Run) -> None:
    with run.lock:
        leases = list(run.leases.values())
    found.verified = run.verified
    found.registered = run.count(UnitPhase.REGISTERED) + found.verified
    found.leased = len(run.leased_units())
    found.uploaded = found.verified + len(run.received_units())
    found.refused = sum(each.state is LeasePhase.REJECTED for each in leases)
    found.reissued = sum(each.state is LeasePhase.REISSUED for each in leases)
    found.flops_verified = run.flops_verified


def _count_stored(found: Progress, node: Node, record: RunRecord) -> None:
    if record.output.removed_at:  # it was done, and its units are not kept
        found.verified = found.uploaded = found.registered = found.units
        found.flops_verified = found.flops
        return
    row = node.database.row(
        "SELECT count(*) AS verified, coalesce(sum(flops), 0) AS flops FROM units"
        " WHERE run = ? AND state = ?",
        record.run,
        UnitPhase.VERIFIED,
    )
    if row is not None:
        found.verified = found.uploaded = found.registered = row["verified"]
        found.flops_verified = row["flops"]
    for state in node.database.rows(
        "SELECT state, count(*) AS n FROM leases WHERE run = ? GROUP BY state", record.run
    ):
        if state["state"] == LeasePhase.REJECTED:
            found.refused = state["n"]
        elif state["state"] == LeasePhase.REISSUED:
            found.reissued = state["n"]
