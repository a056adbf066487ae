"""The file that a result goes to: reserved at submit, filled with verified tiles only."""

from __future__ import annotations

import contextlib
import math
import os
from typing import Any

import numpy
from msgspec import Struct
from numpy.typing import NDArray

from goblin_labnode.npy import header_bytes
from goblin_labnode.roots import Place, Roots
from goblin_labnode.storage import reserve, writing
from goblin_wire.problems import FileMissing, OutputExists, Problem


class Output(Struct, kw_only=True, omit_defaults=True):
    """Where a result lies. `root`: a lab's root, or none for the lab node's own folder."""

    root: str
    path: str
    own: bool
    """Whether the lab node chose the place."""
    dtype: str
    shape: list[int]
    device: int = 0
    inode: int = 0
    """0: not made yet."""
    removed_at: float = 0.0
    """Unix seconds when its time was over and it was removed; 0: it was not."""

    @property
    def place(self) -> Place:
        return Place(self.root, self.path)

    @property
    def header(self) -> bytes:
        return header_bytes(numpy.dtype(self.dtype), tuple(self.shape))

    @property
    def data_bytes(self) -> int:
        return math.prod(self.shape) * numpy.dtype(self.dtype).itemsize


def create(output: Output, roots: Roots) -> None:
    """Make the file; its device and inode are noted in `output`. Raises `OutputExists`."""
    with writing("The output could not be made"):
        try:
            descriptor = roots.open(output.place, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            raise OutputExists(
                f"{output.path!r} exists already; choose another name or remove it."
            ) from None
        try:
            status = os.fstat(descriptor)
            output.device, output.inode = status.st_dev, status.st_ino
        finally:
            os.close(descriptor)


def is_there(output: Output, roots: Roots) -> bool:
    """Whether the file is still the one that was made for the run."""
    try:
        status = roots.stat(output.place)
    except (Problem, OSError):
        return False
    return (status.st_dev, status.st_ino) == (output.device, output.inode)


def is_lost(output: Output, roots: Roots) -> bool:
    """Whether the file was removed or replaced for good.

    Not so where its root, or the file system that it lies on, is away: that may come back.
    """
    if is_there(output, roots):
        return False
    root = roots.folder(output.root)
    for folder in roots.full(output.place).parents:
        with contextlib.suppress(OSError):
            return folder.stat().st_dev == output.device
        if folder == root:
            break
    return False


def remove(output: Output, roots: Roots) -> None:
    """Remove the file if it is the run's own."""
    if output.inode and is_there(output, roots):
        roots.remove(output.place)


class OutputFile:
    """An open output as a matrix of `rows x columns`. For one thread at a time."""

    def __init__(self, output: Output, roots: Roots, matrix: tuple[int, int]) -> None:
        """Raises `FileMissing` where the file is gone or another one."""
        self._output = output
        self._dtype = numpy.dtype(output.dtype)
        self._columns = matrix[1]
        self._offset = len(output.header)
        self._descriptor = -1
        if not is_there(output, roots):
            raise FileMissing("The output file was removed or replaced while the job ran.")
        self._descriptor = roots.open(output.place, os.O_RDWR)

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)

    def reserve(self) -> None:
        """Take the room on the disk and write the header. Raises `DiskFull`."""
        size = self._offset + self._output.data_bytes
        with writing("The output could not be reserved"):
            reserve(self._descriptor, size)
            os.pwrite(self._descriptor, self._output.header, 0)

    def write(self, row: int, column: int, tile: NDArray[Any]) -> None:
        """Put a C-contiguous tile at `(row, column)`. Raises `DiskFull` or `StorageFailed`."""
        size = self._dtype.itemsize
        offset = self._offset + (row * self._columns + column) * size
        width, step = tile.shape[1] * size, self._columns * size
        flat = tile.data.cast("B")
        with writing("The output could not be written"):
            if width == step:
                self._write_all(flat, offset)
                return
            for at in range(0, len(flat), width):
                self._write_all(flat[at : at + width], offset)
                offset += step

    def sync(self) -> None:
        """Make everything that was written durable."""
        with writing("The output could not be written"):
            os.fdatasync(self._descriptor)

    def _write_all(self, piece: memoryview, offset: int) -> None:
        while piece:
            count = os.pwrite(self._descriptor, piece, offset)
            piece, offset = piece[count:], offset + count
