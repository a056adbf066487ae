"""Regions of zarr arrays: chunks are unpacked as they are needed, and a few are kept."""

from __future__ import annotations

import itertools
import math
import os
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy
from numpy.typing import NDArray

from goblin_wire.formats.zarr_codecs import decode, most_bytes
from goblin_wire.formats.zarr_metadata import MAX_METADATA_BYTES, Shape, ZarrArray, read_metadata
from goblin_wire.problems import BadArray, FileUnreadable

METADATA = "zarr.json"
KEPT_BYTES, MOST_KEPT_BYTES = 1 << 27, 1 << 29
"""Unpacked chunks that are kept: 128 MiB, or a whole row of them up to 512 MiB, so that who reads
row after row unpacks none twice; and at least the last one."""
_INDEXES_KEPT = 16
_NOTHING = 2**64 - 1
"""Place and size, in the index of a shard, of a chunk that was not written."""

Place = tuple[int, ...]


class ChunkFile(Protocol):
    """An open file of chunks."""

    @property
    def size(self) -> int: ...

    def read(self, offset: int, size: int) -> bytes:
        """Fewer bytes at the end of the file."""
        ...


class Store(Protocol):
    """The files of one array."""

    def open(self, key: str) -> AbstractContextManager[ChunkFile | None]:
        """The file of this name below the array's folder; None where there is none.

        Raises a `Problem` unless it is what it was when the array was opened."""
        ...


