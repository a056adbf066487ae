"""Uploads that are under way: one preallocated file per lease and output.

Behind the content lies how much of it has arrived, written after each piece; so a killed lab node
knows where every upload stands, and a late upload can't touch another lease's bytes.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_labnode.storage import reserve, writing
from goblin_wire.blobs import BlobHasher
from goblin_wire.problems import StorageFailed
from goblin_wire.protocol import CHUNK_BYTES

_COUNTER_BYTES = 8


class StagedFile:
    """The bytes of one upload. For one thread at a time."""

    def __init__(self, path: Path, size: int, hasher: BlobHasher) -> None:
        """Open, or make with its room reserved. `hasher` is fresh; it takes what is there."""
        self.path = path
        self.size = size
        self._hasher = hasher
        with writing("The upload could not be stored"):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                self.received = self._restore()
            except OSError:
                self.close()
                raise

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    @property
    def complete(self) -> bool:
        return self.received == self.size

    def append(self, pieces: Sequence[bytes | memoryview]) -> None:
        """Take the next bytes. Raises `DiskFull` or `StorageFailed`; then nothing was taken."""
        received = self.received
        with writing("The upload could not be stored"):
            for piece in pieces:
                self._write(memoryview(piece), received)
                received += len(piece)
            os.pwrite(self._descriptor, received.to_bytes(_COUNTER_BYTES, "little"), self.size)
        for piece in pieces:
            self._hasher.update(piece)
        self.received = received

    def digest(self) -> str:
        return self._hasher.hexdigest()

    def restart(self, hasher: BlobHasher) -> None:
        """Forget what has arrived."""
        with writing("The upload could not be stored"):
            os.pwrite(self._descriptor, bytes(_COUNTER_BYTES), self.size)
        self.received = 0
        self._hasher = hasher

    def read_rows(self, first: int, out: NDArray[Any]) -> None:
        """Fill a C-contiguous array with rows of the content, beginning at row `first`."""
        flat = out.data.cast("B")
        offset = first * out.strides[0] if len(out) else 0
        while flat:
            count = os.preadv(self._descriptor, [flat], offset)
            if count == 0:
                raise StorageFailed("An upload's file became shorter.")
            flat, offset = flat[count:], offset + count

    def _restore(self) -> int:
        if os.fstat(self._descriptor).st_size != self.size + _COUNTER_BYTES:
            reserve(self._descriptor, self.size + _COUNTER_BYTES)
        raw = os.pread(self._descriptor, _COUNTER_BYTES, self.size)
        received = min(int.from_bytes(raw, "little"), self.size)
        buffer = numpy.empty(min(CHUNK_BYTES, received), numpy.uint8)
        for offset in range(0, received, CHUNK_BYTES):
            piece = buffer.data[: min(CHUNK_BYTES, received - offset)]
            os.preadv(self._descriptor, [piece], offset)
            self._hasher.update(piece)
        return received

    def _write(self, piece: memoryview, offset: int) -> None:
        while piece:
            count = os.pwrite(self._descriptor, piece, offset)
            piece, offset = piece[count:], offset + count
