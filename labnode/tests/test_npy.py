"""Headers of .npy files."""

from __future__ import annotations

import io
import struct
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib import format as npy_format

from goblin_labnode.npy import MAX_HEADER_BYTES, Layout, header_bytes, read_layout
from goblin_wire.problems import BadArray, DtypeUnsupported, FileTruncated, Problem

V3 = b"\x03\x00"


def layout(content: bytes) -> Layout:
    return read_layout(lambda at, size: content[at : at + size], len(content))


def saved(array: Any, version: tuple[int, int] | None = None) -> bytes:
    buffer = io.BytesIO()
    npy_format.write_array(buffer, array, version=version)
    return buffer.getvalue()


def header(text: str, version: bytes = b"\x01\x00", data: bytes = b"\0" * 64) -> bytes:
    raw = text.encode("utf-8" if version[0] == 3 else "latin-1")
    length = struct.pack("<H" if version[0] == 1 else "<I", len(raw))
    return b"\x93NUMPY" + version + length + raw + data


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", ">f8", "<i4", "|b1"])
def test_what_numpy_writes_is_read(version: tuple[int, int], order: Any, dtype: str) -> None:
    array = numpy.zeros((3, 5), dtype, order=order)
    found = layout(saved(array, version))
    assert (found.dtype, found.shape, found.fortran) == (numpy.dtype(dtype), (3, 5), order == "F")
    assert found.offset == len(saved(array, version)) - array.nbytes


@pytest.mark.parametrize("shape", [(), (0,), (7,), (0, 3), (2, 3, 4)])
def test_every_rank(shape: tuple[int, ...]) -> None:
    assert layout(saved(numpy.zeros(shape, "f4"))).shape == shape


def test_our_own_header_is_numpys() -> None:
    for shape in ((), (5,), (4, 6)):
        content = header_bytes(numpy.dtype("float32"), shape)
        array = numpy.zeros(shape, "float32")
        assert content + array.tobytes() == saved(array)


def test_python_2_longs() -> None:
    text = "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L), }"
    assert layout(header(text)).shape == (2, 3)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", BadArray),
        (b"PK\x03\x04" + b"\0" * 40, BadArray),
        (b"\x93NUMPY\x01\x00", BadArray),
        (b"\x93NUMPY\x04\x00\x10\x00" + b" " * 32, BadArray),
        (b"\x93NUMPY\x01\x00\xff\x00 ", FileTruncated),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 32, BadArray),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (20, 3)}"), FileTruncated),
        (header("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}"), BadArray),
        (header("{'descr': 'O', 'fortran_order': False, 'shape': (2,)}"), BadArray),
        (
            header("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"),
            DtypeUnsupported,
        ),
        (header("{'descr': '<c8', 'fortran_order': False, 'shape': (2,)}"), DtypeUnsupported),
        (header("{'descr': '<U4', 'fortran_order': False, 'shape': (2,)}"), DtypeUnsupported),
        # Digits of other scripts, a line break: plain \d and $ take them.
        (
            header("{'descr': '<f\uff14', 'fortran_order': False, 'shape': (2,)}", b"\x03\x00"),
            BadArray,
        ),
        (
            header("{'descr': '<f\u0664', 'fortran_order': False, 'shape': (2,)}", b"\x03\x00"),
            BadArray,
        ),
        (header("{'descr': '<f4\\n', 'fortran_order': False, 'shape': (2,)}"), BadArray),
        (header("{'descr': '<f3', 'fortran_order': False, 'shape': (2,)}"), DtypeUnsupported),
        (header("{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}"), BadArray),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}"), BadArray),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (True,)}"), BadArray),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': [2]}"), BadArray),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (2,) * 3}"), BadArray),
        (header("{'descr': '<f4', 'fortran_order': False, 'shape': (2**40, 2**40)}"), BadArray),
        (header("{'descr': '<f4', 'fortran_order': False}"), BadArray),
        (header("__import__('os').system('true')"), BadArray),
        (header("(" * 5000), BadArray),
        (header("\xff\xfe", b"\x01\x00"), BadArray),
        (b"\x93NUMPY\x03\x00\x04\x00\x00\x00\xff\xfe\xff\xfe", BadArray),
    ],
)
def test_bad_headers_are_refused(content: bytes, kind: type[Problem]) -> None:
    with pytest.raises(kind):
        layout(content)


def test_no_header_beyond_the_cap_is_read() -> None:
    asked: list[int] = []

    def read_at(at: int, size: int) -> bytes:
        asked.append(size)
        return (b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"x" * 64)[at : at + size]

    with pytest.raises(BadArray):
        read_layout(read_at, 2**40)
    assert max(asked) <= MAX_HEADER_BYTES


@given(st.binary(max_size=200))
def test_noise_never_crashes(noise: bytes) -> None:
    for content in (noise, b"\x93NUMPY\x01\x00" + noise):
        with pytest.raises(Problem):
            layout(content)


@given(st.text(max_size=120))
def test_noisy_headers_never_crash(text: str) -> None:
    with pytest.raises(Problem):
        layout(header(text.encode("latin-1", "replace").decode("latin-1")))
