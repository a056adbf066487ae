"""The streaming passes: Z = A (B X) and the squared scale (A*A)((B*B) w^2), for many blocks.

Each operand is read once, A for all blocks together; what is held is a chunk of each, a slab of
B X along K, and the results (M x vectors per block)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opgraph.verification.calibration import Calibration
from opgraph.verification.left import LeftPass
from opgraph.verification.norms import NormAccumulator
from opgraph.verification.precision import SINGLE_RANGE, Array, Floats
from opgraph.verification.reader import Cancelled, Chunk, MatrixReader, Scratch, chunks, read_rows
from opgraph.verification.regions import DIRECT, REGULAR, Kinds
from opgraph.verification.thin import add_product, strips

_SLAB_ELEMENTS = 1 << 21
_ESTIMATE_TERMS, _ESTIMATE_VECTORS = 512, 8


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


class Projector:
    """Both passes, slab by slab of K. Rows of A with non-finite entries come out non-finite."""

    def __init__(
        self,
        a: MatrixReader,
        b: MatrixReader,
        blocks: Sequence[BlockWork],
        single: bool,
        cancelled: Cancelled,
    ) -> None:
        """`single`: whether sums of a few float32 terms in float32 are exact enough."""
        self._a, self._b, self._cancelled = a, b, cancelled
        vectors = blocks[0].signs.shape[1]
        self._estimates = a.shape[1] >= _ESTIMATE_TERMS and vectors >= _ESTIMATE_VECTORS
        self._columns = [_Column(block, single, self._estimates) for block in blocks]
        self._span = blocks[0].columns[0], blocks[-1].columns[1]
        self._width = len(blocks) * vectors
        self._left = LeftPass(a, self._width, len(blocks), single, cancelled)
        self._norms: NormAccumulator | None = None
        self._first: tuple[Floats, Floats] | None = None

    def slabs(self) -> list[tuple[int, int]]:
        """K in pieces for which B X is held at once."""
        terms = self._a.shape[1]
        step = max(1, _SLAB_ELEMENTS // (self._width + len(self._columns) + 1))
        return [(start, min(start + step, terms)) for start in range(0, terms, step)]

    def norms_of_b(self) -> Floats:
        """log2 |b_j|, found in the pass over B that `run` then need not make. Of a single slab."""
        self._norms = NormAccumulator(self._span[1] - self._span[0], self._b.dtype)
        self._first = self._multiply_b(0, self._a.shape[1])
        return self._norms.log2(self._b.shape[0])

    def run(self) -> Projection:
        """What is not done yet."""
        for start, end in self.slabs():
            self._slab(start, end)
        return Projection(self._left.z, self._left.squares, self._left.norms.log2(self._a.shape[1]))

    def _slab(self, start: int, end: int) -> None:
        right, squares = self._first or self._multiply_b(start, end)
        self._left.multiply((start, end), right, squares)

    def _multiply_b(self, start: int, end: int) -> tuple[Floats, Floats]:
        right = np.zeros((end - start, self._width))
        squares = np.zeros((end - start, len(self._columns)))
        for column in self._columns:
            column.begin(self._a, start, end)
        for chunk in chunks(self._b, (start, end), self._span, self._cancelled):
            self._multiply_chunk(chunk, start, right, squares)
        if self._estimates:
            each = right.reshape(end - start, len(self._columns), -1)
            squares = np.einsum("kbv,kbv->kb", each, each) / each.shape[2]
        return right, squares

    def _multiply_chunk(self, chunk: Chunk, start: int, right: Floats, squares: Floats) -> None:
        part, at = slice(chunk.r0 - start, chunk.r1 - start), 0
        if self._norms is not None:
            self._norms.add_columns(chunk.values, chunk.c0 - self._span[0])
        for index, column in enumerate(self._columns):
            width = column.vectors
            column.add(chunk, start, right[part, at : at + width], squares[part, index])
            at += width


class _Column:
    """One column block within the pass over B."""

    def __init__(self, block: BlockWork, single: bool, estimates: bool) -> None:
        self.block = block
        self.vectors = block.signs.shape[1]
        covered = block.covered()
        self._direct = block.kinds == DIRECT
        used = covered[covered > 0]
        near = bool(((used < SINGLE_RANGE) & (used > 1 / SINGLE_RANGE)).all())
        self._single = single and near
        self._exact = not estimates
        self._x = block.vectors()
        self._narrow = self._x.astype(np.float32) if self._single else None
        self._squared_weights = np.square(covered)
        self._drawn = block.calibration.columns + block.columns[0]
        self._scratch = Scratch()
        self._a_rows: Array = np.empty((0, 0))
        self._b_rows: Array = np.empty((0, 0))

    def begin(self, a: MatrixReader, start: int, end: int) -> None:
        """Read the calibration's rows of A for this slab of K."""
        self._a_rows = read_rows(a, self.block.calibration.rows, start, end)

    def add(self, chunk: Chunk, start: int, into: Floats, squares: Floats) -> None:
        """Add this chunk's share of B X and (B*B) w^2, where it meets the block."""
        low, high = max(self.block.columns[0], chunk.c0), min(self.block.columns[1], chunk.c1)
        if low >= high:
            return
        values = chunk.values[:, low - chunk.c0 : high - chunk.c0]
        for rows, part in strips(values.shape):
            first = low - self.block.columns[0]
            inside = slice(first + part.start, first + part.stop)
            self._multiply(values[rows, part], inside, into[rows], squares[rows])
        self._calibrate(chunk, start)

    def _multiply(self, piece: Array, inside: slice, into: Floats, squares: Floats) -> None:
        spoilt = bool(self._direct[inside].any())
        if self._narrow is not None and not self._exact and not spoilt:
            add_product(piece, self._narrow[inside], into)
            return
        if piece.dtype == np.float64 and not self._exact and not spoilt:
            add_product(piece, self._x[inside], into)
            return
        values = self._scratch.doubles(piece)
        if spoilt:
            # Zero times infinity would spoil the sums.
            values[:, self._direct[inside]] = 0.0
        add_product(values, self._x[inside], into)
        if self._exact:
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
