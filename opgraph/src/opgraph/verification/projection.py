"""The streaming passes: Z = A (B X) and the squared scale (A*A)((B*B) w^2), for many blocks.

B is read once here, A once for all blocks together; what is held is a chunk of each, K-slabs of
B X, and the results (M x vectors per block)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opgraph.verification.calibration import Calibration
from opgraph.verification.norms import NormAccumulator, needs_magnitudes
from opgraph.verification.precision import Array, Floats
from opgraph.verification.reader import (
    Cancelled,
    Chunk,
    MatrixReader,
    Scratch,
    chunks,
    pieces,
    read_rows,
)
from opgraph.verification.regions import DIRECT, REGULAR, Kinds

_SLAB_ELEMENTS = 1 << 22


@dataclass
class BlockWork:
    """One column block while it is prepared."""

    columns: tuple[int, int]
    kinds: Kinds
    weights: Floats
    signs: NDArray[np.int8]
    calibration: Calibration

    def vectors(self) -> Floats:
        """X, columns x vectors: signs times weights, zero on columns that are not covered."""
        return self.signs * self.covered()[:, None]

    def covered(self) -> Floats:
        """The weights, zero on columns that the vectors do not cover."""
        return np.where(self.kinds == REGULAR, self.weights, 0.0)


@dataclass(frozen=True)
class Projection:
    """What both passes found: Z (M x all vectors), squares (M x blocks), log2 |a_i|."""

    z: Floats
    squares: Floats
    log2_a: Floats

    def of_block(self, index: int, vectors: int) -> Floats:
        """Z of one block, M x vectors."""
        return np.ascontiguousarray(self.z[:, index * vectors : (index + 1) * vectors])


def project(
    a: MatrixReader, b: MatrixReader, blocks: Sequence[BlockWork], cancelled: Cancelled
) -> Projection:
    """Stream both operands. Rows of A with non-finite entries come out non-finite."""
    passes = _Passes(a, b, blocks, cancelled)
    passes.run()
    return Projection(passes.z, passes.squares, passes.norms.log2(a.shape[1]))


class _Passes:
    def __init__(
        self, a: MatrixReader, b: MatrixReader, blocks: Sequence[BlockWork], cancelled: Cancelled
    ) -> None:
        self._a, self._b, self._cancelled = a, b, cancelled
        self._columns = [_Column(block) for block in blocks]
        self._width = sum(column.x.shape[1] for column in self._columns)
        self._scratch = Scratch()
        self.z = np.zeros((a.shape[0], self._width))
        self.squares = np.zeros((a.shape[0], len(blocks)))
        self.norms = NormAccumulator(a.shape[0], needs_magnitudes(a.dtype))

    def run(self) -> None:
        terms = self._a.shape[1]
        slab = max(1, _SLAB_ELEMENTS // (self._width + len(self._columns) + 1))
        for start in range(0, terms, slab):
            self._slab(start, min(start + slab, terms))

    def _slab(self, start: int, end: int) -> None:
        right = np.zeros((end - start, self._width))
        # The last column of ones makes the rows' own norms.
        squares = np.zeros((end - start, len(self._columns) + 1))
        squares[:, -1] = 1.0
        self._multiply_b(start, end, right, squares)
        for chunk in chunks(self._a, (0, self._a.shape[0]), (start, end), self._cancelled):
            part = slice(chunk.c0 - start, chunk.c1 - start)
            self._multiply_a(chunk, right[part], squares[part])

    def _multiply_b(self, start: int, end: int, right: Floats, squares: Floats) -> None:
        span = (self._columns[0].block.columns[0], self._columns[-1].block.columns[1])
        for column in self._columns:
            column.begin(self._a, start, end)
        for chunk in chunks(self._b, (start, end), span, self._cancelled):
            part, at = slice(chunk.r0 - start, chunk.r1 - start), 0
            for index, column in enumerate(self._columns):
                width = column.x.shape[1]
                into = right[part, at : at + width]
                column.add(chunk, start, into, squares[part, index], self._scratch)
                at += width

    def _multiply_a(self, chunk: Chunk, right: Floats, squares: Floats) -> None:
        for within, part in pieces(chunk.values.shape):
            rows = slice(chunk.r0 + within.start, chunk.r0 + within.stop)
            values = self._scratch.doubles(chunk.values[within, part])
            self.norms.see(rows, values, axis=1)
            self.z[rows] += values @ right[part]
            np.square(values, out=values)
            sums = values @ squares[part]
            self.squares[rows] += sums[:, :-1]
            self.norms.add(rows, sums[:, -1])


class _Column:
    """One column block within the pass over B."""

    def __init__(self, block: BlockWork) -> None:
        self.block = block
        self.x = block.vectors()
        self._squared_weights = np.square(block.covered())
        self._direct = block.kinds == DIRECT
        self._drawn = block.calibration.columns + block.columns[0]
        self._a_rows: Array = np.empty((0, 0))
        self._b_rows: Array = np.empty((0, 0))

    def begin(self, a: MatrixReader, start: int, end: int) -> None:
        """Read the calibration's rows of A for this slab of K."""
        self._a_rows = read_rows(a, self.block.calibration.rows, start, end)

    def add(
        self, chunk: Chunk, start: int, into: Floats, squares: Floats, scratch: Scratch
    ) -> None:
        """Add this chunk's share of B X and (B*B) w^2, where it meets the block."""
        low, high = max(self.block.columns[0], chunk.c0), min(self.block.columns[1], chunk.c1)
        if low >= high:
            return
        values = chunk.values[:, low - chunk.c0 : high - chunk.c0]
        for rows, part in pieces(values.shape):
            first = low - self.block.columns[0]
            inside = slice(first + part.start, first + part.stop)
            self._multiply(values[rows, part], inside, into[rows], squares[rows], scratch)
        self._calibrate(chunk, start)

    def _multiply(
        self, piece: Array, inside: slice, into: Floats, squares: Floats, scratch: Scratch
    ) -> None:
        values = scratch.doubles(piece)
        if self._direct[inside].any():
            # Zero times infinity would spoil the sums.
            values[:, self._direct[inside]] = 0.0
        into += values @ self.x[inside]
        np.square(values, out=values)
        squares += values @ self._squared_weights[inside]

    def _calibrate(self, chunk: Chunk, start: int) -> None:
        if self._b_rows.shape[0] != chunk.r1 - chunk.r0:
            self._b_rows = np.empty((chunk.r1 - chunk.r0, len(self._drawn)), chunk.values.dtype)
        here = (self._drawn >= chunk.c0) & (self._drawn < chunk.c1)
        self._b_rows[:, here] = chunk.values[:, self._drawn[here] - chunk.c0]
        if chunk.c1 >= self.block.columns[1]:
            a_rows = self._a_rows[:, chunk.r0 - start : chunk.r1 - start]
            self.block.calibration.add(a_rows, self._b_rows, chunk.r0)
