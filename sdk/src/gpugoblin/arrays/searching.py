"""Sorting, and where something is."""

from __future__ import annotations

from math import prod

import gpugoblin.array as core
from gpugoblin.arrays.axes import one_axis, several_axes
from gpugoblin.arrays.building import apply, array_of, of_kind, same_type
from gpugoblin.arrays.dtypes import INTEGRAL, NUMERIC
from gpugoblin.arrays.indexing import shaped, take
from gpugoblin.arrays.statistics import truths
from gpugoblin.errors import BadArgument, ShapeMismatch


def sort(
    x: core.Array,
    /,
    *,
    axis: int = -1,
    descending: bool = False,
    stable: bool = True,  # noqa: ARG001
) -> core.Array:
    """The elements in order along an axis. NaN is above all numbers; every sort is stable."""
    return _sorted("sort", x, axis, descending=bool(descending))


def argsort(
    x: core.Array,
    /,
    *,
    axis: int = -1,
    descending: bool = False,
    stable: bool = True,  # noqa: ARG001
) -> core.Array:
    """The indices that sort along an axis (int64). Equal ones keep their order, always."""
    return _sorted("argsort", x, axis, descending=bool(descending))


def _sorted(name: str, x: core.Array, axis: int, *, descending: bool) -> core.Array:
    array = of_kind(name, array_of(x), NUMERIC)
    if not array.ndim:
        raise ShapeMismatch(f"{name}() goes along an axis; this array has none.")
    return apply(name, array, axis=one_axis(axis, array.ndim), descending=descending)


def argmax(x: core.Array, /, *, axis: int | None = None, keepdims: bool = False) -> core.Array:
    """The index (int64) of the largest along an axis, or in the flat array; NaN is the largest.

    Of equal ones the first. Raises `ShapeMismatch` where there is nothing to choose from.
    """
    return _position("argmax", x, axis, keepdims=bool(keepdims))


def argmin(x: core.Array, /, *, axis: int | None = None, keepdims: bool = False) -> core.Array:
    """The index (int64) of the smallest along an axis, or in the flat array; NaN is the smallest.

    Of equal ones the first. Raises `ShapeMismatch` where there is nothing to choose from.
    """
    return _position("argmin", x, axis, keepdims=bool(keepdims))


def _position(name: str, x: core.Array, axis: int | None, *, keepdims: bool) -> core.Array:
    array = of_kind(name, array_of(x), NUMERIC)
    if axis is not None:
        return apply(name, array, axis=one_axis(axis, array.ndim), keepdims=keepdims)
    flat = shaped(array, (prod(array.shape),))
    found = apply(name, flat, axis=0, keepdims=False)
    return shaped(found, (1,) * array.ndim) if keepdims else found


def count_nonzero(
    x: core.Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> core.Array:
    """How many along axes, or of all, are not 0 (int64)."""
    array = truths("count_nonzero", x)
    axes = tuple(sorted(several_axes(axis, array.ndim)))
    return apply("count_true", array, axes=axes, keepdims=bool(keepdims))


def searchsorted(
    x1: core.Array,
    x2: core.Array,
    /,
    *,
    side: str = "left",
    sorter: core.Array | None = None,
) -> core.Array:
    """Where each element of `x2` would go into the rising `x1`, of one axis (int64).

    `sorter`: indices that bring `x1` into order. What is not in order fails when it is computed.
    """
    if side not in ("left", "right"):
        raise BadArgument(f"side must be 'left' or 'right', not {side!r}.")
    order, values = (of_kind("searchsorted", array_of(each), NUMERIC) for each in (x1, x2))
    if sorter is not None:
        order = take(order, of_kind("searchsorted", array_of(sorter, "sorter"), INTEGRAL))
    order, values = same_type(order, values)
    return apply("searchsorted", order, values, side=side)


__all__ = ["argmax", "argmin", "argsort", "count_nonzero", "searchsorted", "sort"]
