"""Results on their way in: who may append to which staged file, and when one is complete."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from goblin_labnode.staging import StagedFile
from goblin_wire.blobs import BlobHasher
from goblin_wire.data import UploadStatus
from goblin_wire.problems import (
    Conflict,
    DigestMismatch,
    LeaseEnded,
    OffsetMismatch,
    WrongLength,
)

Piece = bytes | memoryview


class Upload:
    """One output of one lease. The newest writer wins: an older connection may hang for long."""

    def __init__(self, path: Path, size: int, key: bytes, digest: str) -> None:
        """`digest`: the keyed digest that was announced; `key`: of the lab's blob ids."""
        self._path = path
        self.size = size
        self._key = key
        self._lock = threading.Lock()
        self._staged: StagedFile | None = None
        self._writer = 0
        self._discarded = False
        self.digest = digest
        self.complete = False

    def status(self) -> UploadStatus:
        with self._lock:
            received = self._open().received
        return UploadStatus(received=received, bytes=self.size, complete=self.complete)

    def begin(self, digest: str, offset: int, length: int) -> int:
        """Start to append at `offset`; returns the writer's number. Raises `Problem`."""
        with self._lock:
            staged = self._open()
            if digest != self.digest:
                self._change_digest(staged, digest)
            # What is complete may be under judgement: its bytes stay those of its digest.
            if offset == 0 and staged.received and not self.complete:
                staged.restart(self._hasher())
            if offset != staged.received:
                raise OffsetMismatch(received=staged.received)
            if offset + length > self.size:
                raise WrongLength(
                    f"The output has {self.size} bytes, the upload would end at {offset + length}."
                )
            self._writer += 1
            return self._writer

    def append(self, writer: int, pieces: Sequence[Piece]) -> None:
        """Take the next bytes of this writer. Raises `Conflict` for one that was overtaken."""
        with self._lock:
            if writer != self._writer:
                raise Conflict("Another connection has taken over this upload.")
            self._open().append(pieces)

    def finish(self, writer: int) -> bool:
        """End a request's body; returns whether this made the upload complete.

        Raises `DigestMismatch`, and forgets all bytes, if they are not what was announced.
        """
        with self._lock:
            staged = self._open()
            if writer != self._writer or not staged.complete or self.complete:
                return False
            self._demand_digest(staged)
            self.complete = True
            return True

    def resume(self) -> bool:
        """After a restart: whether everything is here, with the right digest."""
        with self._lock:
            staged = self._open()
            if staged.complete:
                self._demand_digest(staged)
                self.complete = True
            return self.complete

    @contextmanager
    def content(self) -> Iterator[StagedFile]:
        """The complete bytes, for one thread."""
        with self._lock:
            yield self._open()

    def discard(self) -> None:
        """Remove what was staged; `complete` stays as it was."""
        with self._lock:
            self._discarded = True
            if self._staged is not None:
                self._staged.close()
                self._staged = None
            self._path.unlink(missing_ok=True)

    def _open(self) -> StagedFile:
        if self._discarded:
            raise LeaseEnded
        if self._staged is None:
            self._staged = StagedFile(self._path, self.size, self._hasher())
        return self._staged

    def _change_digest(self, staged: StagedFile, digest: str) -> None:
        if self.complete:
            raise Conflict("The output was uploaded already, with another digest.")
        self.digest = digest
        staged.restart(self._hasher())

    def _demand_digest(self, staged: StagedFile) -> None:
        if staged.digest() != self.digest:
            staged.restart(self._hasher())
            raise DigestMismatch

    def _hasher(self) -> BlobHasher:
        return BlobHasher(self._key)


class Uploads:
    """The uploads of all leases, by lease. Each lease has one output, number 0."""

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder = folder
        self._key = key
        self._lock = threading.Lock()
        self._uploads: dict[str, Upload] = {}

    def get(self, lease: str) -> Upload | None:
        with self._lock:
            return self._uploads.get(lease)

    def add(self, lease: str, size: int, digest: str) -> Upload:
        """The upload of this lease, made if it is new."""
        with self._lock:
            found = self._uploads.get(lease)
            if found is None:
                found = Upload(self._folder / f"{lease}-0", size, self._key, digest)
                self._uploads[lease] = found
            return found

    def discard(self, leases: list[str]) -> None:
        """Remove the staged bytes of these leases."""
        for lease in leases:
            with self._lock:
                found = self._uploads.pop(lease, None)
            if found is not None:
                found.discard()

    def sweep(self, known: Callable[[str], bool]) -> None:
        """Remove staged files of leases that are not in use any more."""
        for path in self._folder.iterdir():
            lease = path.name.partition("-")[0]
            if self.get(lease) is None and not known(lease):
                path.unlink(missing_ok=True)
