"""The check of a matrix product: secret vectors per column block, then a look at each tile.

Mathematics: docs/verification.md. A tile C of rows r0..r1 is right when C X agrees with Z = A (B X)
row by row; X was drawn from the run's secret before any result was looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from opgraph.verification import verdict
from opgraph.verification.entries import (
    Entries,
    Place,
    compute_entries,
    conviction_bound,
    may_overflow,
)
from opgraph.verification.precision import (
    Array,
    Floats,
    Precision,
    relative_scale,
    summation_terms,
)
from opgraph.verification.reader import Cancelled, MatrixReader, Scratch
from opgraph.verification.regions import DIRECT, REGULAR, ZERO, Regions
from opgraph.verification.threads import one_blas_thread
from opgraph.verification.verdict import TileCheck, WrongEntry

VECTORS = 8
REPAIR_SHARE = 0.02
"""Above this share of a tile's rows the tile is issued again instead of repaired."""

_STEP_ELEMENTS = 1 << 16
_WORST_ROWS = 16


@dataclass(frozen=True, eq=False)
class ColumnBlockCheck:
    """The check of one column block of C = A B; made before any result is looked at.

    `projection`: Z, M x vectors; `scale`: base_i, M; `factor`: c. A row is accepted while
    |C_i X - Z_i| <= c base_i in every vector. Threads may share one check."""

    a: MatrixReader
    b: MatrixReader
    column_block: int
    generation: int
    columns: tuple[int, int]
    slice_cuts: tuple[int, ...]
    regions: Regions
    weights: Floats
    signs: NDArray[np.int8]
    projection: Floats
    scale: Floats
    factor: float

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
        from opgraph.verification.preparation import Preparation

        preparation = Preparation(secret, slice_cuts, a, b, vectors, generation, cancelled)
        return preparation.checks({column_block: columns})[0]

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
        from opgraph.verification.preparation import Preparation

        preparation = Preparation(secret, slice_cuts, a, b, vectors, generation, cancelled)
        pairs = zip(column_cuts, column_cuts[1:], strict=False)
        return preparation.checks(dict(enumerate(pairs)))

    @cached_property
    def precision(self) -> Precision:
        """The format of the product."""
        return Precision.of(self.a.dtype)

    @property
    def terms(self) -> int:
        """K."""
        return self.slice_cuts[-1]

    def verify(self, rows: tuple[int, int], tile: Array) -> TileCheck:
        """Judge the tile of these rows of C and this block's columns. The tile is not modified.

        Costs a few milliseconds for 2048 x 2048; more when rows must be computed again."""
        shape = (rows[1] - rows[0], self.columns[1] - self.columns[0])
        if tile.shape != shape or tile.dtype != self.precision.dtype:
            return verdict.misfit(f"{tile.dtype} {tile.shape}", f"{self.precision.dtype} {shape}")
        with one_blas_thread(), np.errstate(all="ignore"):
            return _TileJudge(self, rows, tile).judge()

    def ratios(self, rows: tuple[int, int], tile: Array) -> Floats:
        """Per row the largest |residual| / base; rows that the vectors do not cover have 0."""
        count = rows[1] - rows[0]
        if not self._x.any():
            return np.zeros(count)
        residual = self._times_vectors(tile)
        residual -= self.projection[rows[0] : rows[1]]
        ratios = np.abs(residual).max(axis=1) / self.scale[rows[0] : rows[1]]
        ratios[np.isnan(ratios)] = np.inf
        ratios[self.regions.rows[rows[0] : rows[1]] != REGULAR] = 0.0
        return np.asarray(ratios)

    @cached_property
    def _x(self) -> Floats:
        covered = np.where(self.regions.columns == REGULAR, self.weights, 0.0)
        return self.signs * covered[:, None]

    @cached_property
    def uncovered_columns(self) -> NDArray[np.int64]:
        """Columns of the block that the vectors leave out: zero ones and direct ones."""
        return np.flatnonzero(self.regions.columns != REGULAR)

    def _times_vectors(self, tile: Array) -> Floats:
        out = np.empty((len(tile), self.signs.shape[1]))
        step = max(1, _STEP_ELEMENTS // max(1, tile.shape[1]))
        scratch = Scratch()
        for start in range(0, len(tile), step):
            values = scratch.doubles(tile[start : start + step])
            if self.uncovered_columns.size:
                values[:, self.uncovered_columns] = 0.0
            np.matmul(values, self._x, out=out[start : start + step])
        return out


class _TileJudge:
    """One look at one tile."""

    def __init__(self, check: ColumnBlockCheck, rows: tuple[int, int], tile: Array) -> None:
        self._check, self._first, self._tile = check, rows[0], tile
        self._kinds = check.regions.rows[rows[0] : rows[1]]
        self._ratios = check.ratios(rows, tile)
        self._residual = float(self._ratios.max(initial=0.0))
        self._own: dict[int, Array] = {}

    def judge(self) -> TileCheck:
        self._look_at_zeros()
        self._look_at_direct_columns()
        self._look_at_direct_rows()
        flagged = np.flatnonzero(~(self._ratios <= self._check.factor))
        if not flagged.size:
            return self._without_flags()
        return self._with_flags(flagged)

    def _without_flags(self) -> TileCheck:
        if self._own:
            return verdict.mended(self._residual, 0, self._own)
        return verdict.accepted(self._residual)

    def _with_flags(self, flagged: NDArray[np.int64]) -> TileCheck:
        allowed = max(1, int(REPAIR_SHARE * len(self._tile)))
        repairable = len(flagged) <= allowed
        looked_at = flagged if repairable else self._worst(flagged)
        entries = self._compute(looked_at, np.arange(self._tile.shape[1]))
        wrong = self._wrong_entry(looked_at, entries)
        if wrong is not None:
            return verdict.convicted(self._residual, len(flagged), wrong)
        if not repairable:
            return verdict.too_inexact(self._residual, len(flagged), len(self._tile))
        self._own.update(zip(looked_at.tolist(), self._rounded(entries), strict=True))
        return verdict.mended(self._residual, len(flagged), self._own)

    def _worst(self, flagged: NDArray[np.int64]) -> NDArray[np.int64]:
        order = np.argsort(-self._ratios[flagged], kind="stable")
        return np.sort(flagged[order[:_WORST_ROWS]])

    def _flag(self, rows: Array) -> None:
        self._ratios[rows] = np.inf

    def _look_at_zeros(self) -> None:
        """Zero rows of A and zero columns of B make zeros, except against non-finite data."""
        columns = self._check.regions.columns
        rows = np.flatnonzero(self._kinds == ZERO)
        if rows.size:
            finite = columns != DIRECT
            self._flag(rows[(self._tile[rows][:, finite] != 0).any(axis=1)])
        empty = np.flatnonzero(columns == ZERO)
        if empty.size:
            finite_rows = np.flatnonzero(self._kinds != DIRECT)
            wrong = (self._tile[:, empty] != 0).any(axis=1)
            self._flag(finite_rows[wrong[finite_rows]])

    def _look_at_direct_columns(self) -> None:
        columns = np.flatnonzero(self._check.regions.columns == DIRECT)
        rows = np.flatnonzero(self._kinds != DIRECT)
        self._compare(rows, columns)

    def _look_at_direct_rows(self) -> None:
        rows = np.flatnonzero(self._kinds == DIRECT)
        self._compare(rows, np.arange(self._tile.shape[1]))

    def _compare(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        """Compare entry by entry; keep our own values where flushing to zero explains it."""
        if not (rows.size and columns.size):
            return
        for start in range(0, len(rows), 512):
            part = rows[start : start + 512]
            entries = self._compute(part, columns)
            near, flushed = self._agreement(entries, self._tile[np.ix_(part, columns)])
            self._flag(part[~(near | flushed).all(axis=1)])
            ours = self._rounded(entries)
            for index in np.flatnonzero(~near.all(axis=1)):
                row = self._own.setdefault(int(part[index]), self._tile[part[index]].copy())
                row[columns] = ours[index]

    def _agreement(
        self, entries: Entries, got: Array
    ) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Where the tile is near the reference, and where only flushing sets it apart."""
        check = self._check
        scale = np.hypot(entries.values, entries.spread)
        limit = check.factor * scale * relative_scale(check.terms, check.terms, check.precision)
        limit = np.where(np.isfinite(limit), limit, -1.0)
        distance = np.abs(got - entries.values)
        near = distance <= limit + check.terms * check.precision.least
        near |= (got == entries.values) | (np.isnan(got) & np.isnan(entries.values))
        near |= ~np.isfinite(got) & self._overflows(entries)
        return near, distance <= limit + check.factor * check.terms * check.precision.tiny

    def _overflows(self, entries: Entries) -> NDArray[np.bool_]:
        check = self._check
        possible = may_overflow(entries, summation_terms(check.slice_cuts), check.precision)
        return possible & ~np.isnan(entries.magnitude)

    def _wrong_entry(self, rows: NDArray[np.int64], entries: Entries) -> WrongEntry | None:
        """The entry that breaks its bound most. Entries of non-finite data never convict."""
        check, got = self._check, self._tile[rows]
        roundings = summation_terms(check.slice_cuts)
        bound = conviction_bound(entries, roundings, check.terms, check.precision)
        beyond = ~(np.abs(got - entries.values) <= bound) & np.isfinite(entries.magnitude)
        beyond &= np.isfinite(got) | ~self._overflows(entries)
        if not beyond.any():
            return None
        excess = np.where(beyond, np.abs(got - entries.values) / bound, -1.0)
        excess[beyond & np.isnan(excess)] = np.inf
        row, column = np.unravel_index(int(excess.argmax()), excess.shape)
        want, limit = float(entries.values[row, column]), float(bound[row, column])
        place = int(rows[row]), int(column)
        return WrongEntry(*place, float(got[row, column]), want, limit)

    def _compute(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Entries:
        check = self._check
        place = Place(rows + self._first, columns + check.columns[0])
        return compute_entries(check.a, check.b, place)

    def _rounded(self, entries: Entries) -> Array:
        return entries.values.astype(self._check.precision.dtype)
