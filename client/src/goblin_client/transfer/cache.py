"""Blobs on disk, per lab, by id: what was read longest ago goes first, what is in use never."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from goblin_client.errors import Unwanted
from goblin_client.files import private_folder, reserve
from goblin_wire.blobs import BlobHasher
from goblin_wire.problems import DigestMismatch

LOOK_S = 0.5
"""A download that waits for room looks so often whether it is still wanted."""
TO_BEGIN = 2
"""Inputs of a unit with which a device begins."""
STUCK_S = 10.0
"""When no device computes, and for so long nobody let go of anything, nobody will."""
PART = ".part"
PIECE = 1 << 20
Holder = tuple[str, int]
"""A lease, and the place among its inputs."""


@dataclass(frozen=True)
class BlobKey:
    lab: str
    blob: str


class Draft:
    """A blob that arrives: written and digested piece by piece."""

    def __init__(self, descriptor: int, key: bytes) -> None:
        self._descriptor = descriptor
        self._hasher = BlobHasher(key)
        self.received = 0

    def write(self, piece: bytes) -> None:
        """Take the next bytes. Digested while they are still in the processor's cache."""
        self._hasher.update(piece)
        view = memoryview(piece)
        while view:
            count = os.pwrite(self._descriptor, view, self.received)
            self.received += count
            view = view[count:]

    def digest(self) -> str:
        return self._hasher.hexdigest()


class BlobCache:
    """Shared by all threads. `cap`: bytes; `is_computing`: whether a device has the lease."""

    def __init__(
        self, folder: Path, cap: int, is_computing: Callable[[str], bool] = lambda _lease: False
    ) -> None:
        self._folder = folder
        self._cap = cap
        self._is_computing = is_computing
        self._released_at = 0.0
        self._changed = threading.Condition()
        self._sizes: OrderedDict[BlobKey, int] = OrderedDict()
        self._pins: dict[BlobKey, set[Holder]] = {}
        self._awaited: dict[str, int] = {}
        """Lease -> the last place that its device waits for."""
        self._unproved: set[BlobKey] = set()
        """Of an earlier process: a power cut may have left zeros in a file of the right size."""
        self._arriving = 0
        self._used = 0
        self._scan()

    def _scan(self) -> None:
        found = []
        for path in self._folder.glob("*/*"):
            if path.suffix == PART:
                path.unlink(missing_ok=True)
            else:
                status = path.stat()
                found.append(
                    (status.st_mtime_ns, BlobKey(path.parent.name, path.name), status.st_size)
                )
        for _, key, size in sorted(found, key=lambda each: each[0]):
            self._sizes[key] = size
            self._used += size
        self._unproved = set(self._sizes)
        with self._changed:
            self._evict(0)

    @property
    def cap(self) -> int:
        return self._cap

    @property
    def used(self) -> int:
        return self._used

    def path(self, key: BlobKey) -> Path:
        return self._folder / key.lab / key.blob

    def pin(self, key: BlobKey, holder: Holder) -> None:
        """Keep the blob as long as the holder (lease, place) needs it."""
        with self._changed:
            self._pins.setdefault(key, set()).add(holder)

    def release(self, lease: str, place: int | None = None) -> None:
        """The lease needs the blob at `place`, or none at all, any more."""
        with self._changed:
            for key in list(self._pins):
                left = {
                    holder
                    for holder in self._pins[key]
                    if holder[0] != lease or place not in (None, holder[1])
                }
                if left:
                    self._pins[key] = left
                else:
                    del self._pins[key]
            if place is None:
                self._awaited.pop(lease, None)
            self._released_at = time.monotonic()
            self._changed.notify_all()

    def awaited(self, lease: str, place: int) -> None:
        """A device stands still until the lease's inputs up to `place` are here."""
        with self._changed:
            self._awaited[lease] = place
            self._changed.notify_all()

    def has(self, key: BlobKey, size: int, secret: bytes) -> bool:
        """Whether the blob is here, whole under the lab's key; that counts as a use."""
        with self._changed:
            if self._sizes.get(key) != size:
                return False
            self._sizes.move_to_end(key)
            unproved = key in self._unproved
        try:
            os.utime(self.path(key))
            good = not unproved or self._digest(key, secret) == key.blob
        except OSError:
            good = False
        if not good:
            self._lost(key)
        self._unproved.discard(key)
        return good

    def _digest(self, key: BlobKey, secret: bytes) -> str:
        hasher = BlobHasher(secret)
        with self.path(key).open("rb", buffering=0) as file:
            while piece := file.read(PIECE):
                hasher.update(piece)
        return hasher.hexdigest()

    def _lost(self, key: BlobKey) -> None:
        with self._changed:
            self.path(key).unlink(missing_ok=True)
            self._used -= self._sizes.pop(key, 0)

    @contextmanager
    def draft(
        self,
        key: BlobKey,
        size: int,
        secret: bytes,
        holder: Holder | None = None,
        is_held: Callable[[str], bool] = lambda _lease: True,
    ) -> Iterator[Draft]:
        """Room for a blob of `size` bytes; it is kept when the block ends and its digest under
        the lab's key is its id. A `holder` waits until there is room within the cap, or until a
        device waits for the blob. Raises `DigestMismatch`, `Unwanted`, or OSError when the disk
        is full."""
        self._make_room(size, holder, is_held)
        part = self.path(key).with_suffix(PART)
        try:
            private_folder(part.parent)
            descriptor = os.open(part, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
            try:
                reserve(descriptor, size)
                draft = Draft(descriptor, secret)
                yield draft
            finally:
                os.close(descriptor)
            if draft.received != size or draft.digest() != key.blob:
                raise DigestMismatch("A blob arrived damaged.")
            part.replace(self.path(key))
        except BaseException:
            part.unlink(missing_ok=True)
            with self._changed:
                self._arriving -= size
            raise
        with self._changed:
            self._arriving -= size
            self._used += size - self._sizes.pop(key, 0)
            self._sizes[key] = size
            self._unproved.discard(key)

    def _make_room(self, size: int, holder: Holder | None, is_held: Callable[[str], bool]) -> None:
        with self._changed:
            since = time.monotonic()
            while not self._evict(size) and holder is not None and not self._is_urgent(*holder):
                if not is_held(holder[0]):
                    raise Unwanted
                if self._is_stuck(since):
                    break
                self._changed.wait(LOOK_S)
            self._arriving += size

    def _is_stuck(self, since: float) -> bool:
        """Whether nobody will make room: the process that had the blobs may have crashed."""
        quiet = time.monotonic() - max(since, self._released_at) > STUCK_S
        users = {lease for holders in self._pins.values() for lease, _ in holders}
        return quiet and not any(self._is_computing(lease) for lease in users)

    def _is_urgent(self, lease: str, place: int) -> bool:
        """Whether the blob may go over the cap: without it a device would stand still for ever."""
        if place <= self._awaited.get(lease, -1):
            return True
        here = sum(
            lease == other and 0 <= index != place
            for key, holders in self._pins.items()
            if key in self._sizes
            for other, index in holders
        )
        return here < TO_BEGIN

    def _evict(self, size: int) -> bool:
        """Remove what is not in use until `size` more bytes fit; whether they do."""
        for key in list(self._sizes):
            if self._used + self._arriving + size <= self._cap:
                break
            if key not in self._pins:
                self.path(key).unlink(missing_ok=True)
                self._used -= self._sizes.pop(key)
        return self._used + self._arriving + size <= self._cap
