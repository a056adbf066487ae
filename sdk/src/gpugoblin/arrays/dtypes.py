"""Element types: numpy's dtypes, and bfloat16, which numpy does not have.

Promotion is that of the Array API 2024.12: within one kind, and between signed and unsigned
integers; anything else is refused with the cast to write. The 16-bit floats, which the standard
does not know, promote to float32 and float64, not to one another.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final, TypeAlias

import numpy

from gpugoblin.errors import DtypeUnsupported
from opgraph.tensors import DTYPES, HALVES, INTEGERS


class BFloat16:
    """The upper half of a float32: 8 bits of exponent, 8 of precision. For storage.

    Kept and sent as its bits in uint16; every operator on it computes in float32 and rounds once.
    """

    __slots__ = ()
    name: Final = "bfloat16"
    kind: Final = "f"
    itemsize: Final = 2

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return "bfloat16"


bfloat16: Final = BFloat16()
Dtype: TypeAlias = "numpy.dtype[Any] | BFloat16"

_BY_NAME: dict[str, Dtype] = {
    name: bfloat16 if name == "bfloat16" else numpy.dtype(name) for name in DTYPES
}

KINDS: Final[dict[str, tuple[str, ...]]] = {
    "bool": ("bool",),
    "signed integer": tuple(name for name in INTEGERS if name[0] == "i"),
    "unsigned integer": tuple(name for name in INTEGERS if name[0] == "u"),
    "integral": INTEGERS,
    "real floating": ("float32", "float64", *HALVES),
    "complex floating": (),
    "numeric": (*INTEGERS, "float32", "float64", *HALVES),
}
"""The kinds of the standard's `isdtype`, and the names of the dtypes that are of each."""

FLOATING = frozenset(KINDS["real floating"])
INTEGRAL = frozenset(KINDS["integral"])
NUMERIC = frozenset(KINDS["numeric"])
BOOL = frozenset(KINDS["bool"])
ALL = frozenset(DTYPES)

_FLOAT_ORDER = {"float16": 0, "bfloat16": 0, "float32": 1, "float64": 2}


def by_name(name: str) -> Dtype:
    """The dtype object of a name of the catalogue."""
    return _BY_NAME[name]


def as_dtype(x: Any) -> Dtype:
    """A dtype of the catalogue from a dtype, a scalar type or a name. Raises `DtypeUnsupported`."""
    if isinstance(x, BFloat16) or x == "bfloat16":
        return bfloat16
    try:
        found = numpy.dtype(x)
    except TypeError:
        raise DtypeUnsupported(f"{x!r} is no element type; there are {_listed()}.") from None
    if found.name not in _BY_NAME or found.fields:
        raise DtypeUnsupported(f"Arrays of {found} are not computed. {_way_out(found)}")
    return _BY_NAME[found.name]


@lru_cache(maxsize=1024)
def promoted(left: str, right: str) -> str:
    """The name of the dtype in which two dtypes meet. Raises `DtypeUnsupported`."""
    if left == right:
        return left
    if left in FLOATING and right in FLOATING:
        if _FLOAT_ORDER[left] != _FLOAT_ORDER[right]:
            return max(left, right, key=_FLOAT_ORDER.__getitem__)
    elif left in INTEGRAL and right in INTEGRAL:
        found = _promoted_integers(left, right)
        if found is not None:
            return found
    raise DtypeUnsupported(
        f"{left} and {right} have no common element type; nothing is converted silently."
        f" Cast one first: x.astype({left}) or x.astype({right}), with the types of gpugoblin.xp."
    )


def _promoted_integers(left: str, right: str) -> str | None:
    if left[0] == right[0]:
        return max(left, right, key=bits)
    signed, unsigned = (left, right) if left[0] == "i" else (right, left)
    width = max(bits(signed), 2 * bits(unsigned))
    return f"int{width}" if width <= 64 else None


@cache
def bits(name: str) -> int:
    """Bits of one element."""
    return 8 * _BY_NAME[name].itemsize


def smallest(name: str) -> int:
    """The smallest integer of an integer dtype."""
    return 0 if name[0] == "u" else -(2 ** (bits(name) - 1))


def largest(name: str) -> int:
    """The largest integer of an integer dtype."""
    return int(2 ** (bits(name) - (name[0] != "u")) - 1)


def in_words(names: frozenset[str]) -> str:
    """A set of dtypes as people say it."""
    for words, those in _WORDS:
        if names == those:
            return words
    return ", ".join(name for name in DTYPES if name in names)


_WORDS = (
    ("any element type", ALL),
    ("numbers", NUMERIC),
    ("floats", FLOATING),
    ("integers", INTEGRAL),
    ("bool", BOOL),
    ("integers and bool", INTEGRAL | BOOL),
)


def _listed() -> str:
    return ", ".join(DTYPES)


def _way_out(dtype: numpy.dtype[Any]) -> str:
    if dtype.kind == "c":
        return "Compute with real and imaginary parts: x.real, x.imag."
    if dtype.kind == "f":
        return "Cast first: x.astype(numpy.float64)."
    return f"There are {_listed()}."
