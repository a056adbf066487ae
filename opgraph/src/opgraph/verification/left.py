"""The pass over A: its products with B X and with the squared scale of B's rows, and its norms."""

from __future__ import annotations

import numpy as np

from opgraph.verification.norms import NormAccumulator
from opgraph.verification.precision import Array, Floats
from opgraph.verification.reader import Cancelled, MatrixReader, Scratch, chunks
from opgraph.verification.thin import add_product, strips

_SPREAD = 2.0**-40
"""Rows of B whose scales differ by less leave float32 room for all sums."""
_SINGLE_SQUARES = (2.0**-60, 2.0**60)
"""Squared norms of rows of A for which float32 does as well."""


class LeftPass:
    """Sums over K, slab by slab: `z` (M x vectors), `squares` (M x blocks), norms of the rows."""

    def __init__(
        self, a: MatrixReader, vectors: int, blocks: int, single: bool, cancelled: Cancelled
    ) -> None:
        self._a, self._single, self._cancelled = a, single, cancelled
        self._scratch, self._doubles, self._squared = Scratch(np.float32), Scratch(), Scratch()
        self.z = np.zeros((a.shape[0], vectors))
        self.squares = np.zeros((a.shape[0], blocks))
        self.norms = NormAccumulator(a.shape[0], a.dtype)

    def multiply(self, terms: tuple[int, int], right: Floats, squares: Floats) -> None:
        """Add A[:, terms] @ right and (A*A)[:, terms] @ squares."""
        # A last column of ones makes the rows' own norms.
        scales = np.concatenate([squares, np.ones((len(squares), 1))], axis=1)
        narrow = _narrow(right, squares) if self._single else None
        for chunk in chunks(self._a, (0, self._a.shape[0]), terms, self._cancelled):
            for within, part in strips(chunk.values.shape):
                rows = slice(chunk.r0 + within.start, chunk.r0 + within.stop)
                first = chunk.c0 - terms[0]
                inside = slice(first + part.start, first + part.stop)
                piece = chunk.values[within, part]
                if narrow is None or not self._add_single(rows, piece, inside, *narrow):
                    self._add_double(rows, piece, right[inside], scales[inside])

    def _add_single(
        self, rows: slice, piece: Array, inside: slice, right: Array, scales: Array
    ) -> bool:
        """False, and nothing added, where the range of float32 does not suffice."""
        squared = self._scratch.like(piece)
        np.square(piece, out=squared)
        sums = np.zeros((len(piece), scales.shape[1]))
        add_product(squared, scales[inside], sums)
        norms, (low, high) = sums[:, -1], _SINGLE_SQUARES
        fits = (norms > low) & (norms < high)
        if not fits.all() and piece[~fits].any():
            return False
        add_product(piece, right[inside], self.z[rows])
        self._add_squares(rows, sums)
        return True

    def _add_double(self, rows: slice, piece: Array, right: Floats, scales: Floats) -> None:
        values: Floats = piece if piece.dtype == np.float64 else self._doubles.doubles(piece)
        add_product(values, right, self.z[rows])
        sums = np.zeros((len(piece), scales.shape[1]))
        add_product(np.square(values, out=self._squared.like(values)), scales, sums)
        self._add_squares(rows, sums)
        self.norms.see_rows(rows, values, sums[:, -1])

    def _add_squares(self, rows: slice, sums: Floats) -> None:
        self.squares[rows] += sums[:, :-1]
        self.norms.add(rows, sums[:, -1])


def _narrow(right: Floats, squares: Floats) -> tuple[Array, Array] | None:
    """Both in float32, with the column of ones; None where its range does not suffice."""
    largest = squares.max(axis=0, initial=0.0)
    smallest = np.where(squares > 0, squares, np.inf).min(axis=0, initial=np.inf)
    some = largest > 0
    if not (smallest[some] > _SPREAD * largest[some]).all() or not (largest < 1 / _SPREAD).all():
        return None
    if not (largest[some] > _SPREAD).all():
        return None
    scales = np.ones((len(squares), squares.shape[1] + 1), dtype=np.float32)
    scales[:, :-1] = squares
    return right.astype(np.float32), scales
