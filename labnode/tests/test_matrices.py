"""Regions of matrices in files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goblin_labnode.files import DataFile, Identity
from goblin_labnode.matrices import FileMatrix
from goblin_labnode.npy import read_layout
from goblin_wire.problems import FileChanged, FileMissing, FileTruncated


def opened(path: Path) -> DataFile:
    descriptor = os.open(path, os.O_RDONLY)
    return DataFile(descriptor, Identity.of(os.fstat(descriptor)), path.stat, path.name)


def matrix(path: Path, shape: tuple[int, int] | None = None) -> FileMatrix:
    file = opened(path)
    content = path.read_bytes()
    layout = read_layout(lambda at, size: content[at : at + size], len(content))
    return FileMatrix(file, layout, shape or (layout.shape[0], layout.shape[1]))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("matrices")


@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    order=st.sampled_from("CF"),
    dtype=st.sampled_from(["<f4", ">f4", "<f8", ">f8"]),
    data=st.data(),
)
def test_any_region_in_any_order(
    folder: Path, shape: tuple[int, int], order: Any, dtype: str, data: st.DataObject
) -> None:
    values = numpy.arange(shape[0] * shape[1]).reshape(shape)
    array = numpy.array(values, dtype, order=order)
    numpy.save(folder / "m.npy", array)
    r0 = data.draw(st.integers(0, shape[0]))
    r1 = data.draw(st.integers(r0, shape[0]))
    c0 = data.draw(st.integers(0, shape[1]))
    c1 = data.draw(st.integers(c0, shape[1]))
    found = matrix(folder / "m.npy").read(r0, r1, c0, c1)
    assert found.dtype.isnative
    assert found.flags.c_contiguous
    numpy.testing.assert_array_equal(found, values[r0:r1, c0:c1])


def test_into_a_given_array(folder: Path) -> None:
    array = numpy.arange(12, dtype="f4").reshape(3, 4)
    numpy.save(folder / "o.npy", array)
    out = numpy.empty((2, 2), "f4")
    assert matrix(folder / "o.npy").read(1, 3, 1, 3, out=out) is out
    numpy.testing.assert_array_equal(out, array[1:3, 1:3])


@pytest.mark.parametrize("shape", [(1, 9), (9, 1)])
def test_a_vector_as_a_matrix(folder: Path, shape: tuple[int, int]) -> None:
    vector = numpy.arange(9, dtype=">f8")
    numpy.save(folder / "v.npy", vector)
    found = matrix(folder / "v.npy", shape).read(0, shape[0], 0, shape[1])
    numpy.testing.assert_array_equal(found.reshape(-1), vector)


def test_a_large_fortran_region_is_turned_in_strips(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("goblin_labnode.matrices._STRIP_BYTES", 256)
    array = numpy.asfortranarray(numpy.random.default_rng(0).random((50, 60)))
    numpy.save(folder / "f.npy", array)
    numpy.testing.assert_array_equal(matrix(folder / "f.npy").read(3, 47, 5, 59), array[3:47, 5:59])


def test_changes_are_seen(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    numpy.save(path, numpy.zeros((4, 4), "f4"))
    file = opened(path)
    file.check()
    os.utime(path, ns=(1, 1))
    with pytest.raises(FileChanged):
        file.check()


def test_a_shorter_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    numpy.save(path, numpy.zeros((4, 4), "f4"))
    found = matrix(path)
    os.truncate(path, 150)
    with pytest.raises(FileTruncated):
        found.check()
    with pytest.raises(FileTruncated):
        found.read(0, 4, 0, 4)
    with pytest.raises(FileTruncated):
        found.read(0, 4, 0, 2)


def test_a_removed_or_replaced_file_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    numpy.save(path, numpy.zeros((4, 4), "f4"))
    file = opened(path)
    path.rename(tmp_path / "y.npy")
    with pytest.raises(FileMissing):
        file.check()
    numpy.save(path, numpy.zeros((4, 4), "f4"))
    with pytest.raises(FileChanged):
        file.check()
    path.unlink()
    (tmp_path / "y.npy").rename(path)
    file.check()