class ZarrReader:
    """Reads regions. Safe for use by several threads."""

    def __init__(self, array: ZarrArray, store: Store) -> None:
        self.array = array
        self._store = store
        self._unpacking = threading.Lock()
        self._kept: OrderedDict[Place, NDArray[Any]] = OrderedDict()
        self._kept_bytes = 0
        self._room = min(max(KEPT_BYTES, _row_bytes(array)), MOST_KEPT_BYTES)
        self._indexes: OrderedDict[Place, NDArray[numpy.uint64]] = OrderedDict()

    def read(self, starts: Sequence[int], out: NDArray[Any]) -> None:
        """Fill `out`, of the array's rank and element type, from the element at `starts` on.

        Raises `BadArray` for chunks that are not what they should be, and what the store raises.
        """
        if out.size == 0:
            return
        stops = [first + size for first, size in zip(starts, out.shape, strict=True)]
        inner = self.array.inner
        ranges = [
            range(first // step, -(-stop // step))
            for first, stop, step in zip(starts, stops, inner, strict=True)
        ]
        for place in itertools.product(*ranges):
            chunk = self._chunk(place)
            into, part = [], []
            for axis, at in enumerate(place):
                first = max(starts[axis], at * inner[axis])
                stop = min(stops[axis], (at + 1) * inner[axis])
                into.append(slice(first - starts[axis], stop - starts[axis]))
                part.append(slice(first - at * inner[axis], stop - at * inner[axis]))
            out[tuple(into)] = self.array.fill if chunk is None else chunk[tuple(part)]

    def _chunk(self, place: Place) -> NDArray[Any] | None:
        """The chunk at this place of the grid of inner chunks; None: not written."""
        ratio = [
            whole // part for whole, part in zip(self.array.chunk, self.array.inner, strict=True)
        ]
        outer = tuple(at // count for at, count in zip(place, ratio, strict=True))
        within = tuple(at % count for at, count in zip(place, ratio, strict=True))
        with self._store.open(self.array.key(outer)) as file:
            if file is None:
                return None
            # One at a time: else as many threads as read would each hold an unpacked chunk.
            with self._unpacking:
                chunk = self._found(place)
                if chunk is None:
                    chunk = self._unpacked(file, outer, within, ratio)
                    self._keep(place, chunk)
        return chunk

    def _found(self, place: Place) -> NDArray[Any] | None:
        if place in self._kept:
            self._kept.move_to_end(place)
        return self._kept.get(place)

    def _unpacked(
        self, file: ChunkFile, outer: Place, within: Place, ratio: list[int]
    ) -> NDArray[Any] | None:
        array = self.array
        shards = array.chain.shards
        if shards is None:
            return decode(array.chain, self._whole(file), array.chunk, array.dtype)
        number = int(numpy.ravel_multi_index(within, ratio)) if within else 0
        offset, size = map(int, self._index(file, outer, math.prod(ratio))[number])
        if (offset, size) == (_NOTHING, _NOTHING):
            return None
        if size > most_bytes(shards.chain, shards.chunk, array.dtype) or offset + size > file.size:
            raise BadArray("The index of a shard names a chunk that cannot lie there.")
        return decode(shards.chain, file.read(offset, size), shards.chunk, array.dtype)

    def _whole(self, file: ChunkFile) -> bytes:
        most = most_bytes(self.array.chain, self.array.chunk, self.array.dtype)
        if file.size > most:
            raise BadArray(f"A chunk's file has {file.size} bytes, none needs more than {most}.")
        return file.read(0, file.size)

    def _index(self, file: ChunkFile, outer: Place, count: int) -> NDArray[numpy.uint64]:
        shards = self.array.chain.shards
        assert shards is not None  # noqa: S101
        if outer in self._indexes:
            return self._indexes[outer]
        size = 16 * count + 4 * len(shards.index.packing)
        if file.size < size:
            raise BadArray("A shard is shorter than its index.")
        raw = file.read(0 if shards.index_at_start else file.size - size, size)
        index = decode(shards.index, raw, (count, 2), numpy.dtype("uint64"))
        self._indexes[outer] = index
        if len(self._indexes) > _INDEXES_KEPT:
            self._indexes.popitem(last=False)
        return index

    def _keep(self, place: Place, chunk: NDArray[Any] | None) -> None:
        if chunk is None:
            return
        self._kept[place] = chunk
        self._kept_bytes += chunk.nbytes
        while self._kept_bytes > self._room and len(self._kept) > 1:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= oldest.nbytes


def _row_bytes(array: ZarrArray) -> int:
    """Of the chunks that lie side by side along the last axis."""
    chunks = -(-array.shape[-1] // array.inner[-1]) if array.shape else 1
    return chunks * math.prod(array.inner) * array.dtype.itemsize


def no_zarr(folder: str) -> BadArray:
    """What to raise for a folder without `zarr.json`."""
    return BadArray(
        f"{folder!r} is a folder without {METADATA}: no array of zarr version 3. Older ones are"
        " rewritten with the zarr package."
    )


def open_folder(folder: Path) -> tuple[ZarrArray, ZarrReader]:
    """A zarr array in a folder of this machine, for whoever may read all of its files.

    Links inside the folder are refused. Raises `BadArray`, `DtypeUnsupported`, `FileUnreadable`.
    """
    store = FolderStore(folder)
    with store.open(METADATA) as file:
        if file is None:
            raise no_zarr(str(folder))
        array = read_metadata(file.read(0, MAX_METADATA_BYTES + 1))
    return array, ZarrReader(array, store)


class FolderStore:
    """The files below a folder; no link is followed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def open(self, key: str) -> Iterator[OpenFile | None]:
        try:
            descriptor = open_below(self._folder, key)
        except FileNotFoundError:
            yield None
            return
        except OSError as error:
            raise FileUnreadable(f"{key} of {self._folder}: {error.strerror}.") from None
        try:
            yield OpenFile(descriptor)
        finally:
            os.close(descriptor)


class OpenFile:
    """A file by its descriptor, which stays the caller's."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.status = os.fstat(descriptor)
        if not stat.S_ISREG(self.status.st_mode):
            raise FileUnreadable("A chunk of the zarr array is not a regular file.")

    @property
    def size(self) -> int:
        return self.status.st_size

    def read(self, offset: int, size: int) -> bytes:
        pieces = []
        while size > 0 and (piece := os.pread(self._descriptor, min(size, 1 << 30), offset)):
            pieces.append(piece)
            offset, size = offset + len(piece), size - len(piece)
        return b"".join(pieces)


def open_below(folder: Path, key: str) -> int:
    """A descriptor of a file below a folder, without following links. Raises `OSError`."""
    *folders, name = key.split("/")
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for each in folders:
            inner = os.open(each, flags | os.O_DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        return os.open(name, flags | os.O_NONBLOCK, dir_fd=descriptor)
    finally:
        os.close(descriptor)


__all__ = ["METADATA", "FolderStore", "OpenFile", "Shape", "ZarrReader", "no_zarr", "open_folder"]
