"""Arrays in other files than `.npy`: read region by region, watched like them, never outside."""

from __future__ import annotations

import os
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest
import safetensors.numpy
import zarr
from numpy.typing import NDArray

from goblin_labnode import opening
from goblin_labnode.arrays import ArrayRegistry, ArraySource
from goblin_labnode.matrices import Matrix
from goblin_labnode.roots import Roots
from goblin_labnode.store.database import Database
from goblin_labnode.store.schema import TABLES, VERSION
from goblin_labnode.zarr_folder import ZarrFolder
from goblin_wire.control import OpenArray
from goblin_wire.problems import (
    BadArray,
    BadMessage,
    DtypeUnsupported,
    FileChanged,
    FileMissing,
    FileTruncated,
    FileUnreadable,
    PathOutsideRoots,
    Problem,
    UnsupportedComputation,
)

VALUES = numpy.arange(23 * 17, dtype=numpy.float32).reshape(23, 17)


class Data:
    """A root and a registry over it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self.folder.mkdir()
        self.database = Database(folder / "lab.sqlite")
        self.roots = Roots({"data": str(self.folder)})
        self.arrays = ArrayRegistry(self.database, self.roots, bytes(32))

    def open(self, path: str, **how: Any) -> ArraySource:
        source = self.arrays.open_array(OpenArray(path=path, **how))
        # What a job finds again after a restart.
        kept = self.arrays.get(source.array)
        assert (kept.form, kept.layout, kept.identity) == (
            source.form,
            source.layout,
            source.identity,
        )
        return kept

    def matrix(self, source: ArraySource) -> Matrix:
        rows, columns = source.layout.shape
        return source.matrix(self.roots, (rows, columns))


@pytest.fixture
def data(tmp_path: Path) -> Data:
    return Data(tmp_path)


def write_zarr(folder: Path, values: NDArray[Any] = VALUES, **options: Any) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = zarr.create_array(
            store=str(folder), shape=values.shape, dtype=values.dtype, zarr_format=3,
            **{"chunks": (5, 6), **options},
        )  # fmt: skip
        made[...] = values
    return folder


def every_form(data: Data) -> dict[str, ArraySource]:
    """The same numbers in every form."""
    folder = data.folder
    (folder / "c.bin").write_bytes(b"head" + VALUES.astype(">f4").tobytes())
    (folder / "f.bin").write_bytes(VALUES.T.astype("<f4").tobytes())
    safetensors.numpy.save_file({"a.b": VALUES, "z": VALUES + 1}, folder / "m.safetensors")
    write_zarr(folder / "x.zarr")
    write_zarr(folder / "s.zarr", shards=(10, 12))
    raw = {"shape": list(VALUES.shape)}
    return {
        "big-endian": data.open("c.bin", dtype=">f4", offset=4, **raw),
        "fortran": data.open("f.bin", dtype="float32", order="F", **raw),
        "tensor": data.open("m.safetensors", tensor="a.b"),
        "zarr": data.open("x.zarr"),
        "shards": data.open("s.zarr/"),
    }


def test_regions_of_every_form(data: Data) -> None:
    for name, source in every_form(data).items():
        assert source.info.dtype == "float32", name
        assert source.info.bytes == VALUES.nbytes
        matrix = data.matrix(source)
        for r0, r1, c0, c1 in ((0, 23, 0, 17), (3, 21, 5, 13), (7, 8, 0, 17), (2, 2, 0, 3)):
            found = matrix.read(r0, r1, c0, c1)
            numpy.testing.assert_array_equal(found, VALUES[r0:r1, c0:c1], err_msg=name)
            assert found.dtype.isnative
        matrix.check()
        matrix.check_all()


def test_a_vector_of_zarr_is_a_row_or_a_column(data: Data) -> None:
    write_zarr(data.folder / "v.zarr", VALUES[0], chunks=(5,))
    source = data.open("v.zarr")
    for shape, span in (((1, 17), (0, 1, 3, 9)), ((17, 1), (3, 9, 0, 1))):
        found = source.matrix(data.roots, shape).read(*span)
        numpy.testing.assert_array_equal(found.reshape(-1), VALUES[0, 3:9])


def test_ids_stand_for_content_in_one_state(data: Data) -> None:
    forms = every_form(data)
    again = every_form_opened(data)
    assert {name: source.array for name, source in forms.items()} == again
    assert len(set(again.values())) == len(again)
    other = data.open("c.bin", dtype=">f4", shape=[17, 23], offset=4)
    assert other.array not in again.values()
    chunk = data.folder / "x.zarr/c/1/1"
    os.utime(chunk, ns=(5, 5))
    assert data.open("x.zarr").array != again["zarr"]


def every_form_opened(data: Data) -> dict[str, str]:
    raw = {"shape": list(VALUES.shape)}
    return {
        "big-endian": data.open("c.bin", dtype=">f4", offset=4, **raw).array,
        "fortran": data.open("f.bin", dtype="float32", order="F", **raw).array,
        "tensor": data.open("m.safetensors", tensor="a.b").array,
        "zarr": data.open("data/x.zarr").array,
        "shards": data.open(str(data.folder / "s.zarr")).array,
    }


def spoil_in_place(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size - 1)


@pytest.mark.parametrize(
    ("where", "change", "kind"),
    [
        ("x.zarr/c/1/1", spoil_in_place, FileChanged),
        ("x.zarr/c/1/1", cut, FileTruncated),
        ("x.zarr/c/1/1", Path.unlink, FileMissing),
        ("x.zarr/zarr.json", Path.touch, FileChanged),
        ("x.zarr/zarr.json", Path.unlink, FileMissing),
        ("s.zarr/c/0/1", cut, FileTruncated),
        ("c.bin", spoil_in_place, FileChanged),
        ("m.safetensors", cut, FileTruncated),
    ],
)
def test_a_change_is_seen_by_every_look(data: Data, where: str, change: Any, kind: Any) -> None:
    forms = every_form(data)
    names = {"x.zarr": "zarr", "s.zarr": "shards", "c.bin": "big-endian", "m.safetensors": "tensor"}
    source = forms[names[where.split("/")[0]]]
    matrix = data.matrix(source)
    matrix.read(0, 23, 0, 17)  # chunks that are kept must not hide a change
    change(data.folder / where)
    with pytest.raises(Problem) as caught:
        matrix.check_all()
    assert caught.type in (kind, FileTruncated)

    def read() -> None:
        matrix.read(0, 23, 0, 17)
        matrix.check()

    with pytest.raises(Problem) as caught:
        read()
    assert caught.type in (kind, FileTruncated)
    with pytest.raises(Problem):
        data.matrix(source).check_all()


def test_a_chunk_that_appears_is_a_change(data: Data) -> None:
    path = data.folder / "x.zarr/c/1/1"
    write_zarr(data.folder / "x.zarr")
    kept = path.read_bytes()
    path.unlink()
    source = data.open("x.zarr")
    matrix = data.matrix(source)
    assert not matrix.read(5, 10, 6, 12).any()
    path.write_bytes(kept)
    with pytest.raises(FileChanged):
        matrix.read(5, 10, 6, 12)
    with pytest.raises(FileChanged):
        matrix.check_all()


def test_the_array_as_it_is_now(data: Data) -> None:
    for name, source in every_form(data).items():
        now = source.now(data.roots)
        assert (now.layout, now.form, now.identity) == (
            source.layout,
            source.form,
            source.identity,
        ), name
    touched = data.folder / "x.zarr/c/0/0"
    touched.touch()
    source = data.open("x.zarr")
    os.utime(touched, ns=(7, 7))
    now = source.now(data.roots)
    assert now.identity != source.identity
    data.arrays.adopt(now)
    data.matrix(data.arrays.get(source.array)).check_all()


@pytest.mark.parametrize(
    ("path", "how", "kind", "sentence"),
    [
        ("plain", {}, BadArray, "shape=.rows, columns."),
        ("plain", {"shape": [2, 2]}, BadMessage, "both"),
        ("plain", {"dtype": "float32"}, BadMessage, "both"),
        ("plain", {"shape": [2, 2], "dtype": "f4", "tensor": "x"}, BadMessage, "either"),
        ("plain", {"shape": [9, 9], "dtype": "float32"}, FileTruncated, "324"),
        ("plain", {"shape": [2, 2], "dtype": "complex64"}, DtypeUnsupported, "complex64"),
        ("plain", {"shape": [2], "dtype": "bfloat16"}, DtypeUnsupported, "float32"),
        ("m.safetensors", {}, BadMessage, "'a.b', 'z'"),
        ("m.safetensors", {"tensor": "b"}, BadMessage, "'a.b', 'z'"),
        ("plain", {"tensor": "b"}, BadArray, "safetensors"),
        ("folder", {}, BadArray, "zarr.json"),
        ("folder", {"shape": [1], "dtype": "u1"}, FileUnreadable, "regular"),
        ("group.zarr", {}, BadArray, "group"),
        ("../outside.bin", {"shape": [1], "dtype": "u1"}, PathOutsideRoots, "root"),
        ("link.zarr", {}, PathOutsideRoots, "root"),
        ("linked.zarr", {}, FileUnreadable, "link"),
        ("gone.zarr", {}, FileMissing, "no file"),
        ("x.zarr/c", {}, BadArray, "zarr.json"),
    ],
)
def test_what_cannot_be_opened(data: Data, path: str, how: Any, kind: Any, sentence: str) -> None:
    every_form(data)
    folder = data.folder
    (folder / "plain").write_bytes(b"0123456789abcdef")
    (folder / "folder").mkdir()
    (folder.parent / "outside.bin").write_bytes(b"x")
    zarr.create_group(str(folder / "group.zarr"), zarr_format=3)
    write_zarr(folder.parent / "elsewhere.zarr")
    (folder / "link.zarr").symlink_to(folder.parent / "elsewhere.zarr")
    write_zarr(folder / "linked.zarr")
    (folder / "linked.zarr/c/0/0").unlink()
    (folder / "linked.zarr/c/0/0").symlink_to(folder.parent / "outside.bin")
    with pytest.raises(kind, match=sentence):
        data.open(path, **how)


def test_a_folder_in_an_array_that_is_a_link(data: Data) -> None:
    folder = write_zarr(data.folder / "x.zarr")
    (folder / "c").rename(data.folder.parent / "c")
    (folder / "c").symlink_to(data.folder.parent / "c")
    with pytest.raises(PathOutsideRoots):
        data.open("x.zarr")


def test_too_many_files_are_not_followed(data: Data, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("goblin_labnode.zarr_folder.MOST_FILES", 10)
    write_zarr(data.folder / "x.zarr")
    with pytest.raises(BadArray, match="shards"):
        data.open("x.zarr")
    write_zarr(data.folder / "s.zarr", shards=(10, 12))
    assert data.open("s.zarr").layout.shape == VALUES.shape


def test_blosc_is_refused_at_once_where_nothing_unpacks_it(
    data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_zarr(data.folder / "x.zarr", compressors=zarr.codecs.BloscCodec())
    assert data.open("x.zarr").layout.shape == VALUES.shape
    assert "blosc, shards" in opening.formats()
    monkeypatch.setattr("goblin_wire.formats.zarr_codecs.find_spec", lambda _name: None)
    with pytest.raises(UnsupportedComputation, match="numcodecs"):
        data.open("x.zarr")
    assert "pip install numcodecs" in opening.formats()


def test_a_database_of_the_version_before_is_brought_up(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    lines = [each for each in TABLES.splitlines() if "parts TEXT" not in each]
    old = "\n".join(each for each in lines if "form TEXT" not in each)
    old = old.replace("used_at REAL NOT NULL,", "used_at REAL NOT NULL")
    with sqlite3.connect(path) as connection:
        connection.executescript(f"{old} PRAGMA user_version = {VERSION - 1};")
        row = "'{}', '{}', 'p', 1, 2, 3, 4, '<f4', '[2,3]', 0, 128, 5.0"
        for name, root in (("aa", "data"), ("bb", "@arrays")):
            connection.execute(f"INSERT INTO arrays VALUES ({row.format(name, root)})")
    connection.close()
    database = Database(path)
    registry = ArrayRegistry(database, Roots({}), bytes(32))
    assert (registry.get("aa").form.kind, registry.get("bb").form.kind) == ("npy", "raw")
    assert registry.get("aa").identity.parts == ""
    assert registry.get("aa").layout.shape == (2, 3)
    database.close()


def test_who_asks_often_has_many_files_looked_at_rarely(data: Data) -> None:
    write_zarr(data.folder / "x.zarr")
    folder = data.open("x.zarr").open(data.roots)
    assert isinstance(folder, ZarrFolder)
    (data.folder / "x.zarr/c/1/1").touch()
    folder._look_took = 60.0  # as if there were very many
    folder.check_rarely()
    folder._look_took = 0.0
    with pytest.raises(FileChanged):
        folder.check_rarely()
