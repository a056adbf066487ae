"""Arrays that computations can use: files under the roots, and uploaded ones."""

from __future__ import annotations

import time
from sqlite3 import Connection
from typing import Any

import msgspec
import numpy

from goblin_labnode.files import DataFile, Identity
from goblin_labnode.matrices import Matrix, matrix_over
from goblin_labnode.opening import NPY, RAW, Form, Found, find, find_again, open_data
from goblin_labnode.roots import Place, Roots
from goblin_labnode.store.database import Database, Row
from goblin_labnode.zarr_folder import ZarrFolder
from goblin_wire.blobs import derive_id
from goblin_wire.control import ArrayInfo, OpenArray
from goblin_wire.formats.layout import Layout
from goblin_wire.problems import UnknownArray

UPLOADED = "@arrays"
"""The root of uploaded arrays."""


class ArraySource:
    """An array as it was when it was opened: where it lies, how, and what tells a change."""

    def __init__(self, array: str, place: Place, found: Found) -> None:
        self.array = array
        self.place = place
        self.form, self.layout, self.identity = found

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

    def open(self, roots: Roots) -> DataFile | ZarrFolder:
        """It held open. Whether it is still the same is for `check` to say."""
        return open_data(roots, self.place, self.form, self.identity, self.shown)

    def matrix(self, roots: Roots, shape: tuple[int, int]) -> Matrix:
        """It opened as a matrix of this shape."""
        return matrix_over(self.open(roots), self.layout, shape)

    def now(self, roots: Roots) -> ArraySource:
        """The array as it lies there now. Raises `Problem`."""
        return ArraySource(
            self.array, self.place, find_again(roots, self.place, self.form, self.layout)
        )


class ArrayRegistry:
    """Arrays by id. An id stands for a file in one state: change the file, and it is another."""

    def __init__(self, database: Database, roots: Roots, id_key: bytes) -> None:
        self._database = database
        self._roots = roots
        self._id_key = id_key

    def open_file(self, path: str) -> ArraySource:
        """The array in a file, or in a folder of zarr. Raises `Problem`."""
        return self.open_array(OpenArray(path=path))

    def open_array(self, asked: OpenArray) -> ArraySource:
        """The array that a message asks for. Raises `Problem`."""
        place = self._roots.find(asked.path)
        found = find(self._roots, place, asked)
        identity = found.identity
        facts = (
            str(identity.device),
            str(identity.inode),
            str(identity.size),
            str(identity.mtime_ns),
            *_distinction(found),
        )
        array = derive_id(self._id_key, "file", place.root, place.path, *facts)
        return self._keep(ArraySource(array, place, found))

    def add_uploaded(
        self, array: str, dtype: numpy.dtype[Any], shape: tuple[int, ...], path: str
    ) -> ArraySource:
        """An uploaded array whose content lies in its root under `path`."""
        place = Place(UPLOADED, path)
        layout = Layout(dtype, shape, False, 0)
        identity = Identity.of(self._roots.stat(place))
        found = Found(Form(RAW), layout, identity)
        return self._keep(ArraySource(array, place, found), durable=True)

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
            "UPDATE arrays SET device = ?, inode = ?, size = ?, mtime_ns = ?, parts = ?"
            " WHERE id = ?",
            identity.device,
            identity.inode,
            identity.size,
            identity.mtime_ns,
            identity.parts,
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
            identity.parts,
            msgspec.json.encode(source.form).decode(),
        )
        with self._database.transaction(durable=durable) as connection:
            connection.execute(
                "INSERT INTO arrays VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
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
    identity = Identity(row["device"], row["inode"], row["size"], row["mtime_ns"], row["parts"])
    form = msgspec.json.decode(row["form"], type=Form)
    return ArraySource(row["id"], Place(row["root"], row["path"]), Found(form, layout, identity))


def _distinction(found: Found) -> tuple[str, ...]:
    """What tells arrays in one file apart; nothing for `.npy`, whose ids stay what they were."""
    if found.form.kind == NPY:
        return ()
    layout = found.layout
    return (
        found.form.kind,
        found.form.tensor or "",
        found.identity.parts,
        layout.dtype.str,
        str(layout.shape),
        str(layout.fortran),
        str(layout.offset),
    )
