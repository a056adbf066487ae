"""Peak resident memory of processes, read from the kernel's own mark, so that nothing samples."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

_PROC = Path("/proc")
_RESET_PEAK = "5"
"""Written to `clear_refs`, sets the peak back to what is resident now."""


class PeakMemory:
    """Sum of the peaks of this process, `roots` and their children while a `with` block runs.

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
