"""Where results are made: memory that is kept from unit to unit, then a file in one go.

Not in a mapping of the file: the first write to each of its pages goes through the file system,
and that took longer than half of the arithmetic of a tile (measured).
"""

from __future__ import annotations

import mmap
import os
from io import FileIO
from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_client.compute.messages import ArrayFile
from goblin_client.files import reserve
from goblin_wire.blobs import BlobHasher
from goblin_wire.protocol import MIB
from opgraph.tensors import TensorType, storage_dtype

_PIECE_BYTES = 2 * MIB
"""So small that it is digested and written while it is in the processor's cache."""
_PRIVATE: dict[str, int] = {}
if hasattr(mmap, "MAP_PRIVATE"):
    _PRIVATE["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


class OutputMemory:
    """Memory for the outputs of one unit at a time; what the next one can use again is kept."""

    def __init__(self) -> None:
        self._kept: list[mmap.mmap] = []

    def arrays(self, files: list[ArrayFile]) -> list[NDArray[Any]]:
        """An array for each output, with whatever content. Those given before are void."""
        sizes = [_nbytes(file) for file in files]
        if [len(memory) for memory in self._kept] != [max(1, size) for size in sizes]:
            self._kept = []  # before new memory is asked for: both may be too much
            self._kept = [mmap.mmap(-1, max(1, size), **_PRIVATE) for size in sizes]
        return [
            numpy.ndarray(tuple(file.shape), storage_dtype(file.dtype), memory)
            for file, memory in zip(files, self._kept, strict=True)
        ]


def reserve_room(file: ArrayFile) -> None:
    """Make the file of an output with its room on the disk, before anything is computed."""
    with _open(file, os.O_CREAT | os.O_TRUNC) as opened:
        reserve(opened.fileno(), _nbytes(file))


def write_output(file: ArrayFile, array: NDArray[Any], key: bytes) -> str:
    """Write the whole output into its file; returns its digest under the lab's key."""
    hasher = BlobHasher(key)
    content = array.reshape(-1).view(numpy.uint8).data if array.nbytes else memoryview(b"")
    with _open(file) as opened:
        for first in range(0, len(content), _PIECE_BYTES):
            piece = content[first : first + _PIECE_BYTES]
            hasher.update(piece)
            while piece:
                piece = piece[opened.write(piece) :]
    return hasher.hexdigest()


def _open(file: ArrayFile, flags: int = 0) -> FileIO:
    return FileIO(os.open(file.path, os.O_RDWR | flags, 0o600), "r+b")


def _nbytes(file: ArrayFile) -> int:
    return TensorType(file.dtype, tuple(file.shape)).nbytes
