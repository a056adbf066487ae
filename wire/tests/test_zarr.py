"""Arrays that the zarr package writes are read, region by region; everything else is refused."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import google_crc32c
import numpy
import pytest
import zarr
import zarr.codecs
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from numcodecs import blosc  # type: ignore[import-untyped]
from numpy.typing import NDArray

from goblin_wire.formats import zarr_metadata, zarr_reading
from goblin_wire.formats.zarr_codecs import blosc_is_there, decode
from goblin_wire.formats.zarr_metadata import Chain, read_metadata
from goblin_wire.formats.zarr_reading import open_folder
from goblin_wire.problems import (
    BadArray,
    DtypeUnsupported,
    FileUnreadable,
    Problem,
    UnsupportedComputation,
)

VALUES = numpy.arange(23 * 17, dtype=numpy.float32).reshape(23, 17)


def write(folder: Path, values: NDArray[Any] = VALUES, **options: Any) -> Path:
    """With the zarr package."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of element types that others may not know
        made = zarr.create_array(
            store=str(folder), shape=values.shape, dtype=values.dtype, zarr_format=3, **options
        )
        made[...] = values
    return folder


def region(folder: Path, *spans: tuple[int, int]) -> NDArray[Any]:
    array, reader = open_folder(folder)
    out = numpy.empty([stop - start for start, stop in spans], array.dtype)
    reader.read([start for start, _ in spans], out)
    return out


def everything(folder: Path) -> NDArray[Any]:
    array, _ = open_folder(folder)
    return region(folder, *((0, size) for size in array.shape))


CODECS: dict[str, dict[str, Any]] = {
    "default": {},
    "plain": {"compressors": None},
    "gzip": {"compressors": zarr.codecs.GzipCodec(level=1)},
    "zstd-checksum": {"compressors": zarr.codecs.ZstdCodec(level=1, checksum=True)},
    "blosc": {"compressors": zarr.codecs.BloscCodec(cname="lz4", shuffle="shuffle")},
    "crc": {"compressors": [zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()]},
    "big-endian": {"serializer": zarr.codecs.BytesCodec(endian="big")},
    "transposed": {"filters": [zarr.codecs.TransposeCodec(order=(1, 0))]},
    "dots": {"chunk_key_encoding": {"name": "v2", "separator": "."}},
    "flat": {"chunk_key_encoding": {"name": "default", "separator": "."}},
    "sharded": {"shards": (10, 12)},
    "sharded-plain": {"shards": (10, 12), "compressors": None},
}


@pytest.mark.parametrize("name", CODECS)
def test_what_the_zarr_package_writes(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "x.zarr", chunks=(5, 6), **CODECS[name])
    numpy.testing.assert_array_equal(everything(folder), VALUES)
    numpy.testing.assert_array_equal(region(folder, (3, 21), (5, 13)), VALUES[3:21, 5:13])


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "int64", "uint16", "uint64", "float16", "float32", "float64"]
)
def test_every_element_type(tmp_path: Path, dtype: str) -> None:
    values = (VALUES % 120).astype(dtype)
    found = everything(write(tmp_path / "x.zarr", values, chunks=(8, 8)))
    assert found.dtype == dtype
    numpy.testing.assert_array_equal(found, values)


@pytest.mark.parametrize(
    ("shape", "chunks"), [((), ()), ((9,), (4,)), ((0, 3), (2, 2)), ((4, 5, 6), (2, 5, 4))]
)
def test_every_rank(tmp_path: Path, shape: tuple[int, ...], chunks: tuple[int, ...]) -> None:
    values = numpy.arange(numpy.prod(shape, dtype=int), dtype="f8").reshape(shape)
    folder = write(tmp_path / "x.zarr", values, chunks=chunks)
    numpy.testing.assert_array_equal(everything(folder), values)


