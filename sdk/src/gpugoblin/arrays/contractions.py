"""Sums of products: `tensordot`, `vecdot` and `einsum`, as products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import gpugoblin.array as core
from gpugoblin.arrays.axes import one_axis, several_axes, whole
from gpugoblin.arrays.building import (
    apply,
    array_of,
    broadcast,
    broadcast_shape,
    of_kind,
    same_type,
)
from gpugoblin.arrays.dtypes import NUMERIC
from gpugoblin.arrays.indexing import permuted, shaped
from gpugoblin.errors import BadArgument, ShapeMismatch

Axes = int | tuple[Sequence[int], Sequence[int]]


def tensordot(x1: core.Array, x2: core.Array, /, *, axes: Axes = 2) -> core.Array:
    """The sum of products over the last axes of `x1` and the first of `x2`, or over named pairs.

    Integers wrap modulo 2^w. Raises `ShapeMismatch` where the lengths of a pair differ.
    """
    left, right = _numbers("tensordot", x1, x2)
    ours, theirs = _pairs(left, right, axes)
    if [left.shape[each] for each in ours] != [right.shape[each] for each in theirs]:
        raise ShapeMismatch(
            f"tensordot() of {left.shape} and {right.shape} over {ours} and {theirs}: axes that"
            " are summed together must have one length."
        )
    kept = [place for place in range(left.ndim) if place not in ours]
    others = [place for place in range(right.ndim) if place not in theirs]
    inner = prod(left.shape[each] for each in ours)
    shape = [left.shape[each] for each in kept], [right.shape[each] for each in others]
    rows = shaped(permuted(left, (*kept, *ours)), (prod(shape[0]), inner))
    columns = shaped(permuted(right, (*theirs, *others)), (inner, prod(shape[1])))
    return shaped(apply("matmul", rows, columns), (*shape[0], *shape[1]))


def _numbers(name: str, *arrays: core.Array) -> list[core.Array]:
    return same_type(*(of_kind(name, array_of(each), NUMERIC) for each in arrays))


def _pairs(left: core.Array, right: core.Array, axes: Axes) -> tuple[list[int], list[int]]:
    if not isinstance(axes, tuple | list):
        count = whole(axes, "axes")
        if not 0 <= count <= min(left.ndim, right.ndim):
            raise BadArgument(f"axes={count}: {left.shape} and {right.shape} have not so many.")
        return list(range(left.ndim - count, left.ndim)), list(range(count))
    if len(axes) != 2 or len(axes[0]) != len(axes[1]):
        raise BadArgument("axes is a number, or two lists that name equally many axes.")
    ours, theirs = tuple(axes[0]), tuple(axes[1])
    return list(several_axes(ours, left.ndim, "axes")), list(
        several_axes(theirs, right.ndim, "axes")
    )


def vecdot(x1: core.Array, x2: core.Array, /, *, axis: int = -1) -> core.Array:
    """The sum of products along an axis, counted from the end; the other axes broadcast.

    Integers wrap modulo 2^w. Raises `ShapeMismatch` where the lengths of the axis differ.
    """
    left, right = _numbers("vecdot", x1, x2)
    if whole(axis, "axis") >= 0:
        raise BadArgument(f"vecdot() counts its axis from the end: -1 and below, not {axis}.")
    left, right = _last(left, axis), _last(right, axis)
    if left.shape[-1] != right.shape[-1]:
        raise ShapeMismatch(
            f"vecdot() of lengths {left.shape[-1]} and {right.shape[-1]}: they must be equal."
        )
    stack = broadcast_shape(left.shape[:-1], right.shape[:-1])
    length = left.shape[-1]
    rows = shaped(broadcast(left, (*stack, length)), (*stack, 1, length))
    columns = shaped(broadcast(right, (*stack, length)), (*stack, length, 1))
    return shaped(apply("matmul", rows, columns), stack)


def _last(x: core.Array, axis: int) -> core.Array:
    along = one_axis(axis, x.ndim)
    return permuted(x, (*range(along), *range(along + 1, x.ndim), along))


__all__ = ["tensordot", "vecdot"]
