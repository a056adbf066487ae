"""How the elements of one array lie in a file, and files that hold nothing but elements."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy

from goblin_wire.problems import BadArray, BadMessage, DtypeUnsupported, FileTruncated

MAX_RANK = 8
LARGEST = 2**50
"""Elements of an array."""

NAMES = (
    "bool",
    *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)),
    *(f"float{bits}" for bits in (16, 32, 64)),
)
"""Element types that numpy knows; bfloat16 is one more."""
_CODE = re.compile(r"([<>=|]?)([biuf][1248])")
_NUMPYS = {numpy.dtype(name).str[1:] for name in NAMES}

ReadAt = Callable[[int, int], bytes]
"""`(offset, size) -> bytes`, fewer at the end of the file."""


@dataclass(frozen=True)
class Layout:
    """How elements lie in a file. `dtype` has the file's byte order; numpy has no bfloat16, whose
    bits are uint16."""

    dtype: numpy.dtype[Any]
    shape: tuple[int, ...]
    fortran: bool
    offset: int
    bfloat16: bool = False

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def native(self) -> numpy.dtype[Any]:
        return self.dtype.newbyteorder("=")

    @property
    def name(self) -> str:
        """The element type as the catalogue calls it."""
        return "bfloat16" if self.bfloat16 else self.native.name


def raw_layout(
    shape: tuple[int, ...], dtype: str, order: str, offset: int, file_size: int
) -> Layout:
    """The layout of a file that is nothing but elements, from byte `offset` on.

    `dtype`: a name (`float32`) or a code with its byte order (`>f4`, big-endian); a name is
    little-endian. `order`: `C` (rows first) or `F`. Raises `BadMessage`, `BadArray`,
    `DtypeUnsupported` or `FileTruncated`.
    """
    if order not in ("C", "F"):
        raise BadMessage(f"The order of the elements is 'C' or 'F', not {order[:20]!r}.")
    bfloat16 = dtype == "bfloat16"
    found = numpy.dtype("<u2") if bfloat16 else _dtype(dtype)
    layout = Layout(found, checked_shape(shape), order == "F", offset, bfloat16)
    must_fit(layout, file_size)
    return layout


def checked_shape(shape: object) -> tuple[int, ...]:
    """The shape as a tuple. Raises `BadArray` for one that no array has."""
    if not isinstance(shape, tuple | list) or len(shape) > MAX_RANK:
        raise BadArray(f"The shape is not one of at most {MAX_RANK} lengths.")
    if not all(type(size) is int and 0 <= size < 2**53 for size in shape):
        raise BadArray("The shape is an impossible one.")
    if math.prod(shape) >= LARGEST:
        raise BadArray("The shape is an impossible one: no array is as large as that.")
    return tuple(shape)


def must_fit(layout: Layout, file_size: int) -> None:
    """Raise `FileTruncated` unless the file is long enough."""
    if layout.offset + layout.nbytes > file_size:
        raise FileTruncated(
            f"{layout.nbytes} bytes of numbers are promised from byte {layout.offset} on, the file"
            f" has {max(0, file_size - layout.offset)} there."
        )


def _dtype(text: str) -> numpy.dtype[Any]:
    if text in NAMES:
        return numpy.dtype(text).newbyteorder("<")
    match = _CODE.fullmatch(text)
    if match is None or match[2] not in _NUMPYS:
        raise DtypeUnsupported(
            f"{text[:20]!r} is no element type; there are {', '.join(NAMES)}, bfloat16, and codes"
            " with a byte order, as '>f4'."
        )
    return numpy.dtype((">" if match[1] == ">" else "<") + match[2])
