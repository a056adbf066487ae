"""One look at one returned tile: residuals by row, then entry by entry where it must be."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from opgraph.verification import verdict
from opgraph.verification.agreement import Deviations, agreement
from opgraph.verification.entries import Entries, Place, compute_entries, conviction_bound
from opgraph.verification.overflow import overflow
from opgraph.verification.precision import Array, Floats, summation_terms
from opgraph.verification.reader import MatrixReader, Scratch
from opgraph.verification.regions import DIRECT, REGULAR, ZERO
from opgraph.verification.state import BlockState
from opgraph.verification.thin import add_product, strips
from opgraph.verification.verdict import TileCheck, WrongEntry

REPAIR_SHARE = 0.02
"""Above this share of a tile's rows the tile is issued again instead of repaired."""

_WORST_ROWS = 16
_COMPARED_ROWS = 256


def ratios(state: BlockState, rows: tuple[int, int], tile: Array) -> Floats:
    """Per row the largest |C_i X - Z_i| / base_i; 0 for rows that the vectors do not cover."""
    if not (state.regions.columns == REGULAR).any():
        return np.zeros(len(tile))
    residual = _times_vectors(state, tile)
    residual -= state.projection[rows[0] : rows[1]]
    found: Floats = np.abs(residual).max(axis=1) / state.scale[rows[0] : rows[1]]
    found[np.isnan(found)] = np.inf
    found[state.regions.rows[rows[0] : rows[1]] != REGULAR] = 0.0
    return found


def _times_vectors(state: BlockState, tile: Array) -> Floats:
    out = np.zeros((len(tile), state.signs.shape[1]))
    spoilt = state.regions.columns == DIRECT
    some = bool(spoilt.any())
    vectors: Array | None = state.narrow_vectors
    if tile.dtype == np.float64:
        vectors = state.vectors
    scratch = Scratch()
    for rows, part in strips((len(tile), tile.shape[1])):
        if vectors is not None and not some:
            add_product(tile[rows, part], vectors[part], out[rows])
            continue
        values = scratch.doubles(tile[rows, part])
        if some:
            # Zero times infinity would spoil the sums.
            values[:, spoilt[part]] = 0.0
        add_product(values, state.vectors[part], out[rows])
    return out


class TileJudge:
    """The judgement on one tile, step by step; used once."""

    def __init__(
        self,
        state: BlockState,
        a: MatrixReader,
        b: MatrixReader,
        rows: tuple[int, int],
        tile: Array,
    ) -> None:
        self._state, self._a, self._b = state, a, b
        self._first, self._tile = rows[0], tile
        self._kinds = state.regions.rows[rows[0] : rows[1]]
        self._ratios = ratios(state, rows, tile)
        self._residual = float(self._ratios.max(initial=0.0))
        self._own: dict[int, Array] = {}
        self._deviations = Deviations(len(tile))

    def judge(self) -> TileCheck:
        """Accept, repair, issue again or convict."""
        self._look_at_zeros()
        self._look_at_direct_columns()
        self._look_at_direct_rows()
        replaced = self._deviations.to_be_replaced().tolist()
        self._own = {row: self._own[row] for row in replaced}
        flagged = np.flatnonzero(~(self._ratios <= self._state.factor))
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
        columns = self._state.regions.columns
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
        columns = np.flatnonzero(self._state.regions.columns == DIRECT)
        rows = np.flatnonzero(self._kinds != DIRECT)
        self._compare(rows, columns)

    def _look_at_direct_rows(self) -> None:
        rows = np.flatnonzero(self._kinds == DIRECT)
        self._compare(rows, np.arange(self._tile.shape[1]))

    def _compare(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> None:
        """Compare entry by entry; our own values are made ready for rows that differ."""
        if not (rows.size and columns.size):
            return
        for start in range(0, len(rows), _COMPARED_ROWS):
            part = rows[start : start + _COMPARED_ROWS]
            entries = self._compute(part, columns)
            found = agreement(self._state, entries, self._tile[np.ix_(part, columns)])
            self._flag(part[~found.faultless.all(axis=1)])
            self._deviations.add(part, found)
            ours = self._rounded(entries)
            for index in np.flatnonzero(~found.kept.all(axis=1)):
                row = self._own.setdefault(int(part[index]), self._tile[part[index]].copy())
                row[columns] = ours[index]

    def _wrong_entry(self, rows: NDArray[np.int64], entries: Entries) -> WrongEntry | None:
        """The entry that breaks its bound most. Entries of non-finite data never convict."""
        state, got = self._state, self._tile[rows]
        roundings = summation_terms(state.slice_cuts)
        bound = conviction_bound(entries, roundings, state.terms, state.precision)
        beyond = ~(np.abs(got - entries.values) <= bound) & np.isfinite(entries.magnitude)
        beyond &= ~overflow(entries, roundings, state.terms, state.precision).possible(got)
        if not beyond.any():
            return None
        excess = np.where(beyond, np.abs(got - entries.values) / bound, -1.0)
        excess[beyond & np.isnan(excess)] = np.inf
        row, column = np.unravel_index(int(excess.argmax()), excess.shape)
        want, limit = float(entries.values[row, column]), float(bound[row, column])
        place = int(rows[row]), int(column)
        return WrongEntry(*place, float(got[row, column]), want, limit)

    def _compute(self, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Entries:
        state = self._state
        place = Place(rows + self._first, columns + state.columns[0])
        return compute_entries(self._a, self._b, place)

    def _rounded(self, entries: Entries) -> Array:
        return entries.values.astype(self._state.precision.dtype)
