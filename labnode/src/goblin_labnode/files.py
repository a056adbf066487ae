"""Files with data, read through a held descriptor that is checked against what was opened."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from goblin_wire.problems import FileChanged, FileMissing, FileTruncated, Problem, StorageFailed

_READ_LIMIT = 1 << 30
"""Bytes of one system call."""


@dataclass(frozen=True)
class Identity:
    """What tells whether a file is still the one that was opened.

    `parts`: a digest over the identities of all files, where an array has several."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    parts: str = ""

    @classmethod
    def of(cls, status: os.stat_result) -> Identity:
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class DataFile:
    """A file that must not change while it is in use. Safe for use by several threads.

    It is closed when the last user lets go of it, so that no reader ever meets a descriptor that
    means another file by now.
    """

    def __init__(
        self, descriptor: int, identity: Identity, look: Callable[[], os.stat_result], name: str
    ) -> None:
        """`look` looks the file up by its path again; `name` is for sentences."""
        self._descriptor = descriptor
        self._look = look
        self.identity = identity
        self.name = name

    def __del__(self) -> None:
        os.close(self._descriptor)

    def check(self) -> None:
        """Raise `FileChanged`, `FileTruncated` or `FileMissing` unless nothing has changed."""
        self._compare(os.fstat(self._descriptor))
        try:
            self._compare(self._look())
        except FileNotFoundError:
            raise FileMissing(f"{self.name} was removed while a job used it.") from None
        except Problem as problem:
            raise type(problem)(f"{self.name} was removed while a job used it.") from None

    def read(self, buffer: memoryview, offset: int) -> None:
        """Fill `buffer` (writable bytes) from `offset`. Raises `FileTruncated`."""
        filled = 0
        while filled < len(buffer):
            piece = buffer[filled : filled + _READ_LIMIT]
            try:
                count = os.preadv(self._descriptor, [piece], offset + filled)
            except OSError as error:
                raise StorageFailed(f"{self.name} cannot be read: {error.strerror}.") from None
            if count == 0:
                raise FileTruncated(f"{self.name} became shorter while a job used it.")
            filled += count

    def read_rows(self, rows: Any, offset: int, step: int) -> None:
        """Fill each row of a 2-d byte array from `offset + i * step`.

        The usual case is a whole row at once; what comes short is finished by `read`.
        """
        descriptor, preadv = self._descriptor, os.preadv
        for row in memoryview_rows(rows):
            try:
                count = preadv(descriptor, [row], offset)
            except OSError as error:
                raise StorageFailed(f"{self.name} cannot be read: {error.strerror}.") from None
            if count != len(row):
                self.read(row[count:], offset + count)
            offset += step

    def _compare(self, status: os.stat_result) -> None:
        now = Identity.of(status)
        if now == self.identity:
            return
        if now.size < self.identity.size:
            raise FileTruncated(f"{self.name} became shorter while a job used it.")
        raise FileChanged(f"{self.name} was changed while a job used it.")


def memoryview_rows(rows: Any) -> list[memoryview]:
    """The rows of a 2-d C-contiguous byte array as writable views."""
    flat: memoryview = rows.data.cast("B")
    size = rows.shape[1]
    return [flat[at : at + size] for at in range(0, len(flat), size)]
