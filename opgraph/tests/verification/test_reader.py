"""Reading a matrix in pieces."""

from __future__ import annotations

import numpy as np
import pytest

from opgraph.errors import ExecutionCancelled
from opgraph.verification import ArrayReader, reader


def test_chunks_cover_the_rectangle_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK_ELEMENTS", 35)
    monkeypatch.setattr(reader, "_WIDEST", 7)
    array = np.arange(31 * 40, dtype="f4").reshape(31, 40)
    seen = np.zeros_like(array)
    for chunk in reader.chunks(ArrayReader(array), (2, 30), (5, 39), None):
        assert chunk.values.size <= 35
        seen[chunk.r0 : chunk.r1, chunk.c0 : chunk.c1] += chunk.values
    assert np.array_equal(seen[2:30, 5:39], array[2:30, 5:39])
    assert seen.sum() == array[2:30, 5:39].sum()


def test_big_endian_and_fortran_order_arrive_native_and_contiguous() -> None:
    array = np.asfortranarray(np.arange(12.0).reshape(3, 4).astype(">f8"))
    piece = ArrayReader(array).read(1, 3, 1, 3)
    assert piece.dtype == np.dtype("f8").newbyteorder("=")
    assert piece.flags.c_contiguous
    assert piece.tolist() == [[5.0, 6.0], [9.0, 10.0]]


def test_rows_in_runs() -> None:
    array = np.arange(40.0).reshape(10, 4)
    rows = np.array([0, 1, 4, 8, 9])
    found = reader.read_rows(ArrayReader(array), rows, 1, 3)
    assert np.array_equal(found, array[rows, 1:3])
    assert reader.read_rows(ArrayReader(array), rows[:0], 1, 3).shape == (0, 2)


def test_a_matrix_has_two_axes() -> None:
    with pytest.raises(ValueError, match="two axes"):
        ArrayReader(np.zeros(3))


def test_cancelling_stops_between_two_chunks() -> None:
    answers = iter([False, True])
    pieces = reader.chunks(
        ArrayReader(np.zeros((1 << 11, 1 << 9))), (0, 1 << 11), (0, 1 << 9), lambda: next(answers)
    )
    next(pieces)
    with pytest.raises(ExecutionCancelled):
        next(pieces)