@pytest.mark.parametrize("shards", [None, (10, 12)])
@pytest.mark.parametrize("fill", [7.5, numpy.nan, numpy.inf, -numpy.inf])
def test_what_was_never_written(tmp_path: Path, fill: float, shards: Any) -> None:
    made = zarr.create_array(
        store=str(tmp_path / "x.zarr"), shape=(23, 17), dtype="float32", chunks=(5, 6),
        shards=shards, fill_value=fill, zarr_format=3,
    )  # fmt: skip
    made[:5, :6] = VALUES[:5, :6]
    want = numpy.full((23, 17), fill, "f4")
    want[:5, :6] = VALUES[:5, :6]
    numpy.testing.assert_array_equal(everything(tmp_path / "x.zarr"), want)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    place = tmp_path_factory.mktemp("zarr")
    return [
        write(place / name, chunks=(5, 6), **CODECS[name]) for name in ("gzip", "sharded", "plain")
    ]


@given(data=st.data(), number=st.integers(0, 2), kept=st.sampled_from([0, 200, 1 << 20]))
@settings(max_examples=40)
def test_any_region(folders: list[Path], data: st.DataObject, number: int, kept: int) -> None:
    r0 = data.draw(st.integers(0, 22))
    r1 = data.draw(st.integers(r0, 23))
    c0 = data.draw(st.integers(0, 16))
    c1 = data.draw(st.integers(c0, 17))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zarr_reading, "KEPT_BYTES", kept)
        found = region(folders[number], (r0, r1), (c0, c1))
    numpy.testing.assert_array_equal(found, VALUES[r0:r1, c0:c1])


def test_chunks_are_kept_up_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zarr_reading, "KEPT_BYTES", 3 * 5 * 6 * 4)
    unpacked = []
    monkeypatch.setattr(
        zarr_reading, "decode", lambda *each: unpacked.append(1) or decode(*each)
    )  # fmt: skip
    array, reader = open_folder(write(tmp_path / "x.zarr", chunks=(5, 6)))
    out = numpy.empty((5, 17), array.dtype)
    for row in range(5):
        reader.read((0, 0), out[: row + 1])
    assert len(unpacked) == 3
    reader.read((5, 0), out)
    assert reader._kept_bytes <= 3 * 5 * 6 * 4


def test_a_row_of_chunks_is_kept_whatever_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpacked = []
    monkeypatch.setattr(zarr_reading, "decode", lambda *each: unpacked.append(1) or decode(*each))
    folder = write(tmp_path / "x.zarr", chunks=(5, 6))
    for most, count in ((1 << 29, 3), (120, 15)):
        monkeypatch.setattr(zarr_reading, "KEPT_BYTES", 0)
        monkeypatch.setattr(zarr_reading, "MOST_KEPT_BYTES", most)
        unpacked.clear()
        array, reader = open_folder(folder)
        for row in range(5):
            reader.read((row, 0), numpy.empty((1, 17), array.dtype))
        assert len(unpacked) == count


def metadata(**changes: Any) -> bytes:
    fields = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4, 6],
        "data_type": "float32",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2, 3]}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": {},
        **changes,
    }
    return json.dumps({name: value for name, value in fields.items() if value != "gone"}).encode()


def grid(*chunk: Any) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(chunk)}}


LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def sharding(**changes: Any) -> list[dict[str, Any]]:
    configuration = {
        "chunk_shape": [1, 3],
        "codecs": [LITTLE],
        "index_codecs": [LITTLE, {"name": "crc32c"}],
        **changes,
    }
    return [{"name": "sharding_indexed", "configuration": configuration}]


def test_a_good_one_is_read() -> None:
    found = read_metadata(metadata())
    assert (found.shape, found.chunk, found.inner, found.grid) == ((4, 6), (2, 3), (2, 3), (2, 2))
    assert found.key((1, 0)) == "c/1/0"
    assert read_metadata(metadata(codecs=sharding())).inner == (1, 3)
    assert read_metadata(metadata(fill_value="0x3f800000")).fill == 1.0
    assert read_metadata(metadata(later={"must_understand": False})).shape == (4, 6)


