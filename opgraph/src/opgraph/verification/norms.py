"""Logarithms of the 2-norms of rows and columns, safe against overflow and underflow."""

from __future__ import annotations

import math

import numpy as np

from opgraph.verification.precision import Array, Floats
from opgraph.verification.reader import Cancelled, Chunk, MatrixReader, Scratch, chunks, pieces

_SAFE = (2.0**-900, 2.0**900)
_SAFE_SINGLE = (2.0**-90, 2.0**120)
"""Sums of float32 squares in this range lost nothing that matters to overflow or underflow."""


class NormAccumulator:
    """Sums of squares and, where squares could leave float64's range, the largest magnitude."""

    def __init__(self, count: int, wide: bool) -> None:
        self._squares = np.zeros(count)
        self._largest = np.zeros(count) if wide else None

    def add(self, where: slice, squares: Floats) -> None:
        """Add sums of squares to the vectors in `where`."""
        self._squares[where] += squares

    def see(self, where: slice, values: Array, axis: int) -> None:
        """Look at the magnitudes of float64 data; float32 squares can't leave the range."""
        if self._largest is not None:
            largest = np.maximum(values.max(axis=axis), -values.min(axis=axis))
            np.maximum(self._largest[where], largest, out=self._largest[where])

    def log2(self, terms: int) -> Floats:
        """log2 of each norm over `terms` entries: -inf for all zero, +inf for non-finite data.

        Outside of 2^+-450 an upper bound, at most log2(terms)/2 too high."""
        norms = np.log2(self._squares) / 2
        if self._largest is not None:
            bound = np.log2(self._largest) + math.log2(terms) / 2
            safe = (self._squares > _SAFE[0]) & (self._squares < _SAFE[1])
            norms = np.where(safe, norms, bound)
        norms[~np.isfinite(norms) & (norms != -np.inf)] = np.inf
        return norms


def needs_magnitudes(dtype: np.dtype[np.generic]) -> bool:
    """Whether squares of this dtype can overflow or vanish in float64."""
    return dtype.itemsize > 4


def column_norms(b: MatrixReader, columns: tuple[int, int], cancelled: Cancelled) -> Floats:
    """log2 |b_j| of the given columns of B (K x N), in one pass."""
    wide = needs_magnitudes(b.dtype)
    norms = NormAccumulator(columns[1] - columns[0], wide)
    scratch = Scratch()
    for chunk in chunks(b, (0, b.shape[0]), columns, cancelled):
        if not wide and _add_singles(norms, chunk, columns[0]):
            continue
        for rows, part in pieces(chunk.values.shape):
            values = scratch.doubles(chunk.values[rows, part])
            first = chunk.c0 - columns[0]
            where = slice(first + part.start, first + part.stop)
            norms.see(where, values, axis=0)
            norms.add(where, np.einsum("kj,kj->j", values, values))
    return norms.log2(b.shape[0])


def _add_singles(norms: NormAccumulator, chunk: Chunk, first: int) -> bool:
    """Sum a chunk in float32, a quarter of the cost; False where its range does not suffice."""
    squares = np.einsum("kj,kj->j", chunk.values, chunk.values)
    low, high = _SAFE_SINGLE
    if not bool(((squares > low) & (squares < high)).all()):
        return False
    norms.add(slice(chunk.c0 - first, chunk.c1 - first), squares.astype(np.float64))
    return True
