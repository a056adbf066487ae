"""The check of a product of integers: exact, modulo 2^w, without any tolerance.

Freivalds (1977) over a ring. C is right when C X = A (B X) for secret vectors X. A row of errors
D = C - A B whose entries are all divisible by 2^v, and not all by 2^(v+1), is missed by a vector
that is uniform in Z/2^w with probability 2^(v-w): at worst one half, by errors of 2^(w-1). Fixed
vectors or a fixed prime would be forged by adding multiples. So there are 40 vectors; or fewer,
where the numbers prove that nothing wraps: with K max|a| max|b| < 2^b and b below both w and 63,
entries of C must lie within 2^b, so |D| < 2^(b+1), and over Z/2^64 a vector misses 2^(b-64) of
them. Derivation and figures: docs/verification.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from opgraph.catalogue.integer_products import add_product, is_worth_it, product_scratch
from opgraph.tensors import INTEGERS
from opgraph.verification import verdict
from opgraph.verification.precision import Array
from opgraph.verification.reader import Cancelled, MatrixReader, chunks
from opgraph.verification.threads import one_blas_thread
from opgraph.verification.vectors import Draws
from opgraph.verification.verdict import TileCheck, WrongEntry

SECURITY_BITS = 40
"""A wrong row is missed with probability 2^-40 at most."""

_SAMPLE = 128
"""Rows of each operand that may show at once that sums can wrap."""
_SLAB_WORDS = 1 << 22
"""Entries of B X that are held at a time: 32 MiB."""
_WIDE = np.dtype(np.uint64)


@dataclass(frozen=True)
class Rounds:
    """How a product is checked. `bits`: b, where nothing wraps; None: modulo 2^w.

    `dtype`: the ring's, unsigned; `vectors`: how many."""

    bits: int | None
    dtype: np.dtype[Any]
    vectors: int

    @classmethod
    def of(cls, dtype: np.dtype[Any], terms: int, largest: tuple[int, int]) -> Rounds:
        """For K terms of elements that are no larger than `largest`, of A and of B."""
        bits = (terms * largest[0] * largest[1]).bit_length()
        info = np.iinfo(dtype)
        if bits <= min(62, info.bits - (info.kind == "i")):
            return cls(bits, _WIDE, math.ceil(SECURITY_BITS / (63 - bits)))
        return cls(None, np.dtype(f"u{dtype.itemsize}"), SECURITY_BITS)


