"""The check of a matrix product: secret vectors per column block, then a look at each tile.

Mathematics: docs/verification.md. A tile C of rows r0..r1 is right when C X agrees with Z = A (B X)
row by row; X was drawn from the run's secret before any result was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from opgraph.verification import verdict
from opgraph.verification.judge import TileJudge, ratios
from opgraph.verification.precision import Array, Floats
from opgraph.verification.preparation import Preparation
from opgraph.verification.reader import Cancelled, MatrixReader
from opgraph.verification.state import BlockState
from opgraph.verification.threads import one_blas_thread
from opgraph.verification.verdict import TileCheck

VECTORS = 8


@dataclass(frozen=True, eq=False)
class ColumnBlockCheck:
    """The check of one column block of C = A B; made before any result is looked at.

    Threads may share one check."""

    state: BlockState
    a: MatrixReader
    b: MatrixReader

    @classmethod
    def prepare(
        cls,
        secret: bytes,
        column_block: int,
        columns: tuple[int, int],
        slice_cuts: Sequence[int],
        a: MatrixReader,
        b: MatrixReader,
        *,
        vectors: int = VECTORS,
        generation: int = 0,
        cancelled: Cancelled = None,
    ) -> ColumnBlockCheck:
        """One block alone: B's columns are read twice, A once. See `prepare_all`."""
        preparation = Preparation(secret, slice_cuts, a, b, vectors, generation, cancelled)
        return cls(preparation.states({column_block: columns})[0], a, b)

    @classmethod
    def prepare_all(
        cls,
        secret: bytes,
        column_cuts: Sequence[int],
        slice_cuts: Sequence[int],
        a: MatrixReader,
        b: MatrixReader,
        *,
        vectors: int = VECTORS,
        generation: int = 0,
        cancelled: Cancelled = None,
    ) -> list[ColumnBlockCheck]:
        """A check for every column block, reading A once for all.

        `secret`: 32 bytes of the run. `column_cuts`, `slice_cuts`: ascending, from 0 to N and K.
        `generation`: raised by one when the vectors are rotated. Memory beside the result
        (M x (vectors + 1) float64 per block) is bounded whatever M, K and N. Raises
        ExecutionCancelled, and ValueError for cuts or dtypes that do not fit."""
        preparation = Preparation(secret, slice_cuts, a, b, vectors, generation, cancelled)
        blocks = dict(enumerate(pairwise(column_cuts)))
        return [cls(state, a, b) for state in preparation.states(blocks)]

    @classmethod
    def from_bytes(cls, data: bytes, a: MatrixReader, b: MatrixReader) -> ColumnBlockCheck:
        """A check whose state was kept. Raises StateError for anything but whole, fitting bytes."""
        state = BlockState.from_bytes(data)
        state.must_fit(a, b)
        return cls(state, a, b)

    def to_bytes(self) -> bytes:
        """The state, to be kept as secret as the run's secret itself: it holds the vectors."""
        return self.state.to_bytes()

    @property
    def columns(self) -> tuple[int, int]:
        """First column of the block, and the one behind its last."""
        return self.state.columns

    def ratios(self, rows: tuple[int, int], tile: Array) -> Floats:
        """Per row the largest |C_i X - Z_i| / base_i, to be compared with c; see `judge.ratios`."""
        with one_blas_thread(), np.errstate(all="ignore"):
            return ratios(self.state, rows, tile)

    def verify(self, rows: tuple[int, int], tile: Array) -> TileCheck:
        """Judge the tile of these rows of C and this block's columns. The tile is not modified.

        Costs a few milliseconds for 2048 x 2048; more when rows must be computed again.
        ValueError for rows outside of the product."""
        if not 0 <= rows[0] < rows[1] <= self.a.shape[0]:
            raise ValueError(f"The product has no rows {rows[0]} to {rows[1]}.")
        shape = (rows[1] - rows[0], self.columns[1] - self.columns[0])
        dtype = self.state.precision.dtype
        if tile.shape != shape or tile.dtype != dtype:
            return verdict.misfit(f"{tile.dtype} {tile.shape}", f"{dtype} {shape}")
        with one_blas_thread(), np.errstate(all="ignore"):
            return TileJudge(self.state, self.a, self.b, rows, tile).judge()
