"""Arrays made by hypothesis: every dtype, empty ones, none and several axes, special values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

Draw = Callable[[st.SearchStrategy[Any]], Any]
Shape = tuple[int, ...]

SIGNED = ("int8", "int16", "int32", "int64")
INTEGERS = (*SIGNED, "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
NUMBERS = (*INTEGERS, *FLOATS)
ALL = (*NUMBERS, "bool")
SIDE = 4
"""The longest axis: what goes wrong at all goes wrong with four elements."""

SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=SIDE)
FULL_SHAPES = hnp.array_shapes(min_dims=0, max_dims=3, min_side=1, max_side=SIDE)
AXES_SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=SIDE)

_SPECIAL = {
    name: [float(each) for each in (
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, numpy.inf, -numpy.inf, numpy.nan,
        numpy.finfo(name).max, numpy.finfo(name).smallest_normal, 1 + numpy.finfo(name).eps,
    )]
    for name in FLOATS
}  # fmt: skip


def elements(dtype: str, low: float | None = None, high: float | None = None) -> Any:
    """Numbers of a dtype. With bounds: those within, and finite; without: special ones, too."""
    if dtype == "bool":
        return st.booleans()
    if dtype in INTEGERS:
        limits = numpy.iinfo(dtype)
        least = int(limits.min) if low is None else max(int(low), int(limits.min))
        most = int(limits.max) if high is None else min(int(high), int(limits.max))
        return st.integers(least, most) | st.sampled_from((least, most, max(least, min(1, most))))
    width = 32 if dtype == "float32" else 64
    if low is None and high is None:
        # Subnormals of float32 are outside of the catalogue's contract.
        return st.sampled_from(_SPECIAL[dtype]) | st.floats(width=width, allow_subnormal=False)
    return st.floats(low, high, width=width, allow_subnormal=False)


def array(
    draw: Draw,
    dtypes: Sequence[str] = ALL,
    shapes: Any = SHAPES,
    low: float | None = None,
    high: float | None = None,
) -> numpy.ndarray[Any, Any]:
    """One array of one of these dtypes."""
    dtype = draw(st.sampled_from(dtypes))
    return draw(hnp.arrays(dtype, shapes, elements=elements(dtype, low, high)))


def of_shape(
    draw: Draw, dtype: str, shape: Shape, low: float | None = None, high: float | None = None
) -> numpy.ndarray[Any, Any]:
    """One array of this dtype and shape."""
    return draw(hnp.arrays(dtype, shape, elements=elements(dtype, low, high)))


def broadcasting(draw: Draw, count: int, most: int = 3) -> tuple[Shape, ...]:
    """So many shapes that broadcast against one another."""
    return draw(
        hnp.mutually_broadcastable_shapes(
            num_shapes=count, min_dims=0, max_dims=most, min_side=0, max_side=SIDE
        )
    ).input_shapes


def promoting(draw: Draw, dtypes: Sequence[str]) -> tuple[str, str]:
    """Two dtypes that promote to one by the standard."""
    first = draw(st.sampled_from(dtypes))
    return first, draw(st.sampled_from([each for each in dtypes if _promote(first, each)]))


def _promote(first: str, second: str) -> bool:
    kinds = {numpy.dtype(first).kind, numpy.dtype(second).kind}
    if kinds == {"i", "u"}:
        return "uint64" not in (first, second)
    return len(kinds) == 1


def axis_of(draw: Draw, shape: Shape) -> int:
    """An axis, counted from either end."""
    return draw(st.integers(-len(shape), len(shape) - 1))


def axes_of(draw: Draw, shape: Shape) -> Any:
    """None, an axis, or several, counted from either end."""
    if not shape:
        return draw(st.sampled_from((None, ())))
    several = draw(hnp.valid_tuple_axes(len(shape)))
    return draw(st.sampled_from((None, several, axis_of(draw, shape))))


def scalar_for(draw: Draw, dtype: str, low: float | None = None, high: float | None = None) -> Any:
    """A Python number that goes with arrays of a dtype."""
    return draw(elements(dtype, low, high))
