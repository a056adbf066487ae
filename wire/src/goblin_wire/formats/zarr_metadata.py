"""`zarr.json` of an array in zarr version 3, read without trusting it.

Specification: zarr-specs.readthedocs.io/en/latest/v3/core. Read here and not by the zarr package:
that one follows links, unpacks what a chunk holds whatever its size, and loads codecs that other
packages offer by entry points. What is read: regular grids, both chunk key encodings, the codecs
bytes, transpose, gzip, zstd, blosc, crc32c and sharding_indexed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy

from goblin_wire.formats.layout import MAX_RANK, NAMES, checked_shape
from goblin_wire.problems import BadArray, DtypeUnsupported

MAX_METADATA_BYTES = 1 << 20
MAX_CHUNK_BYTES = 1 << 28
"""Of one chunk once it is unpacked: 256 MiB."""
MAX_INNER_CHUNKS = 1 << 16
"""Of one shard: its index has 1 MiB."""

Shape = tuple[int, ...]
Fields = dict[str, Any]
_COMPRESSORS = ("gzip", "zstd", "blosc")


@dataclass(frozen=True)
class Chain:
    """The codecs of a chunk, in the order of writing. `packing`: names of what follows the bytes:
    at most one of gzip, zstd, blosc, and crc32c; `shards` in place of plain bytes."""

    transposes: tuple[Shape, ...]
    big_endian: bool
    packing: tuple[str, ...]
    shards: Shards | None = None


@dataclass(frozen=True)
class Shards:
    """A chunk that is a file of inner chunks with an index. `chunk`: shape of an inner one."""

    chunk: Shape
    chain: Chain
    index: Chain
    index_at_start: bool


@dataclass(frozen=True)
class ZarrArray:
    """An array. `chunk`: the shape of what one file holds."""

    dtype: numpy.dtype[Any]
    shape: Shape
    chunk: Shape
    fill: Any
    chain: Chain
    key: Callable[[Sequence[int]], str]
    """Place in the grid -> path of the file, below the array's folder."""

    @property
    def grid(self) -> Shape:
        """Files along each axis."""
        return tuple(-(-size // step) for size, step in zip(self.shape, self.chunk, strict=True))

    @property
    def inner(self) -> Shape:
        """The shape of what is unpacked at a time: a chunk, or one of a shard's."""
        return self.chain.shards.chunk if self.chain.shards else self.chunk


def read_metadata(raw: bytes) -> ZarrArray:
    """The array that a `zarr.json` describes. Raises `BadArray` or `DtypeUnsupported`."""
    fields = _parsed(raw)
    if fields.get("zarr_format") != 3:
        raise BadArray("Only zarr version 3 is read; rewrite an older array with the zarr package.")
    if fields.get("node_type") != "array":
        raise BadArray("The folder is a zarr group; open an array in it by its own path.")
    _must_understand(fields)
    shape = checked_shape(fields.get("shape"))
    dtype = _dtype(fields.get("data_type"))
    chunk = _chunk(_named(fields.get("chunk_grid"), "regular", "chunk grid").get("chunk_shape"))
    if len(chunk) != len(shape):
        raise BadArray("The chunks of the zarr array have another number of axes than the array.")
    chain = _chain(fields.get("codecs"), chunk, dtype, may_shard=True)
    found = ZarrArray(
        dtype, shape, chunk, _fill(fields.get("fill_value"), dtype), chain, _key(fields)
    )
    if math.prod(found.inner) * dtype.itemsize > MAX_CHUNK_BYTES:
        raise BadArray(
            f"A chunk of the zarr array has {math.prod(found.inner) * dtype.itemsize} bytes, at"
            f" most {MAX_CHUNK_BYTES} are unpacked at a time; rewrite it with smaller chunks."
        )
    return found


def _parsed(raw: bytes) -> Fields:
    if len(raw) > MAX_METADATA_BYTES:
        raise BadArray(f"zarr.json has more than the {MAX_METADATA_BYTES} bytes that are read.")
    try:
        fields = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError, ValueError):
        raise BadArray("zarr.json is not valid JSON.") from None
    if not isinstance(fields, dict):
        raise BadArray("zarr.json does not describe an array.")
    return fields


_KNOWN = {
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "dimension_names",
    "storage_transformers",
}


def _must_understand(fields: Fields) -> None:
    for name, value in fields.items():
        optional = isinstance(value, dict) and value.get("must_understand") is False
        if name not in _KNOWN and not optional:
            raise BadArray(f"zarr.json asks for {name[:40]!r}, which is not known here.")
    if fields.get("storage_transformers"):
        raise BadArray("Storage transformers of zarr arrays are not known here.")


def _named(value: object, name: str, what: str) -> Fields:
    """The configuration of an extension that must have this name."""
    found, configuration = _extension(value)
    if found != name:
        raise BadArray(f"The {what} {found[:40]!r} of the zarr array is not known, only {name!r}.")
    return configuration


def _extension(value: object) -> tuple[str, Fields]:
    """Name and configuration; a bare name has none."""
    if isinstance(value, str):
        return value, {}
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        configuration = value.get("configuration", {})
        if isinstance(configuration, dict):
            return str(value["name"]), configuration
    raise BadArray("zarr.json does not describe an array.")


def _dtype(value: object) -> numpy.dtype[Any]:
    name = _extension(value)[0]
    if name not in NAMES:
        raise DtypeUnsupported(f"Elements of type {name[:40]!r} cannot be used.")
    return numpy.dtype(name)


def _chunk(value: object) -> Shape:
    sizes = isinstance(value, list) and len(value) <= MAX_RANK
    if not sizes or not all(type(each) is int and 0 < each < 2**53 for each in _items(value)):
        raise BadArray("zarr.json does not say how the array is cut into chunks.")
    return tuple(_items(value))


def _items(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _key(fields: Fields) -> Callable[[Sequence[int]], str]:
    name, configuration = _extension(fields.get("chunk_key_encoding"))
    separator = configuration.get("separator", "/" if name == "default" else ".")
    if name not in ("default", "v2") or separator not in ("/", "."):
        raise BadArray("The names of the zarr array's chunks are of a kind that is not known.")

    def key(place: Sequence[int]) -> str:
        parts = [str(each) for each in place]
        if name == "default":
            parts.insert(0, "c")
        return str(separator).join(parts) or "0"

    return key


def _chain(value: object, chunk: Shape, dtype: numpy.dtype[Any], *, may_shard: bool) -> Chain:
    codecs = [_extension(each) for each in _items(value)]
    transposes: list[Shape] = []
    while codecs and codecs[0][0] == "transpose":
        order = _order(codecs.pop(0)[1], len(chunk))
        transposes.append(order)
        chunk = tuple(chunk[axis] for axis in order)
    if not codecs:
        raise BadArray("The zarr array has no codec that makes bytes of its numbers.")
    (name, configuration), *rest = codecs
    packing = _packing([each for each, _ in rest])
    if name == "bytes":
        return Chain(tuple(transposes), _big_endian(configuration, dtype), packing)
    if name == "sharding_indexed" and may_shard and not transposes and not packing:
        return Chain((), False, (), _shards(configuration, chunk, dtype))
    raise BadArray(f"The codec {name[:40]!r} of the zarr array is not read at this place.")


def _packing(names: list[str]) -> tuple[str, ...]:
    for name in names:
        if name not in (*_COMPRESSORS, "crc32c"):
            raise BadArray(f"The codec {name[:40]!r} of the zarr array is not known.")
    if sum(name in _COMPRESSORS for name in names) > 1 or len(names) > 4:
        raise BadArray("The zarr array is compressed more than once, which is not read.")
    return tuple(names)


def _order(configuration: Fields, rank: int) -> Shape:
    order = configuration.get("order")
    if not isinstance(order, list) or any(type(each) is not int for each in order):
        raise BadArray("zarr.json does not say how chunks are transposed.")
    if sorted(order) != list(range(rank)):
        raise BadArray("zarr.json does not say how chunks are transposed.")
    return tuple(order)


def _big_endian(configuration: Fields, dtype: numpy.dtype[Any]) -> bool:
    endian = configuration.get("endian", "little" if dtype.itemsize == 1 else None)
    if endian not in ("little", "big"):
        raise BadArray("zarr.json does not say in which order the bytes of a number lie.")
    return bool(endian == "big")


def _shards(configuration: Fields, shard: Shape, dtype: numpy.dtype[Any]) -> Shards:
    chunk = _chunk(configuration.get("chunk_shape"))
    if len(chunk) != len(shard) or any(
        whole % part for whole, part in zip(shard, chunk, strict=True)
    ):
        raise BadArray("The shards of the zarr array are not made of whole chunks.")
    count = math.prod(shard) // max(1, math.prod(chunk))
    if count > MAX_INNER_CHUNKS:
        raise BadArray(f"A shard has {count} chunks, at most {MAX_INNER_CHUNKS} are read.")
    location = configuration.get("index_location", "end")
    if location not in ("start", "end"):
        raise BadArray("zarr.json does not say where the index of a shard lies.")
    inner = _chain(configuration.get("codecs"), chunk, dtype, may_shard=False)
    index_type = numpy.dtype("uint64")
    index = _chain(configuration.get("index_codecs"), (count, 2), index_type, may_shard=False)
    if set(index.packing) - {"crc32c"} or index.transposes:
        raise BadArray("The index of the zarr array's shards is packed, which is not read.")
    return Shards(chunk, inner, index, location == "start")


def _fill(value: object, dtype: numpy.dtype[Any]) -> Any:
    """The number that stands wherever no chunk was written."""
    try:
        if dtype.kind == "b" and isinstance(value, bool):
            return dtype.type(value)
        if dtype.kind in "iu" and type(value) is int:
            return dtype.type(value)
        if dtype.kind == "f":
            return _float(value, dtype)
    except (OverflowError, ValueError):
        pass
    raise BadArray("zarr.json does not say what stands where no chunk was written.")


def _float(value: object, dtype: numpy.dtype[Any]) -> Any:
    if isinstance(value, str) and value.startswith("0x"):
        bits = int(value, 16)
        return numpy.array(bits, f"u{dtype.itemsize}").view(dtype)[()]
    if value in ("NaN", "Infinity", "-Infinity"):
        return dtype.type(str(value).replace("Infinity", "inf"))
    if type(value) in (int, float):
        with numpy.errstate(over="ignore"):
            return dtype.type(float(str(value)))
    raise ValueError("no number")
