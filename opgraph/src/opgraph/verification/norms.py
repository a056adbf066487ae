"""Logarithms of the 2-norms of rows and columns, safe against overflow and underflow."""

from __future__ import annotations

import math

import numpy as np

from opgraph.verification.precision import Array, Floats
from opgraph.verification.reader import Cancelled, MatrixReader, Scratch, chunks, pieces

_SAFE = (2.0**-900, 2.0**900)
_SAFE_SINGLE = (2.0**-90, 2.0**120)
"""Sums of float32 squares in this range lost nothing that matters to overflow or underflow."""


class NormAccumulator:
    """Sums of squares and, where squares could leave float64's range, the largest magnitude."""

    def __init__(self, count: int, dtype: np.dtype[np.generic]) -> None:
        self._squares = np.zeros(count)
        # Squares of float32 numbers can neither overflow nor vanish in float64.
        self._largest = np.zeros(count) if dtype.itemsize > 4 else None

    def add(self, where: slice, squares: Floats) -> None:
        """Add sums of squares to the vectors in `where`."""
        self._squares[where] += squares

    def see_rows(self, where: slice, values: Floats, squares: Floats) -> None:
        """Look at the magnitudes in rows, where the squares of their sums left the range."""
        self._see(where, values, squares, axis=1)

    def add_columns(self, values: Array, first: int) -> None:
        """Add the columns of a piece, of which the first belongs to vector `first`."""
        squares = np.einsum("kj,kj->j", values, values)
        low, high = _SAFE_SINGLE if values.dtype == np.float32 else _SAFE
        if bool(((squares > low) & (squares < high)).all()):
            self.add(slice(first, first + len(squares)), squares.astype(np.float64))
            return
        scratch = Scratch()
        for rows, part in pieces(values.shape):
            piece = scratch.doubles(values[rows, part])
            where = slice(first + part.start, first + part.stop)
            squares = np.einsum("kj,kj->j", piece, piece)
            self.add(where, squares)
            self._see(where, piece, squares, axis=0)

    def _see(self, where: slice, values: Floats, squares: Floats, axis: int) -> None:
        low, high = _SAFE
        if self._largest is None or bool(((squares > low) & (squares < high)).all()):
            return
        largest = np.maximum(values.max(axis=axis), -values.min(axis=axis))
        np.maximum(self._largest[where], largest, out=self._largest[where])

    def log2(self, terms: int) -> Floats:
        """log2 of each norm over `terms` entries: -inf for all zero, +inf for non-finite data.

        Outside of 2^+-450 an upper bound, at most log2(terms)/2 too high."""
        norms = np.log2(self._squares) / 2
        if self._largest is not None:
            bound = np.log2(self._largest) + math.log2(terms) / 2
            # Where every piece was within the range its magnitudes were not looked at.
            bound = np.maximum(bound, np.where(np.isposinf(norms), -np.inf, norms))
            safe = (self._squares > _SAFE[0]) & (self._squares < _SAFE[1])
            norms = np.where(safe, norms, bound)
        norms[~np.isfinite(norms) & (norms != -np.inf)] = np.inf
        return norms


def column_norms(
    b: MatrixReader, rows: int, columns: tuple[int, int], cancelled: Cancelled
) -> Floats:
    """log2 of the norms of the first `rows` entries of the given columns of B (K x N)."""
    norms = NormAccumulator(columns[1] - columns[0], b.dtype)
    for chunk in chunks(b, (0, rows), columns, cancelled):
        norms.add_columns(chunk.values, chunk.c0 - columns[0])
    return norms.log2(rows)
