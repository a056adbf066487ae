"""Memory for pieces of panels and for tiles that is used again.

The kernel zeroes every fresh page, and for bulk data that cost more than the copying itself (a
quarter of the lab node's CPU, measured).
"""

from __future__ import annotations

import math
import mmap
import threading
import weakref
from typing import Any

import numpy
from numpy.typing import DTypeLike, NDArray

from goblin_wire.protocol import MIB

IDLE_BYTES = 96 * MIB
"""Kept for the next piece or tile while nothing uses it."""
SMALL_BYTES = MIB
"""What is smaller comes from the allocator, which reuses memory itself."""
_PRIVATE: dict[str, int] = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS}


class Buffers:
    """Arrays whose memory comes back here once nobody refers to them. For several threads."""

    def __init__(self, idle_bytes: int = IDLE_BYTES) -> None:
        self._idle_bytes = idle_bytes
        # The end of an array may come at any allocation, also while this thread holds the lock.
        self._lock = threading.RLock()
        self._idle: dict[int, list[mmap.mmap]] = {}
        self._held = 0

    def array(self, shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
        """An array with whatever content; views of it keep it in use."""
        kind = numpy.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        if size < SMALL_BYTES:
            return numpy.empty(shape, kind)
        memory = self._take(size)
        # Not over another array's memory: numpy would let views refer to that array directly.
        array: NDArray[Any] = numpy.ndarray(shape, kind, memory)
        weakref.finalize(array, self._give, memory).atexit = False
        return array

    def _take(self, size: int) -> mmap.mmap:
        with self._lock:
            idle = self._idle.get(size)
            if idle:
                self._held -= size
                return idle.pop()
        # Pages of the usual size: zeroing huge ones took six times as long on a virtual machine.
        # Private: shared memory belongs to a file system, and costs more.
        return mmap.mmap(-1, size, **_PRIVATE)

    def _give(self, memory: mmap.mmap) -> None:
        with self._lock:
            size = len(memory)
            if self._held + size > self._idle_bytes:
                self._idle.clear()  # sizes of another job, or a rush that is over
                self._held = 0
            if size <= self._idle_bytes:
                self._idle.setdefault(size, []).append(memory)
                self._held += size
