"""Types of tensors: a dtype of the catalogue and a static shape."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy

Array: TypeAlias = Any
"""An array of numpy or of a module with the same interface (cupy)."""

Shape: TypeAlias = tuple[int, ...]

_STORAGE = {
    "float64": "float64",
    "float32": "float32",
    "float16": "float16",
    # numpy has no bfloat16: its bits travel and are kept as uint16.
    "bfloat16": "uint16",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "uint16": "uint16",
    "uint32": "uint32",
    "uint64": "uint64",
    "bool": "bool",
}

DTYPES = tuple(_STORAGE)
FLOATS = ("float32", "float64")
HALVES = ("float16", "bfloat16")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")

_DTYPE = {name: numpy.dtype(storage) for name, storage in _STORAGE.items()}
_ITEMSIZE = {name: numpy.dtype(storage).itemsize for name, storage in _STORAGE.items()}


def storage_dtype(dtype: str) -> numpy.dtype[Any]:
    """The numpy dtype that holds elements of `dtype` in memory, in native byte order."""
    return _DTYPE[dtype]


def itemsize(dtype: str) -> int:
    """Bytes of one element of `dtype`."""
    return _ITEMSIZE[dtype]


_LINE = 64
_SMALL = 1 << 12


def room(xp: Any, shape: Shape, dtype: Any) -> Array:
    """An array of `xp` with anything in it, that begins where a line of the cache does.

    numpy's own begin 16 bytes after one, and then every load of 64 bytes takes two lines: twice
    the time for what is in cache, a tenth more for products. Small arrays are numpy's own.
    """
    kind = numpy.dtype(dtype)
    nbytes = math.prod(shape) * kind.itemsize
    if xp is not numpy or nbytes < _SMALL:
        return xp.empty(shape, kind)
    raw = numpy.empty(nbytes + _LINE, numpy.uint8)
    start: int = raw.__array_interface__["data"][0]
    return numpy.ndarray(shape, kind, raw, -start % _LINE)


@dataclass(frozen=True, slots=True)
class TensorType:
    """dtype (a name from `DTYPES`) and shape (a tuple of non-negative integers)."""

    dtype: str
    shape: Shape

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def elements(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.elements * _ITEMSIZE[self.dtype]

    def __str__(self) -> str:
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"
