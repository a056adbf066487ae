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
_BLOCK_BYTES = 512
"""The unit of `st_blocks`, whatever the file system's own."""


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


def reserve(descriptor: int, size: int) -> None:
    """Take the room for a file of `size` bytes. Raises `OSError` with `ENOSPC`.

    The room is looked at first: the system call itself would fill the disk before it fails.
    """
    status, disk = os.fstat(descriptor), os.fstatvfs(descriptor)
    missing = size - status.st_blocks * _BLOCK_BYTES
    if missing > disk.f_bavail * disk.f_frsize:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    try:
        os.posix_fallocate(descriptor, 0, size)
    except OSError:
        os.ftruncate(descriptor, status.st_size)
        raise


def sync_file(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk. Raises `OSError`."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def require_room(folder: Path, size: int) -> None:
    """Raise `DiskFull` unless there is room for `size` bytes more, or for 64 MiB."""
    with writing("The job waits for room"), tempfile.TemporaryFile(dir=folder) as file:
        reserve(file.fileno(), max(1, min(size, _ROOM_BYTES)))
