"""A zarr array under a root: all of its files, each held to what it was when it was opened."""

from __future__ import annotations

import itertools
import math
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from goblin_labnode.files import Identity
from goblin_labnode.roots import Place, Roots
from goblin_wire.blobs import BlobHasher
from goblin_wire.formats.layout import Layout
from goblin_wire.formats.zarr_metadata import MAX_METADATA_BYTES, ZarrArray, read_metadata
from goblin_wire.formats.zarr_reading import METADATA, OpenFile, ZarrReader, no_zarr
from goblin_wire.problems import BadArray, FileChanged, FileMissing, FileTruncated, FileUnreadable

MOST_FILES = 1 << 16
"""Of one array. Each is looked at when the array is opened, and when a job begins or goes on."""


_LOOKS_SHARE = 20.0
"""Who asks again and again has all files looked at for a twentieth of the time at most."""


class ZarrFolder:
    """A folder that must not change while it is in use. Safe for use by several threads.

    Files that were not written are noted too: one that appears later is a change.
    """

    def __init__(
        self, roots: Roots, place: Place, identity: Identity | None = None, name: str = ""
    ) -> None:
        """`identity`: what it was; none: as it is now. Raises `Problem`."""
        self._roots = roots
        self._place = place
        self.name = name or place.path
        self.array, head = self._read_metadata(identity)
        self._files = self._look()
        self._compare(self._files[METADATA], head)
        self.now = _identity(self._files)
        self.identity = identity or self.now
        self._reader = ZarrReader(self.array, self)

    @property
    def layout(self) -> Layout:
        """Shape and type; the numbers lie in many files."""
        return Layout(self.array.dtype, self.array.shape, False, 0)

    def check(self) -> None:
        """Raise `FileChanged`, `FileTruncated` or `FileMissing` unless no file has changed."""
        self._compare(self.now, self.identity)
        self._compare(_identity(self._look()), self.identity)

    def check_rarely(self) -> None:
        """The same for who asks again and again: with many files not at every call."""
        if time.monotonic() > self._looked + _LOOKS_SHARE * self._look_took:
            self.check()

    def check_read(self) -> None:
        """The same for what was read, quickly: chunks are compared as they are read."""
        self._compare(self.now, self.identity)
        self._compare_file(METADATA, self._status(METADATA))

    def read(self, starts: tuple[int, ...], out: NDArray[Any]) -> None:
        """Fill `out` from the element at `starts` on. Raises `Problem`."""
        self._reader.read(starts, out)

    @contextmanager
    def open(self, key: str) -> Iterator[OpenFile | None]:
        """A file of the array as it was; None where there was none. See `ZarrReader`."""
        if self._files[key] is None:
            self._compare_file(key, self._status(key))
            yield None
            return
        try:
            descriptor = self._roots.open(self._inside(key))
        except FileMissing:
            raise FileMissing(f"A file of {self.name} was removed while a job used it.") from None
        try:
            self._compare_file(key, Identity.of(os.fstat(descriptor)))
            yield OpenFile(descriptor)
            self._compare_file(key, Identity.of(os.fstat(descriptor)))
        finally:
            os.close(descriptor)

    def _read_metadata(self, before: Identity | None) -> tuple[ZarrArray, Identity]:
        try:
            descriptor = self._roots.open(self._inside(METADATA))
        except FileMissing:
            if before is None:
                raise no_zarr(self._place.path) from None
            raise FileMissing(f"{self.name} was removed while a job used it.") from None
        try:
            head = Identity.of(os.fstat(descriptor))
            if before is not None and _head(head) != _head(before):
                raise FileChanged(f"{self.name} was changed while a job used it.")
            return read_metadata(OpenFile(descriptor).read(0, MAX_METADATA_BYTES + 1)), head
        finally:
            os.close(descriptor)

    def _look(self) -> dict[str, Identity | None]:
        """Every file that the array may have, and what it is now."""
        array = self.array
        count = math.prod(array.grid)
        if count > MOST_FILES:
            raise BadArray(
                f"The zarr array has {count} files of chunks, at most {MOST_FILES} are followed;"
                " rewrite it with larger chunks, or with shards."
            )
        began = time.monotonic()
        folders: dict[str, list[str]] = {"": [METADATA]}
        for place in itertools.product(*map(range, array.grid)):
            folder, _, name = array.key(place).rpartition("/")
            folders.setdefault(folder, []).append(name)
        found = {
            f"{folder}/{name}".removeprefix("/"): self._checked(name, status)
            for folder, names in folders.items()
            for name, status in self._roots.stat_many(self._inside(folder), names).items()
        }
        self._looked = time.monotonic()
        self._look_took = self._looked - began
        return found

    def _status(self, key: str) -> Identity | None:
        folder, _, name = key.rpartition("/")
        (status,) = self._roots.stat_many(self._inside(folder), [name]).values()
        return self._checked(key, status)

    def _checked(self, key: str, status: os.stat_result | None) -> Identity | None:
        if status is None:
            return None
        if not stat.S_ISREG(status.st_mode):
            raise FileUnreadable(f"{key} of {self.name} is a link or no file; none is followed.")
        return Identity.of(status)

    def _inside(self, key: str) -> Place:
        return Place(self._place.root, f"{self._place.path}/{key}".rstrip("/"))

    def _compare_file(self, key: str, now: Identity | None) -> None:
        self._compare(now, self._files[key])

    def _compare(self, now: Identity | None, before: Identity | None) -> None:
        if now == before:
            return
        if now is None:
            raise FileMissing(f"A file of {self.name} was removed while a job used it.")
        if before is not None and now.size < before.size:
            raise FileTruncated(f"{self.name} became shorter while a job used it.")
        raise FileChanged(f"{self.name} was changed while a job used it.")


def _head(identity: Identity) -> tuple[int, int, int]:
    """What the identity of an array and that of its `zarr.json` have in common."""
    return identity.device, identity.inode, identity.mtime_ns


def _identity(files: dict[str, Identity | None]) -> Identity:
    """One identity for all files: that of `zarr.json`, the sum of the sizes, and a digest."""
    head = files[METADATA]
    if head is None:
        raise FileMissing(f"{METADATA} was removed.")
    hasher = BlobHasher()
    for key, each in files.items():
        hasher.update(f"{key}\0{each}\n".encode())
    size = sum(each.size for each in files.values() if each is not None)
    return Identity(head.device, head.inode, size, head.mtime_ns, hasher.hexdigest())
