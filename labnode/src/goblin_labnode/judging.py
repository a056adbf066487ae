"""Verification of uploaded tiles, and what follows: the output, the records, the verdict."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_labnode.phases import LeasePhase
from goblin_labnode.runs import Run
from goblin_labnode.staging import StagedFile
from goblin_labnode.store.units import LeaseRecord
from goblin_wire.lab import Verdict
from goblin_wire.protocol import MIB
from goblin_wire.states import VerdictKind
from opgraph.partition.product import Tile
from opgraph.verification.choosing import BlockCheck
from opgraph.verification.verdict import TileCheck

BAND_BYTES = 64 * MIB
"""A tile above this size is judged, and copied, in bands of rows of it."""

_KINDS = {
    "accept": (VerdictKind.ACCEPTED, LeasePhase.ACCEPTED),
    "repair": (VerdictKind.ACCEPTED, LeasePhase.ACCEPTED),
    "reissue": (VerdictKind.REISSUED, LeasePhase.REISSUED),
    "convict": (VerdictKind.REJECTED, LeasePhase.REJECTED),
}
_GRAVITY = ("accept", "repair", "reissue", "convict")


@dataclass(frozen=True)
class Judgement:
    """What was found about one lease's tile. `seconds`: CPU time of the check."""

    lease: LeaseRecord
    number: int
    kind: VerdictKind
    phase: LeasePhase
    code: str
    reason: str
    residual: float
    repaired_rows: int
    seconds: float

    @property
    def accepted(self) -> bool:
        return self.kind is VerdictKind.ACCEPTED

    def verdict(self) -> Verdict:
        """As the site is told; to whoever computed the tile accept and repair look the same."""
        told = self.code if not self.accepted else "ok"
        reason = self.reason[:500] if not self.accepted else ""
        return Verdict(
            lease=self.lease.lease,
            unit=self.lease.unit,
            verdict=self.kind,
            outputs=[self.lease.digest or ""],
            code=told,
            reason=reason,
            repaired_rows=self.repaired_rows,
        )


def judge(run: Run, lease: LeaseRecord, staged: StagedFile) -> Judgement:
    """Check a received tile; if it is right it is written into the output, not yet synced.

    Raises `Problem` where the disk or an input fails; then nothing is said about the tile.
    """
    number = run.numbers[lease.unit]
    tile = run.tile(number)
    began = time.thread_time()
    bands = _Bands(run, tile, staged)
    found = bands.judge(run.checks[tile.column_block])
    worst = max((each for _, each in found), key=lambda each: _GRAVITY.index(each.outcome))
    kind, phase = _KINDS[worst.outcome]
    if kind is VerdictKind.ACCEPTED:
        bands.copy(found)
    else:
        run.check_inputs()
        run.check_panels(tile)
    return Judgement(
        lease,
        number,
        kind,
        phase,
        worst.code,
        worst.reason,
        max(each.residual for _, each in found),
        sum(len(each.repaired) for _, each in found),
        time.thread_time() - began,
    )


class _Bands:
    """A tile in staging, a band of rows at a time; one that fits into a band is read once."""

    def __init__(self, run: Run, tile: Tile, staged: StagedFile) -> None:
        self._run = run
        self._tile = tile
        self._staged = staged
        rows, columns = tile.shape
        height = max(1, BAND_BYTES // (columns * numpy.dtype(run.plan.dtype).itemsize))
        self._starts = range(0, rows, height)
        self._buffer = run.buffers.array((min(height, rows), columns), run.plan.dtype)
        self._held = -1

    def judge(self, check: BlockCheck) -> list[tuple[int, TileCheck]]:
        """First row of each band and what was found; ends at the first band that is refused."""
        found: list[tuple[int, TileCheck]] = []
        for start in self._starts:
            band = self._band(start)
            first = self._tile.rows[0] + start
            result = check.verify((first, first + len(band)), band)
            found.append((start, result))
            if result.outcome in ("reissue", "convict"):
                break
        return found

    def copy(self, found: list[tuple[int, TileCheck]]) -> None:
        """Write the tile into the output, with the rows that we computed ourselves."""
        output = self._run.output
        if output is None:
            raise RuntimeError("the output is not open")
        for start, result in found:
            band = self._band(start)
            for row, values in result.repaired.items():
                band[row] = values
            output.write(self._tile.rows[0] + start, self._tile.columns[0], band)
            if result.repaired:
                self._held = -1

    def _band(self, start: int) -> NDArray[Any]:
        band = self._buffer[: min(len(self._buffer), self._tile.shape[0] - start)]
        if self._held != start:
            self._staged.read_rows(start, band)
            self._held = start
        return band
