"""Matrices in files, whatever order and byte order they are stored in.

Both are `MatrixReader`s of `opgraph.verification`: regions come out C-contiguous and native.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from goblin_labnode.files import DataFile
from goblin_labnode.zarr_folder import ZarrFolder
from goblin_wire.formats.layout import Layout
from goblin_wire.protocol import MIB

_STRIP_BYTES = 16 * MIB
"""Temporary memory for a region of a transposed file."""


class Matrix(Protocol):
    """An array seen as `rows x columns`. `file` may be opened anew while others read."""

    shape: tuple[int, int]
    dtype: numpy.dtype[Any]

    @property
    def name(self) -> str:
        """For sentences."""

    def reopen(self, file: DataFile | ZarrFolder) -> None:
        """Read from this from now on: the same array, held open again."""

    def check(self) -> None:
        """Raise `FileChanged`, `FileTruncated` or `FileMissing` if what was read is not what it
        was."""

    def check_all(self) -> None:
        """The same for all of the array."""

    def check_rarely(self) -> None:
        """The same for who asks again and again; what takes long is not done every time."""

    def read(
        self, r0: int, r1: int, c0: int, c1: int, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        """The region of rows r0..r1 and columns c0..c1: C-contiguous, native byte order."""
        ...


def matrix_over(file: DataFile | ZarrFolder, layout: Layout, shape: tuple[int, int]) -> Matrix:
    """`shape`: the layout's own, or one that a vector takes as a matrix."""
    if isinstance(file, ZarrFolder):
        return ChunkedMatrix(file, layout, shape)
    return FileMatrix(file, layout, shape)


class ChunkedMatrix:
    """A zarr array of one or two axes; its chunks are unpacked as they are needed."""

    def __init__(self, folder: ZarrFolder, layout: Layout, shape: tuple[int, int]) -> None:
        self._folder = folder
        self.shape = shape
        self.dtype: numpy.dtype[Any] = layout.native
        self._is_vector = len(layout.shape) == 1

    @property
    def name(self) -> str:
        return self._folder.name

    def reopen(self, file: DataFile | ZarrFolder) -> None:
        if not isinstance(file, ZarrFolder):
            raise TypeError("an array does not become another kind of file")
        self._folder = file

    def check(self) -> None:
        self._folder.check_read()

    def check_all(self) -> None:
        self._folder.check()

    def check_rarely(self) -> None:
        self._folder.check_rarely()

    def read(
        self, r0: int, r1: int, c0: int, c1: int, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
        if out is None:
            out = numpy.empty((r1 - r0, c1 - c0), self.dtype)
        if self._is_vector:
            self._folder.read((r0 if self.shape[1] == 1 else c0,), out.reshape(-1))
        else:
            self._folder.read((r0, c0), out)
        return out


class FileMatrix:
    """A file of elements seen as `rows x columns`, without a copy."""

    def __init__(self, file: DataFile, layout: Layout, shape: tuple[int, int]) -> None:
        """As `matrix_over`."""
        self._file = file
        self.shape = shape
        self.dtype: numpy.dtype[Any] = layout.native
        self._stored = layout.dtype
        self._offset = layout.offset
        self._fortran = layout.fortran and 1 not in shape

    @property
    def name(self) -> str:
        return self._file.name

    def reopen(self, file: DataFile | ZarrFolder) -> None:
        if isinstance(file, ZarrFolder):
            raise TypeError("an array does not become another kind of file")
        self._file = file

    def check(self) -> None:
        self._file.check()

    check_all = check_rarely = check

    def read(
        self, r0: int, r1: int, c0: int, c1: int, out: NDArray[Any] | None = None
    ) -> NDArray[Any]:
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
            self._file.read(out.data.cast("B"), offset)
        else:
            self._file.read_rows(out.view(numpy.uint8), offset, width * size)
        if self._stored != self.dtype:
            out.byteswap(inplace=True)
