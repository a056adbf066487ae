"""What a job leaves behind to be read: its parts, its report, where its result lies."""

from __future__ import annotations

import time

from goblin_labnode import output as files
from goblin_labnode.node import Node
from goblin_labnode.phases import LeasePhase, Phase, UnitPhase
from goblin_labnode.planning import exposure_sentence, verification_sentence
from goblin_labnode.states import standing
from goblin_labnode.store.database import Row
from goblin_labnode.store.runs import RunRecord
from goblin_wire.control import Part, PartList, Refusal, Report, ResultInfo, Share
from goblin_wire.fields import sentence
from goblin_wire.problems import JobCancelled, JobFailed, NotReady, Problem, ResultExpired

_REFUSALS_SHOWN = 100
PARTS_AT_ONCE = 1000
_DAY_S = 86_400.0


def parts(node: Node, record: RunRecord, after: int) -> PartList:
    """Verified tiles with a number above `after`, in the order of verification."""
    rows = node.database.rows(
        "SELECT u.*, l.volunteer, l.device_class, l.seen_at FROM units AS u LEFT JOIN leases AS l"
        " USING (lease) WHERE u.run = ? AND u.part > ? ORDER BY u.part LIMIT ?",
        record.run,
        after,
        PARTS_AT_ONCE,
    )
    found = [_part(record, row) for row in rows]
    seen = found[-1].number if found else after
    return PartList(parts=found, finished=record.finished and seen >= _count(node, record))


def _part(record: RunRecord, row: Row) -> Part:
    tile = record.plan.tiles[row["number"]]
    return Part(
        number=row["part"],
        unit=row["unit"],
        start=[tile.rows[0], tile.columns[0]],
        stop=[tile.rows[1], tile.columns[1]],
        volunteer=row["volunteer"] or "",
        device_class=row["device_class"] or "",
        repaired_rows=row["repaired_rows"],
        seconds=max(0.0, row["verified_at"] - (row["seen_at"] or row["verified_at"])),
    )


def _count(node: Node, record: RunRecord) -> int:
    row = node.database.row("SELECT count(part) AS n FROM units WHERE run = ?", record.run)
    return 0 if row is None else int(row["n"])


def report(node: Node, record: RunRecord) -> Report:
    """How the result came about, and how far it can be trusted.

    Raises `ResultExpired` once that went with the result.
    """
    _require_kept(node, record)
    plan, now = record.plan, standing(node, record)
    leases = node.database.rows("SELECT * FROM leases WHERE run = ?", record.run)
    units = node.database.rows("SELECT * FROM units WHERE run = ?", record.run)
    verified = [row for row in units if row["state"] == UnitPhase.VERIFIED]
    shares = _shares(record, leases, units)
    ended = record.finished_at
    seconds = 0.0 if ended is None else ended - record.submitted_at
    flops = sum(row["flops"] for row in verified)
    return Report(
        job=record.job,
        name=record.name,
        state=now.state,
        reason=sentence(now.reason, 1000),
        grade=record.request.grade,
        units=len(units),
        verified=len(verified),
        repaired_rows=sum(row["repaired_rows"] for row in verified),
        rows=sum(plan.tiles[row["number"]].shape[0] for row in verified),
        reissued=sum(row["state"] == LeasePhase.REISSUED for row in leases),
        refusals=_refusals(leases),
        volunteers=shares,
        max_residual=_residual(record, leases),
        blind_spot=(record.blind_spot or verification_sentence(plan))[:1000],
        exposure=_exposure(record, shares),
        seconds=seconds,
        check_seconds=record.check_seconds,
        bytes_down=record.bytes_down,
        bytes_up=record.bytes_up,
        bytes_planned=plan.down_bytes(max(1, len(shares))) + plan.up_bytes,
        flops=flops,
        flops_per_s=flops / seconds if seconds > 0 else 0.0,
    )


def _refusals(leases: list[Row]) -> list[Refusal]:
    refused = [row for row in leases if row["state"] in (LeasePhase.REJECTED, LeasePhase.REISSUED)]
    return [
        Refusal(
            unit=row["unit"],
            volunteer=row["volunteer"],
            code=row["code"],
            reason=sentence(row["reason"]),
        )
        for row in refused[:_REFUSALS_SHOWN]
    ]


