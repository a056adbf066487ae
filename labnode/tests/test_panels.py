"""Panels as they are sent: every range of them, from files of every order."""

from __future__ import annotations

import os
from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goblin_labnode import panels
from goblin_labnode.buffers import Buffers
from goblin_labnode.files import DataFile, Identity
from goblin_labnode.matrices import FileMatrix
from goblin_labnode.npy import read_layout
from goblin_labnode.panels import panel_blob, panel_pieces
from goblin_wire.blobs import blob_id
from goblin_wire.problems import FileChanged
from opgraph.partition.product import Panel

ROWS, COLUMNS = 37, 23
VALUES = numpy.arange(ROWS * COLUMNS, dtype=numpy.float32).reshape(ROWS, COLUMNS)


def matrix_of(path: Path, values: numpy.ndarray) -> FileMatrix:
    numpy.save(path, values)
    descriptor = os.open(path, os.O_RDONLY)
    identity = Identity.of(os.fstat(descriptor))
    layout = read_layout(lambda at, size: os.pread(descriptor, size, at), identity.size)
    return FileMatrix(DataFile(descriptor, identity, path.stat, "A"), layout, (ROWS, COLUMNS))


@pytest.fixture(scope="module")
def matrices(tmp_path_factory: pytest.TempPathFactory) -> list[FileMatrix]:
    folder = tmp_path_factory.mktemp("matrices")
    kinds = (VALUES, numpy.asfortranarray(VALUES), VALUES.astype(">f4"))
    return [matrix_of(folder / f"{i}.npy", values) for i, values in enumerate(kinds)]


@st.composite
def spans(draw: st.DrawFn, size: int) -> tuple[int, int]:
    first = draw(st.integers(0, size - 1))
    return first, draw(st.integers(first + 1, size))


@st.composite
def asked(draw: st.DrawFn) -> tuple[Panel, tuple[int, int] | None]:
    rows, columns = draw(spans(ROWS)), draw(spans(COLUMNS))
    nbytes = (rows[1] - rows[0]) * (columns[1] - columns[0]) * 4
    panel = Panel("a", 0, 0, rows, columns, nbytes)
    return panel, draw(st.none() | spans(nbytes))


@given(asked=asked(), piece_bytes=st.integers(1, 500), kind=st.integers(0, 2))
def test_pieces_are_the_panels_bytes(
    matrices: list[FileMatrix],
    asked: tuple[Panel, tuple[int, int] | None],
    piece_bytes: int,
    kind: int,
) -> None:
    panel, span = asked
    whole = VALUES[slice(*panel.rows), slice(*panel.columns)].tobytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels, "PIECE_BYTES", piece_bytes)
        found = b"".join(panel_pieces(matrices[kind], panel, Buffers(), span))
    assert found == (whole if span is None else whole[slice(*span)])


def test_pieces_stay_small(matrices: list[FileMatrix], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(panels, "PIECE_BYTES", 4 * COLUMNS * 5)
    panel = Panel("a", 0, 0, (0, ROWS), (0, COLUMNS), VALUES.nbytes)
    sizes = [len(piece) for piece in panel_pieces(matrices[0], panel, Buffers())]
    assert sizes == [4 * COLUMNS * 5] * 7 + [4 * COLUMNS * 2]


def test_the_id_is_that_of_the_whole(matrices: list[FileMatrix]) -> None:
    panel = Panel("a", 0, 0, (3, 30), (5, 20), 27 * 15 * 4)
    key = bytes(range(32))
    assert panel_blob(matrices[1], panel, Buffers(), key) == blob_id(key, VALUES[3:30, 5:20].copy())


def test_a_file_that_changes_amid_yields_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(panels, "PIECE_BYTES", 4 * COLUMNS)
    matrix = matrix_of(tmp_path / "a.npy", VALUES)
    panel = Panel("a", 0, 0, (0, ROWS), (0, COLUMNS), VALUES.nbytes)
    pieces = panel_pieces(matrix, panel, Buffers())
    next(pieces)
    with (tmp_path / "a.npy").open("ab") as file:
        file.write(b"more")
    with pytest.raises(FileChanged):
        next(pieces)
