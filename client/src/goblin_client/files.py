"""Files that only this user may read, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

FOLDER_MODE = 0o700
FILE_MODE = 0o600


def private_folder(path: Path) -> Path:
    """Make the folder (and what is above it) where it is missing; close it to others."""
    path.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    path.chmod(FOLDER_MODE)
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file at once: a reader sees the old bytes or the new ones, also after a crash."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    draft = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def reserve(descriptor: int, size: int) -> None:
    """Give an open file `size` bytes that the disk really has. Raises OSError when it is full."""
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
    else:
        os.ftruncate(descriptor, size)