def _residual(record: RunRecord, leases: list[Row]) -> float | None:
    """Only once the run has ended: before, it would help to forge."""
    if not record.finished:
        return None
    found = [
        row["residual"]
        for row in leases
        if row["state"] == LeasePhase.ACCEPTED and row["residual"] is not None
    ]
    return max(found, default=None)


def _shares(record: RunRecord, leases: list[Row], units: list[Row]) -> list[Share]:
    """What each volunteer did, and saw: of each input the blocks of all units it was given."""
    numbers = {row["unit"]: row["number"] for row in units}
    flops = {row["lease"]: row["flops"] for row in units if row["lease"]}
    return [
        _share(record, volunteer, leases, numbers, flops)
        for volunteer in sorted({row["volunteer"] for row in leases})
    ]


def _share(
    record: RunRecord,
    volunteer: str,
    leases: list[Row],
    numbers: dict[str, int],
    flops: dict[str, int],
) -> Share:
    mine = [row for row in leases if row["volunteer"] == volunteer]
    tiles = [record.plan.tiles[numbers[row["unit"]]] for row in mine if row["unit"] in numbers]
    rows = {tile.rows for tile in tiles}
    columns = {tile.columns for tile in tiles}
    left, right = record.request.names
    seen = {left: _covered(rows, record.plan.m)}
    seen[right] = max(seen.get(right, 0.0), _covered(columns, record.plan.n))
    done = [flops[row["lease"]] for row in mine if row["lease"] in flops]
    return Share(volunteer=volunteer, units=len(done), flops=sum(done), exposure=seen)


def _covered(spans: set[tuple[int, int]], size: int) -> float:
    return sum(end - start for start, end in spans) / max(1, size)


def _exposure(record: RunRecord, shares: list[Share]) -> str:
    left, right = record.request.names
    return exposure_sentence(
        max((share.exposure[left] for share in shares), default=0.0),
        max((share.exposure[right] for share in shares), default=0.0),
    )


def require_result(node: Node, record: RunRecord) -> None:
    """Raise the `Problem` that says why there is no result to have."""
    if record.phase is Phase.FAILED:
        raise JobFailed(f"The job has failed: {record.reason}", reason=record.code)
    if record.phase in (Phase.CANCELLED, Phase.CANCELLING):
        raise JobCancelled(record.reason or None)
    if record.phase is not Phase.DONE:
        raise NotReady(f"The job is not done: {standing(node, record).reason}")
    _require_kept(node, record)
    if not files.is_there(record.output, node.roots):
        raise ResultExpired("The result's file was removed or replaced; submit the job again.")


def _require_kept(node: Node, record: RunRecord) -> None:
    removed = record.output.removed_at
    if removed:
        when = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(removed))
        policy = retention_sentence(node)
        raise ResultExpired(
            f"The result was removed on {when}. {policy} Submit the job again.",
            when=when,
            policy=policy,
        )


def result_info(node: Node, record: RunRecord) -> ResultInfo:
    """Where the result is, with a fresh proof that the reader shares the file system."""
    require_result(node, record)
    output = record.output
    path = node.roots.full(output.place)
    proof, nonce = node.proofs.write(path)
    return ResultInfo(
        path=str(path),
        proof=proof,
        nonce=nonce,
        dtype=output.dtype,
        shape=output.shape,
        bytes=output.data_bytes,
        expires_s=_time_left(node, record),
    )


def _time_left(node: Node, record: RunRecord) -> float | None:
    """Seconds for which the result is still kept; none where it is for good."""
    if not record.output.own or record.finished_at is None:
        return None
    end = record.finished_at + node.config.retention.results_days * _DAY_S
    return max(0.0, end - time.time())


def retention_sentence(node: Node) -> str:
    days = node.config.retention.results_days
    return (
        f"A result whose place the lab node chooses is kept for {days:g} days after the job; one"
        " that you name with `out` is never removed."
    )


def open_result(node: Node, record: RunRecord) -> tuple[int, int, int]:
    """Descriptor, offset of the elements, and their bytes. Raises `Problem`."""
    require_result(node, record)
    try:
        descriptor = node.roots.open(record.output.place)
    except Problem as problem:
        raise ResultExpired(problem.detail) from None
    return descriptor, len(record.output.header), record.output.data_bytes
