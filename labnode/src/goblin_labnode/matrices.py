"""Matrices in files, whatever order and byte order they are stored in.

A `Matrix` is a `MatrixReader` of `opgraph.verification`: regions come out C-contiguous and native.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_labnode.files import DataFile
from goblin_labnode.npy import Layout
from goblin_wire.protocol import MIB

_STRIP_BYTES = 16 * MIB
"""Temporary memory for a region of a transposed file."""


class Matrix:
    """A file of elements seen as `rows x columns`, without a copy."""

    def __init__(self, file: DataFile, layout: Layout, shape: tuple[int, int]) -> None:
        """`shape`: the layout's own, or one that a vector takes as a matrix."""
        self.file = file
        self.shape = shape
        self.dtype: numpy.dtype[Any] = layout.native
        self._stored = layout.dtype
        self._offset = layout.offset
        self._fortran = layout.fortran and 1 not in shape

    def read(
        self, r0: int, r1: int, c0: int, c1: int, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """The region of rows r0..r1 and columns c0..c1: C-contiguous, native byte order."""
        if out is None:
            out = numpy.empty((r1 - r0, c1 - c0), self.dtype)
        if out.size == 0:
            return out
        if self._fortran:
            self._read_transposed(r0, r1, c0, c1, out)
        else:
            self._read_stored(self.shape[1], r0, r1, c0, c1, out)
        return out

    def _read_transposed(self, r0: int, r1: int, c0: int, c1: int, out: NDArray[Any]) -> None:
        """Column by column as they lie in the file, in strips, turned in memory."""
        step = max(1, _STRIP_BYTES // ((r1 - r0) * self.dtype.itemsize))
        for first in range(c0, c1, step):
            last = min(first + step, c1)
            strip = numpy.empty((last - first, r1 - r0), self.dtype)
            self._read_stored(self.shape[0], first, last, r0, r1, strip)
            out[:, first - c0 : last - c0] = strip.T

    def _read_stored(
        self, width: int, r0: int, r1: int, c0: int, c1: int, out: NDArray[Any]
    ) -> None:
        """A region of the file as it is stored: rows of `width` elements."""
        size = self.dtype.itemsize
        offset = self._offset + (r0 * width + c0) * size
        if c1 - c0 == width or r1 - r0 == 1:
            self.file.read(out.data.cast("B"), offset)
        else:
            self.file.read_rows(out.view(numpy.uint8), offset, width * size)
        if self._stored != self.dtype:
            out.byteswap(inplace=True)
