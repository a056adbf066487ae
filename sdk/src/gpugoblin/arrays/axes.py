"""Axes and shapes as arguments: counted from either end, each once."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from gpugoblin.errors import BadArgument, BadAxis
from opgraph.tensors import Shape


def one_axis(axis: Any, rank: int, name: str = "axis") -> int:
    """The axis counted from the front. Raises `BadAxis`, a ValueError and an IndexError."""
    given = whole(axis, name)
    if not -rank <= given < rank:
        raise BadAxis(
            f"{name}={given}: the array has {rank} axes"
            + (f", from {-rank} to {rank - 1}." if rank else ", so there is none to name.")
        )
    return given % rank


def several_axes(axis: Any, rank: int, name: str = "axis") -> Shape:
    """Axes counted from the front, in the given order; None is all of them."""
    if axis is None:
        return tuple(range(rank))
    given = axis if isinstance(axis, tuple | list) else (axis,)
    found = tuple(one_axis(each, rank, name) for each in given)
    if len(set(found)) != len(found):
        raise BadArgument(f"{name}={axis}: an axis is named twice.")
    return found


def a_shape(shape: Any, name: str = "shape") -> Shape:
    """A shape from an integer or a sequence of them. Raises `BadArgument`."""
    given: Sequence[Any] = shape if isinstance(shape, tuple | list) else (shape,)
    found = tuple(whole(each, name) for each in given)
    if min(found, default=0) < 0:
        raise BadArgument(f"{name}={shape}: no length is negative.")
    return found


def whole(x: Any, name: str) -> int:
    """An integer. Raises `BadArgument`; bool is none, and an array that isn't computed neither."""
    if isinstance(x, bool) or not hasattr(type(x), "__index__"):
        raise BadArgument(f"{name} must be an integer, not {type(x).__name__}.")
    return operator.index(x)