@pytest.mark.parametrize(
    "change",
    [
        {"zarr_format": 2},
        {"node_type": "group"},
        {"shape": [4, -6]},
        {"shape": [2**30, 2**30]},
        {"shape": [1] * 9},
        {"shape": "46"},
        {"shape": "gone"},
        {"chunk_grid": {"name": "rectangular", "configuration": {}}},
        {"chunk_grid": grid(2)},
        {"chunk_grid": grid(2, 0)},
        {"chunk_grid": grid(2, True)},
        {"chunk_grid": grid(2, "3")},
        {"chunk_grid": grid(2**20, 2**20)},
        {"chunk_grid": 7},
        {"chunk_key_encoding": {"name": "default", "configuration": {"separator": "/../"}}},
        {"chunk_key_encoding": {"name": "other"}},
        {"chunk_key_encoding": {"name": "default", "configuration": []}},
        {"fill_value": "gone"},
        {"fill_value": "0x1ffffffff"},
        {"fill_value": True},
        {"fill_value": "zero"},
        {"data_type": "int8", "fill_value": 1000},
        {"codecs": []},
        {"codecs": "gone"},
        {"codecs": [{"name": "bytes"}]},
        {"codecs": [{"name": "bytes", "configuration": {"endian": "middle"}}]},
        {"codecs": [{"name": "gzip"}]},
        {"codecs": [LITTLE, {"name": "gzip"}, {"name": "zstd"}]},
        {"codecs": [LITTLE, {"name": "crc32c"}, *[{"name": "crc32c"}] * 4]},
        {"codecs": [LITTLE, {"name": "numcodecs.pickle"}]},
        {"codecs": [{"name": "transpose", "configuration": {"order": [0, 0]}}, LITTLE]},
        {"codecs": [{"name": "transpose", "configuration": {"order": "C"}}, LITTLE]},
        {"codecs": [{"name": "vlen-utf8"}]},
        {"codecs": [*sharding(), {"name": "gzip"}]},
        {"codecs": sharding(chunk_shape=[2, 2])},
        {"codecs": sharding(chunk_shape=[2])},
        {"codecs": sharding(codecs=sharding())},
        {"codecs": sharding(index_codecs=[LITTLE, {"name": "gzip"}])},
        {"codecs": sharding(index_location="middle")},
        {"chunk_grid": grid(2**20, 3), "shape": [2**20, 3], "codecs": sharding()},
        {"storage_transformers": [{"name": "any"}]},
        {"unheard_of": {"name": "x"}},
    ],
)
def test_what_is_not_known_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BadArray):
        read_metadata(metadata(**change))


@pytest.mark.parametrize("kind", ["complex64", "string", "r16", {"name": "datetime64"}])
def test_other_element_types_are_refused(kind: Any) -> None:
    with pytest.raises(DtypeUnsupported):
        read_metadata(metadata(data_type=kind))


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff", b"[" * 5000, b'{"zarr_format": NaN}'])
def test_bytes_that_are_no_metadata(raw: bytes) -> None:
    with pytest.raises(BadArray):
        read_metadata(raw)
    with pytest.raises(BadArray, match="1048576"):
        read_metadata(b" " * (zarr_metadata.MAX_METADATA_BYTES + 1))


@given(st.recursive(st.none() | st.integers() | st.text(max_size=9),
                    lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.sampled_from(["name", "configuration", "x"]), inner),
                    max_leaves=8),
       st.sampled_from(["shape", "data_type", "chunk_grid", "chunk_key_encoding", "codecs",
                        "fill_value", "node_type"]))  # fmt: skip
@settings(max_examples=80)
def test_any_value_anywhere_is_an_array_or_a_problem(value: Any, name: str) -> None:
    with contextlib.suppress(Problem):
        assert read_metadata(metadata(**{name: value})).shape == (4, 6)


