"""How the check reads a matrix: a piece at a time, never whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike

from opgraph.errors import ExecutionCancelled
from opgraph.verification.precision import Array, Floats

Cancelled = Callable[[], bool] | None

CHUNK_ELEMENTS = 1 << 18
_WIDEST = 1 << 13
_PIECE_ROWS, _PIECE_COLUMNS = 128, 512


class MatrixReader(Protocol):
    """A matrix of which any rectangle can be read."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def dtype(self) -> np.dtype[Any]: ...

    def read(self, r0: int, r1: int, c0: int, c1: int, out: Array | None = None) -> Array:
        """Rows r0..r1 and columns c0..c1 as a C-contiguous array in native byte order.

        `out`, where given, has that shape and dtype and is filled and returned."""
        ...


class ArrayReader:
    """A matrix that lies in memory."""

    def __init__(self, array: Array) -> None:
        if array.ndim != 2:
            raise ValueError(f"A matrix has two axes, this array has {array.ndim}.")
        self._array = array

    @property
    def shape(self) -> tuple[int, int]:
        return self._array.shape[0], self._array.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    def read(self, r0: int, r1: int, c0: int, c1: int, out: Array | None = None) -> Array:
        """See `MatrixReader.read`."""
        piece = self._array[r0:r1, c0:c1]
        if out is None:
            return np.array(piece, dtype=piece.dtype.newbyteorder("="), order="C")
        out[...] = piece
        return out


@dataclass(frozen=True)
class Chunk:
    """A rectangle of a matrix; `values` is only valid until the next chunk is read."""

    r0: int
    r1: int
    c0: int
    c1: int
    values: Array


def chunks(
    reader: MatrixReader, rows: tuple[int, int], columns: tuple[int, int], cancelled: Cancelled
) -> Iterator[Chunk]:
    """The rectangle in pieces of at most CHUNK_ELEMENTS, by rows, through one reused buffer.

    Raises ExecutionCancelled between two pieces once `cancelled` says so."""
    width = max(1, min(columns[1] - columns[0], _WIDEST))
    height = max(1, CHUNK_ELEMENTS // width)
    buffer = np.empty(width * height, dtype=reader.dtype.newbyteorder("="))
    for r0 in range(*rows, height):
        for c0 in range(*columns, width):
            stop_if(cancelled)
            r1, c1 = min(r0 + height, rows[1]), min(c0 + width, columns[1])
            out = buffer[: (r1 - r0) * (c1 - c0)].reshape(r1 - r0, c1 - c0)
            yield Chunk(r0, r1, c0, c1, reader.read(r0, r1, c0, c1, out=out))


def pieces(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of an array of this shape in pieces that fit the processor's cache.

    The size keeps thin products on the BLAS path for small matrices, twice as fast (measured)."""
    for r0 in range(0, shape[0], _PIECE_ROWS):
        for c0 in range(0, shape[1], _PIECE_COLUMNS):
            rows = slice(r0, min(r0 + _PIECE_ROWS, shape[0]))
            yield rows, slice(c0, min(c0 + _PIECE_COLUMNS, shape[1]))


class Scratch:
    """A buffer that is used again: fresh memory would cost more than the arithmetic."""

    def __init__(self, dtype: DTypeLike = np.float64) -> None:
        self._flat: Array = np.empty(0, dtype)

    def like(self, values: Array) -> Array:
        """A buffer of the same shape, valid until the next call."""
        if self._flat.size < values.size:
            self._flat = np.empty(values.size, self._flat.dtype)
        return self._flat[: values.size].reshape(values.shape)

    def doubles(self, values: Array) -> Floats:
        """`values` in float64, valid until the next call."""
        out: Floats = self.like(values)
        out[...] = values
        return out


def stop_if(cancelled: Cancelled) -> None:
    """Raise ExecutionCancelled when `cancelled` is given and says so."""
    if cancelled is not None and cancelled():
        raise ExecutionCancelled


def read_rows(reader: MatrixReader, rows: Array, c0: int, c1: int) -> Array:
    """The given rows (ascending indices), columns c0..c1; one read per run of neighbours."""
    values = np.empty((len(rows), c1 - c0), dtype=reader.dtype.newbyteorder("="))
    breaks = np.flatnonzero(np.diff(rows) != 1) + 1
    for start, end in zip([0, *breaks], [*breaks, len(rows)], strict=True):
        if start < end:
            first, last = int(rows[start]), int(rows[end - 1])
            reader.read(first, last + 1, c0, c1, out=values[start:end])
    return values
