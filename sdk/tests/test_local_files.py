"""Files in the formats that a lab node opens, opened in this process; and how a lab is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest
import safetensors.numpy
import zarr

import gpugoblin
from gpugoblin import errors, local, local_files

VALUES = numpy.arange(12, dtype=numpy.float32).reshape(3, 4)


def test_the_same_numbers_in_every_format(tmp_path: Path) -> None:
    (tmp_path / "c.bin").write_bytes(b"head" + VALUES.astype(">f4").tobytes())
    (tmp_path / "f.bin").write_bytes(VALUES.T.tobytes())
    safetensors.numpy.save_file({"a.b": VALUES, "z": VALUES + 1}, tmp_path / "m.safetensors")
    made = zarr.create_array(
        str(tmp_path / "x.zarr"), shape=(3, 4), chunks=(2, 3), dtype="float32", zarr_format=3
    )
    made[...] = VALUES
    numpy.save(tmp_path / "a.npy", VALUES)
    lazy = [
        local.open(tmp_path / "c.bin", shape=(3, 4), dtype=">f4", offset=4),
        local.open(tmp_path / "f.bin", shape=VALUES.shape, dtype=VALUES.dtype, order="F"),
        local.open(tmp_path / "m.safetensors", tensor="a.b"),
        local.open(tmp_path / "x.zarr"),
        local.open(tmp_path / "a.npy"),
    ]
    for array in lazy:
        assert (array.shape, array.dtype) == ((3, 4), numpy.float32)
        numpy.testing.assert_array_equal(array.compute(), VALUES)
        numpy.testing.assert_array_equal((array @ VALUES.T).compute(), VALUES @ VALUES.T)


def test_integers_and_bfloat16(tmp_path: Path) -> None:
    bits = numpy.array([0x3F80, 0x4000], numpy.uint16)
    (tmp_path / "b.bin").write_bytes(bits.tobytes())
    for kind in ("bfloat16", gpugoblin.xp.bfloat16):
        half = local.open(tmp_path / "b.bin", shape=(2,), dtype=kind)
        assert half.astype(numpy.float32).compute().tolist() == [1.0, 2.0]
    whole = numpy.array([[-128, 127], [3, 4]], numpy.int8)
    numpy.save(tmp_path / "i.npy", whole)
    a = local.open(tmp_path / "i.npy")
    numpy.testing.assert_array_equal((a @ a).compute(), whole @ whole)


def test_an_empty_array(tmp_path: Path) -> None:
    (tmp_path / "e.bin").write_bytes(b"")
    assert local.open(tmp_path / "e.bin", shape=(0, 3), dtype="f4").compute().shape == (0, 3)


@pytest.mark.parametrize(
    ("path", "how", "kind", "sentence"),
    [
        ("m.safetensors", {}, errors.BadMessage, "'a', 'b'"),
        ("m.safetensors", {"tensor": "c"}, errors.BadMessage, "'a', 'b'"),
        ("plain", {"shape": (9,), "dtype": "f4"}, errors.FileTruncated, "36"),
        ("plain", {"shape": (1,), "dtype": "c8"}, errors.DtypeUnsupported, "c8"),
        ("plain", {"shape": (1,), "dtype": "nonsense"}, errors.DtypeUnsupported, "nonsense"),
        ("plain", {"shape": (1,)}, errors.BadArgument, "both"),
        ("plain", {"dtype": "f4"}, errors.BadArgument, "both"),
        ("plain", {"offset": 4}, errors.BadArgument, "offset"),
        ("plain", {"order": "K"}, errors.BadArgument, "order"),
        ("plain", {"shape": (1,), "dtype": "f4", "tensor": "x"}, errors.BadArgument, "either"),
        ("plain", {"shape": (1,), "dtype": "f4", "offset": -1}, errors.BadArgument, "offset"),
        ("plain", {"shape": (1.5,), "dtype": "f4"}, errors.BadArgument, "whole"),
        ("plain", {"shape": (-1,), "dtype": "f4"}, errors.BadArgument, "-1"),
        (".", {}, errors.BadArray, "zarr"),
        ("gone", {"shape": (1,), "dtype": "f4"}, errors.FileMissing, "gone"),
    ],
)
def test_what_cannot_be_opened(
    tmp_path: Path, path: str, how: Any, kind: type[Exception], sentence: str
) -> None:
    safetensors.numpy.save_file({"a": VALUES, "b": VALUES}, tmp_path / "m.safetensors")
    (tmp_path / "plain").write_bytes(b"0123456789abcdef")
    with pytest.raises(kind, match=sentence):
        local.open(tmp_path / path, **how)


def test_what_a_lab_is_asked() -> None:
    asked = local_files.asked("a.bin", None, (numpy.int64(3), 4), numpy.dtype(">i2"), "F", 16)
    assert (asked.shape, asked.dtype, asked.order, asked.offset) == ([3, 4], ">i2", "F", 16)
    assert local_files.asked("a.bin", None, [2], "uint8", "C", 0).dtype == "<u1"
    assert local_files.asked("x", "encoder.weight", None, None, "C", 0).tensor == "encoder.weight"
