"""Arrays that the researcher's package sends: resumable, known by the digest of their content."""

from __future__ import annotations

import math
import os
import threading
from pathlib import Path

import msgspec
import numpy
from msgspec import Struct

from goblin_labnode.arrays import ArrayRegistry, ArraySource
from goblin_labnode.config import Folder, write_private
from goblin_labnode.staging import StagedFile
from goblin_labnode.storage import sync_file, writing
from goblin_wire.blobs import BlobHasher, derive_id
from goblin_wire.control import UploadStart, UploadState
from goblin_wire.problems import (
    BadArray,
    DigestMismatch,
    DtypeUnsupported,
    OffsetMismatch,
    UnknownArray,
    WrongLength,
)
from opgraph.partition.product import PRODUCT_DTYPES

_LARGEST = 2**50


class _Begun(Struct, kw_only=True):
    """What is written beside the bytes of an upload."""

    digest: str
    dtype: str
    shape: list[int]

    @property
    def size(self) -> int:
        return math.prod(self.shape) * numpy.dtype(self.dtype).itemsize

    def hasher(self) -> BlobHasher:
        """As `goblin_wire.blobs.array_digest`, piece by piece."""
        hasher = BlobHasher()
        hasher.update(f"{self.dtype}{list(self.shape)}".encode("ascii"))
        return hasher


class ArrayUploads:
    """Uploads in `uploads/`; complete ones move to `arrays/`."""

    def __init__(self, folder: Folder, arrays: ArrayRegistry, id_key: bytes) -> None:
        self._folder = folder
        self._arrays = arrays
        self._id_key = id_key
        self._lock = threading.Lock()
        self._open: dict[str, StagedFile] = {}

    def start(self, message: UploadStart) -> UploadState:
        """Begin, or find how far the same upload is. Raises `Problem`."""
        begun = _checked(message)
        upload = derive_id(self._id_key, "upload", begun.digest, begun.dtype, str(begun.shape))
        with self._lock:
            if self._uploaded(upload) is None:
                with writing("The upload could not be stored"):
                    write_private(self._facts(upload), msgspec.json.encode(begun))
                if begun.size == 0:
                    self._complete(upload, begun, self._staged(upload, begun))
            return self._state(upload)

    def state(self, upload: str) -> UploadState:
        with self._lock:
            return self._state(upload)

    def begin(self, upload: str, offset: int, length: int) -> None:
        """Check that `length` bytes may follow at `offset`. Raises `Problem`."""
        with self._lock:
            if self._uploaded(upload) is not None:
                return
            begun = self._begun(upload)
            staged = self._staged(upload, begun)
            if offset == 0 and staged.received:
                staged.restart(begun.hasher())
            if offset != staged.received:
                raise OffsetMismatch(received=staged.received)
            if offset + length > begun.size:
                raise WrongLength(f"The array has {begun.size} bytes, more were sent.")

    def append(self, upload: str, offset: int, pieces: list[bytes]) -> None:
        """Take the next bytes, which lie at `offset`. Raises `Problem`."""
        with self._lock:
            if self._uploaded(upload) is not None:
                return
            staged = self._staged(upload, self._begun(upload))
            if staged.received != offset:
                raise OffsetMismatch(received=staged.received)
            staged.append(pieces)

    def finish(self, upload: str) -> UploadState:
        """After a request's body: the array, if all is there. Raises `DigestMismatch`."""
        with self._lock:
            if self._uploaded(upload) is None:
                begun = self._begun(upload)
                staged = self._staged(upload, begun)
                if staged.complete:
                    self._complete(upload, begun, staged)
            return self._state(upload)

    def sweep(self, before: float) -> None:
        """Forget uploads to which nothing was added since this moment (Unix seconds)."""
        with self._lock:
            for facts in self._folder.uploads.glob("*.json"):
                part = facts.with_suffix(".part")
                last = part if part.exists() else facts
                if last.stat().st_mtime < before:
                    self._give_up(facts.stem)

    def _give_up(self, upload: str) -> None:
        staged = self._open.pop(upload, None)
        if staged is not None:
            staged.close()
        for suffix in (".part", ".json"):
            (self._folder.uploads / f"{upload}{suffix}").unlink(missing_ok=True)

    def _complete(self, upload: str, begun: _Begun, staged: StagedFile) -> None:
        if staged.digest() != begun.digest:
            staged.restart(begun.hasher())
            raise DigestMismatch
        name = f"{upload}.bin"
        with writing("The array could not be stored"):
            os.truncate(staged.path, begun.size)
            # A power cut after our answer must not leave zeros of the right size.
            sync_file(staged.path)
            staged.path.replace(self._folder.arrays / name)
            sync_file(self._folder.arrays)
        self._forget(upload)
        dtype = numpy.dtype(begun.dtype).newbyteorder("<")
        self._arrays.add_uploaded(upload, dtype, tuple(begun.shape), name)

    def _state(self, upload: str) -> UploadState:
        source = self._uploaded(upload)
        if source is not None:
            size = source.layout.nbytes
            return UploadState(upload=upload, received=size, bytes=size, array=source.info)
        begun = self._begun(upload)
        received = self._staged(upload, begun).received
        return UploadState(upload=upload, received=received, bytes=begun.size)

    def _uploaded(self, upload: str) -> ArraySource | None:
        try:
            source = self._arrays.get(upload)
        except UnknownArray:
            return None
        return source if (self._folder.arrays / source.place.path).exists() else None

    def _begun(self, upload: str) -> _Begun:
        try:
            return msgspec.json.decode(self._facts(upload).read_bytes(), type=_Begun)
        except (OSError, ValueError, msgspec.DecodeError):  # no file can have such a name
            raise UnknownArray("There is no such upload; begin it again.") from None

    def _staged(self, upload: str, begun: _Begun) -> StagedFile:
        found = self._open.get(upload)
        if found is None:
            path = self._folder.uploads / f"{upload}.part"
            found = self._open[upload] = StagedFile(path, begun.size, begun.hasher())
        return found

    def _forget(self, upload: str) -> None:
        self._open.pop(upload).close()
        self._facts(upload).unlink(missing_ok=True)

    def _facts(self, upload: str) -> Path:
        return self._folder.uploads / f"{upload}.json"


def _checked(message: UploadStart) -> _Begun:
    if message.dtype not in PRODUCT_DTYPES:
        raise DtypeUnsupported(f"Arrays of {message.dtype} are not computed with yet.")
    begun = _Begun(digest=message.digest, dtype=message.dtype, shape=message.shape)
    if begun.size > _LARGEST:
        raise BadArray("No array is as large as that.")
    return begun
