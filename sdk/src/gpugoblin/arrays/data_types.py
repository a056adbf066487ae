"""Functions about element types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

import gpugoblin.array as core
from gpugoblin.arrays import dtypes
from gpugoblin.arrays.axes import a_shape
from gpugoblin.arrays.building import (
    SCALARS,
    again,
    array_of,
    broadcast,
    same_shape,
    scalar,
    spreads,
)
from gpugoblin.arrays.building import cast as _cast
from gpugoblin.arrays.creation import check_device
from gpugoblin.arrays.dtypes import FLOATING, INTEGRAL, KINDS, Dtype, as_dtype, by_name
from gpugoblin.errors import BadArgument, DtypeUnsupported, ShapeMismatch


@dataclass(frozen=True)
class FloatInfo:
    """Bits, distance from 1 to the next float, and the range of a float type."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Dtype


@dataclass(frozen=True)
class IntegerInfo:
    """Bits and range of an integer type."""

    bits: int
    max: int
    min: int
    dtype: Dtype


def astype(
    x: core.Array, dtype: Any, /, *, copy: bool = True, device: str | None = None
) -> core.Array:
    """The same values in another element type.

    Floats to integers go towards zero, saturate, and NaN gives 0; integers wrap modulo 2^w; to
    bool is `!= 0`; floats round to nearest even. To and from 16-bit floats it goes through
    float32, so float64 and integers are rounded twice on the way there.
    """
    array = array_of(x)
    if device != array.device:
        check_device(device)
    made = _cast(array, as_dtype(dtype).name)
    return core.of_value(made.home, made.value) if copy else made


def broadcast_arrays(*arrays: core.Array) -> list[core.Array]:
    """The arrays spread to their common shape. Raises `ShapeMismatch`."""
    return [again(each) for each in same_shape(*map(array_of, arrays))] if arrays else []


def broadcast_to(x: core.Array, /, shape: Any) -> core.Array:
    """`x` spread to a shape. Raises `ShapeMismatch`."""
    array, wanted = array_of(x), a_shape(shape)
    if not spreads(array.shape, wanted):
        raise ShapeMismatch(f"{array.shape} does not broadcast to {wanted}.")
    return again(broadcast(array, wanted))


def can_cast(from_: Any, to: Any, /) -> bool:
    """Whether promotion goes from one element type (or an array's) to the other."""
    source = from_.type.dtype if isinstance(from_, core.Array) else as_dtype(from_).name
    target = as_dtype(to).name
    try:
        return dtypes.promoted(source, target) == target
    except DtypeUnsupported:
        return False


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is another one, or of a kind (`integral` ...), or of one of several."""
    if isinstance(kind, tuple):
        return any(isdtype(dtype, each) for each in kind)
    name = as_dtype(dtype).name
    if isinstance(kind, str) and kind != "bfloat16":
        if kind not in KINDS:
            raise BadArgument(f"{kind!r} is no kind of dtypes: {', '.join(KINDS)}.")
        return name in KINDS[kind]
    return name == as_dtype(kind).name


def finfo(type: Any, /) -> FloatInfo:  # noqa: A002
    """Limits of a float type, or of that of an array, as Python floats."""
    name = _named(type)
    if name not in FLOATING:
        raise DtypeUnsupported(f"finfo() is of floats, not {name}.")
    if name == "bfloat16":
        return FloatInfo(16, 2.0**-7, _BF16_MAX, -_BF16_MAX, 2.0**-126, by_name(name))
    found = numpy.finfo(name)
    return FloatInfo(
        int(found.bits), float(found.eps), float(found.max), float(found.min),
        float(found.smallest_normal), by_name(name),
    )  # fmt: skip


_BF16_MAX = float.fromhex("0x1.fep127")


def iinfo(type: Any, /) -> IntegerInfo:  # noqa: A002
    """Limits of an integer type, or of that of an array, as Python integers."""
    name = _named(type)
    if name not in INTEGRAL:
        raise DtypeUnsupported(f"iinfo() is of integers, not {name}.")
    low, high = dtypes.smallest(name), dtypes.largest(name)
    return IntegerInfo(dtypes.bits(name), high, low, by_name(name))


def result_type(*arrays_and_dtypes: Any) -> Dtype:
    """The element type in which arrays, dtypes and Python numbers meet."""
    scalars = [each for each in arrays_and_dtypes if isinstance(each, SCALARS)]
    names = [_named(each) for each in arrays_and_dtypes if not isinstance(each, SCALARS)]
    if not names:
        raise BadArgument("result_type() wants an array or a dtype among its arguments.")
    found = names[0]
    for name in names[1:]:
        found = dtypes.promoted(found, name)
    for each in scalars:
        scalar(each, found)
    return by_name(found)


def _named(x: Any) -> str:
    if isinstance(x, core.Array):
        return x.type.dtype
    return as_dtype(x.dtype if isinstance(x, numpy.ndarray) else x).name


__all__ = [
    "astype", "broadcast_arrays", "broadcast_to", "can_cast", "finfo", "iinfo", "isdtype",
    "result_type",
]  # fmt: skip
