"""What stands between the brackets of `x[...]`, as a box and what is done with its axes."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy

import gpugoblin.array as core
from gpugoblin.arrays.building import array_of
from gpugoblin.errors import BadArgument, IndexOutOfRange
from opgraph.tensors import Shape


class Axis(NamedTuple):
    """One entry of a key.

    `start`, `stop` (not included) and `step` (above 0) say which part of the array's axis; `turned`
    that it runs backwards; `kind` what becomes of it: `part` stays an axis, `one` (an integer) goes
    away, `array` is replaced by `indices`, `new` is an axis of length 1 that the array has not.
    """

    kind: str
    start: int = 0
    stop: int = 1
    step: int = 1
    turned: bool = False
    indices: core.Array | None = None

    @property
    def length(self) -> int:
        return -(-(self.stop - self.start) // self.step)


def read(key: Any, shape: Shape) -> list[Axis]:
    """The entries of a key, `...` written out. Raises `IndexOutOfRange` and `BadArgument`.

    Boolean masks are not for this: see `mask`.
    """
    entries = list(key) if isinstance(key, tuple) else [key]
    taken = sum(each is not None and each is not Ellipsis for each in entries)
    if sum(each is Ellipsis for each in entries) > 1:
        raise BadArgument("`...` stands for all other axes, so it can come once.")
    if taken > len(shape):
        raise IndexOutOfRange(f"{taken} indices for an array of {len(shape)} axes.")
    if not any(each is Ellipsis for each in entries):
        entries.append(Ellipsis)
    place = next(number for number, each in enumerate(entries) if each is Ellipsis)
    rest = [slice(None)] * (len(shape) - taken)
    lengths = iter(enumerate(shape))
    return [
        Axis("new") if each is None else _axis(each, *next(lengths))
        for each in [*entries[:place], *rest, *entries[place + 1 :]]
    ]


def _axis(entry: Any, axis: int, length: int) -> Axis:
    if isinstance(entry, slice):
        return _part(entry, length)
    if isinstance(entry, bool | numpy.bool):
        raise BadArgument("A boolean is no index; masks are for x[mask] = value and xp.where.")
    if isinstance(entry, core.Array | numpy.ndarray):
        return _indices(array_of(entry), length)
    if not hasattr(type(entry), "__index__"):
        raise BadArgument(
            f"An index is an integer, a slice, None, `...` or an array of integers, not"
            f" {type(entry).__name__}."
        )
    place = operator.index(entry)
    if not -length <= place < length:
        raise IndexOutOfRange(f"Index {place} of axis {axis}, which has {length} elements.")
    return Axis("one", place % length, place % length + 1)


def _part(entry: slice, length: int) -> Axis:
    try:
        start, stop, step = entry.indices(length)
    except (TypeError, ValueError) as error:
        raise BadArgument(f"{entry}: {error}.") from None
    count = len(range(start, stop, step))
    if not count:
        return Axis("part", 0, 0)
    last = start + (count - 1) * step
    if step > 0:
        return Axis("part", start, last + 1, step)
    return Axis("part", last, start + 1, -step, turned=True)


def _indices(array: core.Array, length: int) -> Axis:
    if array.type.dtype == "bool":
        raise BadArgument(
            "A mask can only stand alone: x[mask] = value. What x[mask] gives has a length that"
            " only the numbers know."
        )
    if array.dtype.kind not in "iu":
        raise BadArgument(f"Indices are integers, not {array.dtype}.")
    return Axis("array", 0, length, indices=array)


def mask(key: Any) -> core.Array | None:
    """The mask that a key is, or None."""
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if isinstance(key, numpy.ndarray) and key.dtype == numpy.bool:
        return array_of(key)
    return key if isinstance(key, core.Array) and key.type.dtype == "bool" else None