class TestChunks:
    """Bytes that are not those of a chunk of 30 float32."""

    SIZE = 120
    DTYPE = numpy.dtype("float32")

    def unpack(self, packing: tuple[str, ...], data: bytes) -> NDArray[Any]:
        return decode(Chain((), False, packing), data, (5, 6), self.DTYPE)

    @pytest.mark.parametrize("size", [0, 119, 121, 1 << 24])
    def test_another_size_is_refused_and_a_bomb_never_unpacked(self, size: int) -> None:
        numbers = bytes(size)
        for name, packed in (
            ("gzip", gzip.compress(numbers, 1)),
            ("zstd", zstandard.compress(numbers)),
        ):
            assert len(packed) < 100_000
            with pytest.raises(BadArray, match="damaged"):
                self.unpack((name,), packed)
        with pytest.raises(BadArray):
            self.unpack((), numbers[:200])

    def test_a_bomb_takes_no_memory(self) -> None:
        packed = gzip.compress(bytes(1 << 26), 1), zstandard.compress(bytes(1 << 26))
        tracemalloc.start()
        for name, data in zip(("gzip", "zstd"), packed, strict=True):
            with pytest.raises(BadArray):
                self.unpack((name,), data)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1 << 20

    @pytest.mark.parametrize("name", ["gzip", "zstd", "blosc", "crc32c"])
    @pytest.mark.parametrize("data", [b"", b"noise", bytes(200)])
    def test_noise(self, name: str, data: bytes) -> None:
        with pytest.raises(BadArray):
            self.unpack((name,), data)

    def test_cut_short(self) -> None:
        for name, data in (
            ("gzip", gzip.compress(os.urandom(self.SIZE))),
            ("zstd", zstandard.compress(os.urandom(self.SIZE))),
        ):
            with pytest.raises(BadArray):
                self.unpack((name,), data[:-9])

    def test_a_blosc_header_that_lies(self) -> None:
        data = bytearray(blosc.compress(bytes(self.SIZE), b"lz4", 5, 1))
        assert self.unpack(("blosc",), bytes(data)).sum() == 0
        for place in (4, 12):
            wrong = data.copy()
            wrong[place] ^= 1
            with pytest.raises(BadArray):
                self.unpack(("blosc",), bytes(wrong))

    def test_without_the_package_for_blosc(self, monkeypatch: pytest.MonkeyPatch) -> None:
        assert blosc_is_there()
        data = blosc.compress(bytes(self.SIZE), b"lz4", 5, 1)
        monkeypatch.setitem(sys.modules, "numcodecs", None)
        with pytest.raises(UnsupportedComputation, match="numcodecs"):
            self.unpack(("blosc",), data)


class TestFolder:
    def test_no_array(self, tmp_path: Path) -> None:
        with pytest.raises(BadArray, match=r"without zarr\.json"):
            open_folder(tmp_path)

    def test_links_are_not_followed(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "x.zarr", chunks=(5, 6), compressors=None)
        (folder / "c/0/0").rename(tmp_path / "elsewhere")
        (folder / "c/0/0").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(FileUnreadable):
            everything(folder)
        (folder / "c").rename(tmp_path / "chunks")
        (folder / "c").symlink_to(tmp_path / "chunks")
        with pytest.raises(FileUnreadable):
            everything(folder)

    @pytest.mark.parametrize("sharded", [False, True])
    def test_damage(self, tmp_path: Path, sharded: bool) -> None:
        options = {"shards": (10, 12)} if sharded else {}
        folder = write(tmp_path / "x.zarr", chunks=(5, 6), compressors=None, **options)
        path = folder / "c/0/0"
        whole = path.read_bytes()
        cases = [b"", whole[:-1], whole[:-20] + bytes(20)] if sharded else [b"", whole[:-1]]
        cases.append(bytes(100_000) + whole) if not sharded else None
        for content in cases:
            path.write_bytes(content)
            with pytest.raises(BadArray):
                everything(folder)

    def test_an_index_that_points_out_of_its_shard(self, tmp_path: Path) -> None:
        folder = write(tmp_path / "x.zarr", chunks=(5, 6), shards=(10, 12), compressors=None)
        path = folder / "c/0/0"
        content = path.read_bytes()
        index = numpy.frombuffer(content[-68:-4], "<u8").copy()
        for offset, size in ((len(content), 120), (0, 2**40), (2**63, 120), (0, 119)):
            index[:2] = offset, size
            raw = index.tobytes()
            checksum = google_crc32c.value(raw).to_bytes(4, "little")
            path.write_bytes(content[:-68] + raw + checksum)
            with pytest.raises(BadArray):
                everything(folder)
