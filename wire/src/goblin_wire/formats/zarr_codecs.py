"""From the bytes of a zarr chunk to its numbers, never more of them than the chunk has."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import google_crc32c
import numpy
import zstandard
from numpy.typing import NDArray

from goblin_wire.formats.zarr_metadata import Chain, Shape
from goblin_wire.problems import BadArray, UnsupportedComputation

_CRC_BYTES = 4
_MAX_WINDOW = 1 << 27
"""Bytes of history that a zstd frame may ask for, as the format recommends to allow."""


def most_bytes(chain: Chain, shape: Shape, dtype: numpy.dtype[Any]) -> int:
    """No chunk of this shape takes more once it is packed; what is larger is not read."""
    size = math.prod(shape) * dtype.itemsize
    return size + size // 8 + (1 << 16) + _CRC_BYTES * len(chain.packing)


def decode(chain: Chain, data: bytes, shape: Shape, dtype: numpy.dtype[Any]) -> NDArray[Any]:
    """The numbers of a chunk. Raises `BadArray` where the bytes are not those of one, and
    `UnsupportedComputation` where a package is missing that unpacks them."""
    packed_shape = shape
    for order in chain.transposes:
        packed_shape = tuple(packed_shape[axis] for axis in order)
    size = math.prod(shape) * dtype.itemsize
    stored = numpy.frombuffer(
        _unpacked(chain.packing, data, size), dtype.newbyteorder(">" if chain.big_endian else "<")
    ).reshape(packed_shape)
    for order in reversed(chain.transposes):
        stored = stored.transpose(numpy.argsort(order))
    return stored


def _unpacked(packing: tuple[str, ...], data: bytes, size: int) -> bytes:
    for place in reversed(range(len(packing))):
        name = packing[place]
        if name == "crc32c":
            data = _checked(data)
        else:
            data = _UNPACK[name](data, size + _CRC_BYTES * packing[:place].count("crc32c"))
    if len(data) != size:
        raise _damaged(f"it has {len(data)} bytes of numbers where {size} belong")
    return data


def _checked(data: bytes) -> bytes:
    content, stored = data[:-_CRC_BYTES], data[-_CRC_BYTES:]
    if len(stored) < _CRC_BYTES or struct.pack("<I", google_crc32c.value(content)) != stored:
        raise _damaged("its checksum is wrong")
    return content


def _gunzip(data: bytes, size: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        found = unpacker.decompress(data, size + 1)
    except zlib.error as error:
        raise _damaged(str(error)) from None
    if not unpacker.eof and len(found) <= size:
        raise _damaged("it ends too early")
    return found


def _unzstd(data: bytes, size: int) -> bytes:
    # Streamed: asked at once, the library takes whatever room the frame's header promises.
    unpacker = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    try:
        with unpacker.stream_reader(data) as reader:
            return bytes(reader.read(size + 1))
    except zstandard.ZstdError as error:
        raise _damaged(str(error)) from None


def _unblosc(data: bytes, size: int) -> bytes:
    if len(data) < 16 or struct.unpack_from("<I", data, 4) != (size,):
        raise _damaged("its header names another size")
    if struct.unpack_from("<I", data, 12) != (len(data),):
        raise _damaged("it ends too early")
    try:
        from numcodecs import blosc  # type: ignore[import-untyped]
    except ImportError:
        raise _no_blosc() from None
    try:
        return bytes(blosc.decompress(data))
    except (RuntimeError, ValueError) as error:
        raise _damaged(str(error)) from None


_UNPACK: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "zstd": _unzstd,
    "blosc": _unblosc,
}


def _damaged(how: str) -> BadArray:
    return BadArray(f"A chunk of the zarr array is damaged: {how}.")


def blosc_is_there() -> bool:
    """Whether arrays packed by blosc can be read."""
    return find_spec("numcodecs") is not None


def require_unpackers(chain: Chain) -> None:
    """Raise `UnsupportedComputation` where a package is missing that unpacks such chunks."""
    inner = chain.shards.chain if chain.shards else chain
    if "blosc" in inner.packing and not blosc_is_there():
        raise _no_blosc()


def _no_blosc() -> UnsupportedComputation:
    return UnsupportedComputation(
        "Arrays packed by blosc need the package numcodecs (pip install numcodecs), or rewrite the"
        " array with zstd."
    )