@dataclass(frozen=True, eq=False)
class ExactCheck:
    """The check of one column block of C = A B; made before any result is looked at.

    `vectors`: X, columns x vectors; `projection`: A (B X), rows x vectors. Threads may share it."""

    a: MatrixReader
    b: MatrixReader
    columns: tuple[int, int]
    rounds: Rounds
    vectors: Array
    projection: Array

    VECTORS: ClassVar[int] = SECURITY_BITS

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
        generation: int = 0,
        cancelled: Cancelled = None,
    ) -> ExactCheck:
        """One block alone: A is read once, B's columns are read twice. See `prepare_all`."""
        (check,) = _prepared(
            cls, secret, {column_block: columns}, slice_cuts, a, b, generation, cancelled
        )
        return check

    @classmethod
    def prepare_all(
        cls,
        secret: bytes,
        column_cuts: Sequence[int],
        slice_cuts: Sequence[int],
        a: MatrixReader,
        b: MatrixReader,
        *,
        generation: int = 0,
        cancelled: Cancelled = None,
    ) -> list[ExactCheck]:
        """A check for every column block; the arguments are those of `ColumnBlockCheck`.

        Both operands are read twice where only the whole of them shows that nothing wraps. Raises
        ExecutionCancelled, and ValueError for cuts or dtypes that do not fit."""
        blocks = dict(enumerate(pairwise(column_cuts)))
        return _prepared(cls, secret, blocks, slice_cuts, a, b, generation, cancelled)

    def verify(self, rows: tuple[int, int], tile: Array) -> TileCheck:
        """Judge the tile of these rows of C and this block's columns. The tile is not modified.

        Accepts, or convicts with the first wrong entry; never repairs. ValueError for rows outside
        of the product."""
        if not 0 <= rows[0] < rows[1] <= self.a.shape[0]:
            raise ValueError(f"The product has no rows {rows[0]} to {rows[1]}.")
        shape = (rows[1] - rows[0], self.columns[1] - self.columns[0])
        dtype = np.dtype(self.a.dtype).newbyteorder("=")
        if tile.shape != shape or tile.dtype != dtype:
            return verdict.misfit(f"{tile.dtype} {tile.shape}", f"{dtype} {shape}")
        with one_blas_thread():
            wrong = self._wrong_rows(rows, tile)
            if not wrong.size:
                return verdict.accepted(0.0)
            return self._convict(rows[0], tile, wrong)

    def _wrong_rows(self, rows: tuple[int, int], tile: Array) -> NDArray[np.intp]:
        found = np.zeros(self.projection[rows[0] : rows[1]].shape, self.rounds.dtype)
        add_lifted(found, tile, self.vectors)
        wrong = (found != self.projection[rows[0] : rows[1]]).any(axis=1)
        if self.rounds.bits is not None:
            wrong |= _outside(tile, self.rounds.bits)
        return np.flatnonzero(wrong)

    def _convict(self, first: int, tile: Array, wrong: NDArray[np.intp]) -> TileCheck:
        """With an entry as evidence: the first row that failed is computed again."""
        row = int(wrong[0])
        want = self._row(first + row)
        differ = np.flatnonzero(want != tile[row])
        if not differ.size:
            # What was read for the vectors and what is read now are not the same numbers.
            return verdict.unproven(len(wrong), len(tile))
        at = int(differ[0])
        entry = WrongEntry(row, at, int(tile[row, at]), int(want[at]), 0)
        return verdict.convicted_exactly(len(wrong), entry)

    def _row(self, row: int) -> Array:
        """One row of the product in this block, from the operands."""
        total = np.zeros((1, self.columns[1] - self.columns[0]), self.a.dtype.newbyteorder("="))
        for chunk in chunks(self.b, (0, self.b.shape[0]), self.columns, None):
            left = self.a.read(row, row + 1, chunk.r0, chunk.r1)
            first = chunk.c0 - self.columns[0]
            total[:, first : first + chunk.c1 - chunk.c0] += left @ chunk.values
        found: Array = total[0]
        return found


def _prepared(
    cls: type[ExactCheck],
    secret: bytes,
    blocks: Mapping[int, tuple[int, int]],
    slice_cuts: Sequence[int],
    a: MatrixReader,
    b: MatrixReader,
    generation: int,
    cancelled: Cancelled,
) -> list[ExactCheck]:
    _must_fit(blocks, slice_cuts, a, b)
    if not blocks:
        return []
    dtype = np.dtype(a.dtype).newbyteorder("=")
    span = min(c0 for c0, _ in blocks.values()), max(c1 for _, c1 in blocks.values())
    with one_blas_thread():
        rounds = Rounds.of(dtype, a.shape[1], _largest(a, b, span, dtype, cancelled))
        vectors = {
            index: Draws(secret, index, generation)
            .words(c1 - c0, rounds.vectors)
            .astype(rounds.dtype)
            for index, (c0, c1) in blocks.items()
        }
        projections = _project(a, b, blocks, vectors, rounds, cancelled)
    return [
        cls(a, b, columns, rounds, vectors[index], projections[index])
        for index, columns in blocks.items()
    ]


def _largest(
    a: MatrixReader,
    b: MatrixReader,
    span: tuple[int, int],
    dtype: np.dtype[Any],
    cancelled: Cancelled,
) -> tuple[int, int]:
    """The largest sizes of A's and B's elements; of a sample, where it shows that sums may wrap."""
    whole = (0, a.shape[1])
    sample = (
        _largest_of(a, (0, min(_SAMPLE, a.shape[0])), whole, cancelled),
        _largest_of(b, (0, min(_SAMPLE, b.shape[0])), span, cancelled),
    )
    if Rounds.of(dtype, a.shape[1], sample).bits is None:
        return sample
    return (
        _largest_of(a, (0, a.shape[0]), whole, cancelled),
        _largest_of(b, (0, b.shape[0]), span, cancelled),
    )


