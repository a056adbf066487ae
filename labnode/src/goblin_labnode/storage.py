"""The disk's errors, as the problems that researchers and volunteers see."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from goblin_wire.problems import DiskFull, StorageFailed
from goblin_wire.protocol import MIB

FULL_RETRY_S = 10.0
_ROOM_BYTES = 64 * MIB


@contextmanager
def writing(what: str) -> Iterator[None]:
    """Raise `DiskFull` or `StorageFailed` for an `OSError` inside; `what` begins a sentence."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            raise DiskFull(
                f"{what}: there is not enough room on the disk.", retry_after=FULL_RETRY_S
            ) from error
        raise StorageFailed(f"{what}: {error.strerror}.") from error


def require_room(folder: Path, size: int) -> None:
    """Raise `DiskFull` unless there is room for `size` bytes more, or for 64 MiB."""
    with writing("The job waits for room"), tempfile.TemporaryFile(dir=folder) as file:
        os.posix_fallocate(file.fileno(), 0, max(1, min(size, _ROOM_BYTES)))
