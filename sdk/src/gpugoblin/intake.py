"""Arrays of other libraries as numpy arrays, and their bytes in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_wire.blobs import array_hasher
from goblin_wire.protocol import CHUNK_BYTES
from gpugoblin.arrays.dtypes import as_dtype
from gpugoblin.errors import BadArray
from gpugoblin.operands import check_dtype

PROTOCOLS = ("__array_interface__", "__array__", "__array_struct__", "__dlpack__")


def as_numpy(x: Any) -> NDArray[Any]:
    """`x` as a numpy array of a type that labs multiply, without a copy where that is possible.

    Raises `BadArray` for what is no array and `DtypeUnsupported` for other element types.
    """
    array = _taken(x)
    check_dtype(array.dtype)
    return array


def as_any_numpy(x: Any) -> NDArray[Any]:
    """The same with every element type of the catalogue."""
    array = _taken(x)
    as_dtype(array.dtype)
    return array


def _taken(x: Any) -> NDArray[Any]:
    if isinstance(x, numpy.ma.MaskedArray):
        raise BadArray("The array has a mask, which would be lost; write x.filled(value) first.")
    if not any(hasattr(x, name) for name in PROTOCOLS):
        raise BadArray(
            f"{type(x).__name__} is no array (none of {', '.join(PROTOCOLS)});"
            " write numpy.asarray(x) first."
        )
    return _converted(x)


def _converted(x: Any) -> NDArray[Any]:
    try:
        if not any(hasattr(x, name) for name in PROTOCOLS[:3]):
            return numpy.from_dlpack(x)
        return numpy.asarray(x)
    except Exception as error:
        # Any library may raise anything here; its own sentence is the best there is.
        raise BadArray(
            f"{type(x).__name__} does not give its numbers to numpy: {error}."
            " An array on a GPU or with gradients has to be copied to plain memory first"
            " (torch: x.detach().cpu())."
        ) from error


def pieces(array: NDArray[Any], size: int = CHUNK_BYTES) -> Iterator[memoryview]:
    """The array's bytes in C order and little-endian, in pieces of at most about `size`.

    A piece is copied only where the array's own memory has another order.
    """
    little = array.dtype.newbyteorder("<")
    for block in _blocks(array, max(1, size // array.itemsize)):
        if block.size:
            flat = numpy.ascontiguousarray(block, dtype=little).reshape(-1)
            yield flat.view(numpy.uint8).data


def _blocks(array: NDArray[Any], elements: int) -> Iterator[NDArray[Any]]:
    if array.size <= elements:
        yield array
        return
    row = array[0].size
    if row > elements:
        for index in range(array.shape[0]):
            yield from _blocks(array[index], elements)
        return
    step = elements // max(1, row)
    for start in range(0, array.shape[0], step):
        yield array[start : start + step]


def digest(array: NDArray[Any]) -> str:
    """`goblin_wire.blobs.array_digest` of the array, without a second copy of it in memory."""
    hasher = array_hasher(array.dtype.name, array.shape)
    for piece in pieces(array):
        hasher.update(piece)
    return hasher.hexdigest()
