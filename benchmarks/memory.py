"""Memory in measurements: the peak that processes had, and memory that the host has given."""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from pathlib import Path
from typing import Self

_PROC = Path("/proc")
_RESET_PEAK = "5"
"""Written to `clear_refs`, sets the peak back to what is resident now."""


MIB = 2**20


def make_present(size: int) -> None:
    """Touch `size` bytes of memory, at most half of what is free, and give them back.

    A virtual machine hands free memory back to its host after some seconds; whoever needs it next
    waits for the host, 1 to 4 s per GiB where 0.25 s is usual (measured). Done before each turn,
    nobody's figure depends on who ran before.
    """
    size = min(size, _available() // 2) // MIB * MIB
    if not size:
        return
    piece = bytes(MIB)
    with mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as memory:
        for at in range(0, size, MIB):
            memory[at : at + MIB] = piece


def _available() -> int:
    for row in (_PROC / "meminfo").read_text().splitlines():
        if row.startswith("MemAvailable:"):
            return int(row.split()[1]) * 1024
    return 0


class PeakMemory:
    """Sum of the peaks of this process, `roots` and their children while a `with` block runs.

    From the kernel's own mark, so that nothing samples.
    Pages that several processes share are counted in each of them, so the sum is an upper bound.
    """

    def __init__(self, roots: Iterable[int]) -> None:
        self.peak_bytes = 0
        self._roots = tuple(roots)

    def __enter__(self) -> Self:
        for folder in self._folders():
            (folder / "clear_refs").write_text(_RESET_PEAK)
        return self

    def __exit__(self, *_: object) -> None:
        self.peak_bytes = sum(_peak(folder) for folder in self._folders())

    def _folders(self) -> list[Path]:
        found = [_PROC / "self"]
        pending = [str(root) for root in self._roots]
        while pending:
            folder = _PROC / pending.pop()
            for task in folder.glob("task/*/children"):
                pending.extend(task.read_text().split())
            found.append(folder)
        return found


def _peak(folder: Path) -> int:
    for row in (folder / "status").read_text().splitlines():
        if row.startswith("VmHWM:"):
            return int(row.split()[1]) * 1024
    return 0
