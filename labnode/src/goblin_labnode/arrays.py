"""Arrays that computations can use: `.npy` files under the roots, and uploaded ones."""

from __future__ import annotations

import os
import time
from sqlite3 import Connection
from typing import Any

import msgspec
import numpy

from goblin_labnode.files import DataFile, Identity
from goblin_labnode.npy import Layout, read_layout
from goblin_labnode.roots import Place, Roots
from goblin_labnode.store.database import Database, Row
from goblin_wire.blobs import derive_id
from goblin_wire.control import ArrayInfo
from goblin_wire.problems import UnknownArray

UPLOADED = "@arrays"
"""The root of uploaded arrays."""


class ArraySource:
    """An array as it was when it was opened: where it lies, how, and what tells a change."""

    def __init__(self, array: str, place: Place, layout: Layout, identity: Identity) -> None:
        self.array = array
        self.place = place
        self.layout = layout
        self.identity = identity

    @property
    def info(self) -> ArrayInfo:
        layout = self.layout
        return ArrayInfo(
            array=self.array,
            dtype=layout.native.name,
            shape=list(layout.shape),
            bytes=layout.nbytes,
        )

    @property
    def shown(self) -> str:
        """The array in sentences for the researcher."""
        return "An uploaded array" if self.place.root == UPLOADED else self.place.path

    def open(self, roots: Roots) -> DataFile:
        """A descriptor of the file. Whether it is still the same is for `check` to say."""
        descriptor = roots.open(self.place)
        return DataFile(descriptor, self.identity, lambda: roots.stat(self.place), self.shown)


class ArrayRegistry:
    """Arrays by id. An id stands for a file in one state: change the file, and it is another."""

    def __init__(self, database: Database, roots: Roots, id_key: bytes) -> None:
        self._database = database
        self._roots = roots
        self._id_key = id_key

    def open_file(self, path: str) -> ArraySource:
        """The array in a `.npy` file. Raises `Problem`."""
        place = self._roots.find(path)
        descriptor = self._roots.open(place)
        try:
            identity = Identity.of(os.fstat(descriptor))
            layout = read_layout(lambda at, size: os.pread(descriptor, size, at), identity.size)
        finally:
            os.close(descriptor)
        facts = (
            str(identity.device),
            str(identity.inode),
            str(identity.size),
            str(identity.mtime_ns),
        )
        array = derive_id(self._id_key, "file", place.root, place.path, *facts)
        return self._keep(ArraySource(array, place, layout, identity))

    def add_uploaded(
        self, array: str, dtype: numpy.dtype[Any], shape: tuple[int, ...], path: str
    ) -> ArraySource:
        """An uploaded array whose content lies in its root under `path`."""
        place = Place(UPLOADED, path)
        layout = Layout(dtype, shape, False, 0)
        identity = Identity.of(self._roots.stat(place))
        return self._keep(ArraySource(array, place, layout, identity), durable=True)

    def get(self, array: str) -> ArraySource:
        """Raises `UnknownArray`."""
        row = self._database.row("SELECT * FROM arrays WHERE id = ?", array)
        if row is None:
            raise UnknownArray
        return _source(row)

    def adopt(self, source: ArraySource) -> None:
        """Note that the file has the same content under a new identity."""
        identity = source.identity
        self._database.execute(
            "UPDATE arrays SET device = ?, inode = ?, size = ?, mtime_ns = ? WHERE id = ?",
            identity.device,
            identity.inode,
            identity.size,
            identity.mtime_ns,
            source.array,
        )

    def _keep(self, source: ArraySource, *, durable: bool = False) -> ArraySource:
        """`durable`: on the disk when this returns."""
        layout, identity = source.layout, source.identity
        values = (
            source.array,
            source.place.root,
            source.place.path,
            identity.device,
            identity.inode,
            identity.size,
            identity.mtime_ns,
            layout.dtype.str,
            msgspec.json.encode(layout.shape).decode(),
            int(layout.fortran),
            layout.offset,
            time.time(),
        )
        with self._database.transaction(durable=durable) as connection:
            connection.execute(
                "INSERT INTO arrays VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"
                " ON CONFLICT (id) DO UPDATE SET used_at = excluded.used_at",
                values,
            )
        return source


def touch_arrays(connection: Connection, arrays: list[str]) -> None:
    """Note, in the caller's transaction, that the arrays are in use now."""
    connection.executemany(
        "UPDATE arrays SET used_at = ? WHERE id = ?", [(time.time(), each) for each in arrays]
    )


def _source(row: Row) -> ArraySource:
    shape = msgspec.json.decode(row["shape"], type=tuple[int, ...])
    layout = Layout(numpy.dtype(row["descr"]), shape, bool(row["fortran"]), row["offset"])
    identity = Identity(row["device"], row["inode"], row["size"], row["mtime_ns"])
    return ArraySource(row["id"], Place(row["root"], row["path"]), layout, identity)
