"""Where numbers lie in raw files and in safetensors files; what is refused."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy
import pytest
import safetensors.numpy
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire.formats.layout import Layout, raw_layout
from goblin_wire.formats.safetensors import MAX_HEADER_BYTES, read_tensor
from goblin_wire.problems import (
    BadArray,
    BadMessage,
    DtypeUnsupported,
    FileTruncated,
    Problem,
)


def tensor(content: bytes, name: str | None = None) -> Layout:
    return read_tensor(lambda at, size: content[at : at + size], len(content), name)


def file_of(header: Any, data: bytes = b"\0" * 64) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(**changes: Any) -> dict[str, Any]:
    return {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32], **changes}


class TestRaw:
    def test_names_are_little_endian_and_codes_say_it(self) -> None:
        assert raw_layout((2, 3), "float32", "C", 4, 28) == Layout(
            numpy.dtype("<f4"), (2, 3), False, 4
        )
        found = raw_layout((2, 3), ">i2", "F", 0, 100)
        assert (found.dtype.str, found.fortran, found.native) == (">i2", True, numpy.dtype("int16"))
        assert raw_layout((3,), "bfloat16", "C", 0, 6).name == "bfloat16"
        assert raw_layout((3,), "uint8", "C", 0, 3).name == "uint8"

    @pytest.mark.parametrize(
        ("arguments", "kind"),
        [
            (((2, 3), "float32", "C", 0, 23), FileTruncated),
            (((2, 3), "float32", "C", 10**15, 24), FileTruncated),
            (((2, 3), "float33", "C", 0, 24), DtypeUnsupported),
            (((2, 3), "complex64", "C", 0, 99), DtypeUnsupported),
            (((2, 3), "O", "C", 0, 99), DtypeUnsupported),
            (((2, 3), "<f4\n", "C", 0, 99), DtypeUnsupported),
            (((2, 3), "b8", "C", 0, 99), DtypeUnsupported),
            (((2, 3), "float32", "K", 0, 24), BadMessage),
            (((-1, 3), "float32", "C", 0, 24), BadArray),
            (((True, 3), "float32", "C", 0, 24), BadArray),
            (((2**30, 2**30), "float32", "C", 0, 24), BadArray),
            (((1,) * 9, "float32", "C", 0, 24), BadArray),
        ],
    )
    def test_what_cannot_be(self, arguments: Any, kind: type[Problem]) -> None:
        with pytest.raises(kind):
            raw_layout(*arguments)


class TestSafetensors:
    def test_what_the_library_writes_is_read(self, tmp_path: Path) -> None:
        rng = numpy.random.default_rng(0)
        tensors = {
            f"layer.{name}": rng.integers(0, 99, (3, 4)).astype(name)
            for name in ("float32", "float64", "float16", "int8", "int64", "uint16", "bool")
        }
        safetensors.numpy.save_file(tensors, tmp_path / "m.safetensors", {"made": "here"})
        content = (tmp_path / "m.safetensors").read_bytes()
        for name, wanted in tensors.items():
            found = tensor(content, name)
            assert (found.native, found.shape) == (wanted.dtype, wanted.shape)
            numbers = numpy.frombuffer(content, found.dtype, wanted.size, found.offset)
            numpy.testing.assert_array_equal(numbers.reshape(3, 4), wanted)

    def test_the_only_tensor_needs_no_name(self) -> None:
        content = file_of({"__metadata__": {"a": "b"}, "x": entry()})
        assert tensor(content).offset == len(content) - 64 + 8
        assert tensor(file_of({"x": entry(dtype="BF16", data_offsets=[0, 12])})).bfloat16

    def test_names_are_listed_up_to_a_bound(self) -> None:
        content = file_of({f"w{each}": entry() for each in range(100)})
        for name in (None, "absent"):
            with pytest.raises(BadMessage, match=r"'w0', 'w1'.* and 60 more") as caught:
                tensor(content, name)
            assert len(caught.value.detail) < 500
        with pytest.raises(BadMessage, match="none"):
            tensor(file_of({}))

    @pytest.mark.parametrize(
        ("content", "kind"),
        [
            (b"", BadArray),
            (b"\x93NUMPY\x01\x00", BadArray),
            (struct.pack("<Q", MAX_HEADER_BYTES + 1) + b"{}", BadArray),
            (struct.pack("<Q", 100) + b"{}", FileTruncated),
            (file_of(b"{"), BadArray),
            (file_of(b"[1]"), BadArray),
            (file_of(b'{"x": 1}'), BadArray),
            (file_of(b'{"x": NaN}'), BadArray),
            (file_of(b"\xff\xfe"), BadArray),
            (file_of(b"[" * 100_000), BadArray),
            (file_of(b'{"x": {}, "x": {}}'), BadArray),
            (file_of({"x": {"dtype": "F32", "shape": [2, 3]}}), BadArray),
            (file_of({"x": entry(more=1)}), BadArray),
            (file_of({"x": entry(data_offsets=[8, 31])}), BadArray),
            (file_of({"x": entry(data_offsets=[32, 8])}), BadArray),
            (file_of({"x": entry(data_offsets=[-24, 0])}), BadArray),
            (file_of({"x": entry(data_offsets=[8.0, 32.0])}), BadArray),
            (file_of({"x": entry(data_offsets=[0, True])}), BadArray),
            (file_of({"x": entry(data_offsets="08")}), BadArray),
            (file_of({"x": entry(data_offsets=[2**63, 2**63 + 24])}), BadArray),
            (file_of({"x": entry(shape=[2, -3])}), BadArray),
            (file_of({"x": entry(shape=[2.0, 3])}), BadArray),
            (file_of({"x": entry(shape="23")}), BadArray),
            (file_of({"x": entry(dtype="F8_E4M3")}), DtypeUnsupported),
            (file_of({"x": entry(dtype=["F32"])}), DtypeUnsupported),
            (file_of({"x": entry(data_offsets=[48, 72])}), FileTruncated),
        ],
    )
    def test_bad_files_are_refused(self, content: bytes, kind: type[Problem]) -> None:
        with pytest.raises(kind):
            tensor(content, "x")

    def test_no_header_beyond_the_cap_is_read(self) -> None:
        asked: list[int] = []

        def read_at(_at: int, size: int) -> bytes:
            asked.append(size)
            return struct.pack("<Q", 2**40)[:size]

        with pytest.raises(BadArray):
            read_tensor(read_at, 2**50, "x")
        assert asked == [8]

    @given(st.binary(max_size=120))
    def test_noise_never_crashes(self, noise: bytes) -> None:
        for content in (noise, file_of(noise), file_of(b'{"x":' + noise + b"}")):
            with pytest.raises(Problem):
                tensor(content, "x")