def _largest_of(
    reader: MatrixReader, rows: tuple[int, int], columns: tuple[int, int], cancelled: Cancelled
) -> int:
    largest = 0
    for chunk in chunks(reader, rows, columns, cancelled):
        largest = max(largest, int(chunk.values.max()), -int(chunk.values.min()))
    return largest


def _project(
    a: MatrixReader,
    b: MatrixReader,
    blocks: Mapping[int, tuple[int, int]],
    vectors: Mapping[int, Array],
    rounds: Rounds,
    cancelled: Cancelled,
) -> dict[int, Array]:
    """A (B X) of every block; A and B are read once, so many rows of B at a time as fit."""
    width = len(blocks) * rounds.vectors
    projection = np.zeros((a.shape[0], width), rounds.dtype)
    for k0, k1 in _slabs(a.shape[1], width):
        inner = np.zeros((k1 - k0, width), rounds.dtype)
        for place, (index, columns) in enumerate(blocks.items()):
            part = inner[:, place * rounds.vectors : (place + 1) * rounds.vectors]
            for chunk in chunks(b, (k0, k1), columns, cancelled):
                used = vectors[index][chunk.c0 - columns[0] : chunk.c1 - columns[0]]
                add_lifted(part[chunk.r0 - k0 : chunk.r1 - k0], chunk.values, used)
        for chunk in chunks(a, (0, a.shape[0]), (k0, k1), cancelled):
            used = inner[chunk.c0 - k0 : chunk.c1 - k0]
            add_lifted(projection[chunk.r0 : chunk.r1], chunk.values, used)
    return {
        index: np.ascontiguousarray(
            projection[:, place * rounds.vectors : (place + 1) * rounds.vectors]
        )
        for place, index in enumerate(blocks)
    }


def add_lifted(total: Array, values: Array, vectors: Array) -> None:
    """total += values @ vectors in the ring of `total`, an unsigned dtype that has room for both.

    Signed values stand for what they are modulo 2^w."""
    step = max(1, (1 << 18) // max(1, values.shape[1]))
    for first in range(0, len(values), step):
        part = values[first : first + step].astype(total.dtype)
        m, k, n = *part.shape, vectors.shape[1]
        if is_worth_it(m, k, n):
            scratch = np.empty(product_scratch(m, k, n), np.uint8)
            add_product(total[first : first + step], part, vectors, scratch, _go_on)
        else:
            total[first : first + step] += part @ vectors


def _go_on() -> None:
    """Products this thin take no time worth interrupting."""


def _outside(tile: Array, bits: int) -> NDArray[np.bool_]:
    """Rows with an entry beyond 2^bits in size, which no product of these numbers reaches."""
    beyond = (tile.max(axis=1) >= 2**bits) | (tile.min(axis=1) <= -(2**bits))
    return np.asarray(beyond)


def _slabs(terms: int, width: int) -> Iterator[tuple[int, int]]:
    step = max(1, _SLAB_WORDS // width)
    for first in range(0, terms, step):
        yield first, min(first + step, terms)


def _must_fit(
    blocks: Mapping[int, tuple[int, int]],
    slice_cuts: Sequence[int],
    a: MatrixReader,
    b: MatrixReader,
) -> None:
    dtypes = {np.dtype(each.dtype).newbyteorder("=") for each in (a, b)}
    if len(dtypes) > 1 or next(iter(dtypes)).name not in INTEGERS:
        raise ValueError("Both operands need the same integer dtype.")
    terms = a.shape[1]
    if terms != b.shape[0] or terms < 1:
        raise ValueError(f"No product of {a.shape} by {b.shape} to check.")
    if slice_cuts[0] != 0 or slice_cuts[-1] != terms:
        raise ValueError(f"Slices must lead from 0 to {terms} in rising steps.")
    if not all(0 <= c0 < c1 <= b.shape[1] for c0, c1 in blocks.values()):
        raise ValueError("Column blocks must lie inside B, none of them empty.")
