"""How much room there is on a disk."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple


class Room(NamedTuple):
    """In bytes."""

    free: int
    size: int


def room_on(path: Path) -> Room:
    """Of the file system that `path` lies, or will lie, on."""
    there = next((each for each in (path, *path.parents) if each.exists()), Path("/"))
    usage = shutil.disk_usage(there)
    return Room(usage.free, usage.total)
