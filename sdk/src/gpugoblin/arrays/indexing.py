"""Parts of arrays: `x[...]`, `take` and `take_along_axis`."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import gpugoblin.array as core
from gpugoblin.arrays import keys
from gpugoblin.arrays.axes import one_axis
from gpugoblin.arrays.building import (
    again,
    apply,
    array_of,
    broadcast,
    broadcast_shape,
    cast,
    constant,
    of_kind,
    same_shape,
)
from gpugoblin.arrays.dtypes import INTEGRAL
from gpugoblin.arrays.keys import Axis
from gpugoblin.errors import NotComputed, ShapeMismatch
from opgraph.tensors import Shape

_INT32 = 2**31 - 1


def part(x: core.Array, key: Any) -> core.Array:
    """`x[key]`. Raises `IndexOutOfRange`, `BadArgument`, and `NotComputed` for a mask."""
    if keys.mask(key) is not None:
        raise NotComputed(
            "x[mask] has a length that only the numbers know, so it can't be part of a graph. Write"
            " gpugoblin.xp.where(mask, x, other), or x[mask] = value; or compute first:"
            " x.compute()[mask.compute()]."
        )
    axes = keys.read(key, x.shape)
    made = turned(box(x, axes), axes)
    kinds = [each.kind for each in axes]
    if "array" in kinds:
        alone = kinds.count("array") == 1 and "one" not in kinds
        return _taken(made, axes) if alone else _gathered(made, axes)
    return shaped(made, tuple(each.length for each in axes if each.kind != "one"))


def box(x: core.Array, axes: Sequence[Axis]) -> core.Array:
    """The elements that the axes of the array keep; integers keep one."""
    old = [each for each in axes if each.kind != "new"]
    starts = tuple(each.start for each in old)
    stops = tuple(each.stop for each in old)
    steps = tuple(each.step for each in old)
    if stops == x.shape and not any(starts) and set(steps) <= {1}:
        return x
    return apply("slice", x, starts=starts, stops=stops, steps=steps)


def turned(x: core.Array, axes: Sequence[Axis]) -> core.Array:
    """The axes that run backwards turned round."""
    old = [each for each in axes if each.kind != "new"]
    backwards = tuple(place for place, each in enumerate(old) if each.turned)
    return apply("flip", x, axes=backwards) if backwards else x


def shaped(x: core.Array, shape: Shape) -> core.Array:
    """`x` in another shape, always under a name of its own."""
    return again(x) if x.shape == shape else apply("reshape", x, shape=shape)


def permuted(x: core.Array, order: Shape) -> core.Array:
    """`x` with its axes in another order, always under a name of its own."""
    same = order == tuple(range(x.ndim))
    return again(x) if same else apply("permute_dims", x, axes=order)


class Advanced:
    """Which axes of an array its index arrays replace, and where the replacement stands.

    As numpy: integers beside index arrays count as such; their common shape stands where they
    stood, or in front where something else stood between them.
    """

    def __init__(self, axes: Sequence[Axis], shape: Shape) -> None:
        old = [each for each in axes if each.kind != "new"]
        self.places = [place for place, each in enumerate(old) if each.kind in ("one", "array")]
        self.rest = [place for place, each in enumerate(old) if each.kind == "part"]
        self.lengths = [shape[place] for place in self.places]
        self.rest_shape = tuple(shape[place] for place in self.rest)
        arrays = [each.indices for each in old if each.indices is not None]
        self.shape = broadcast_shape(*(each.shape for each in arrays))
        self.order = (*self.places, *self.rest)
        self.indices = self._flat([each for each in old if each.kind in ("one", "array")])
        self.front = self._stands(axes)

    def rows(self, x: core.Array) -> core.Array:
        """The replaced axes as one, in front of the others."""
        return shaped(permuted(x, self.order), (prod(self.lengths), *self.rest_shape))

    def _stands(self, axes: Sequence[Axis]) -> int:
        """How many axes of the result come before the common shape."""
        at = [place for place, each in enumerate(axes) if each.kind in ("one", "array")]
        return at[0] if at[-1] - at[0] + 1 == len(at) else 0

    def _flat(self, entries: Sequence[Axis]) -> core.Array:
        """Row-major places in the replaced axes; -1, which is refused, for what lies outside."""
        flat: core.Array | None = None
        for entry, length in zip(entries, self.lengths, strict=True):
            if entry.indices is None:
                continue  # The box keeps one element of this axis.
            checked = from_front(entry.indices, length)
            if len(entries) == 1:
                return checked
            flat = _joined(flat, cast(checked, "int64"), length)
        assert flat is not None  # noqa: S101
        return flat


def _joined(flat: core.Array | None, indices: core.Array, length: int) -> core.Array:
    if flat is None:
        inside = (indices >= 0) & (indices < length)
        return _where(inside, indices)
    before, now = same_shape(flat, indices)
    inside = (before >= 0) & (now >= 0) & (now < length)
    return _where(inside, before * length + now)


def _where(inside: core.Array, places: core.Array) -> core.Array:
    return apply("where", inside, places, broadcast(constant(-1, "int64"), places.shape))


def from_front(indices: core.Array, length: int) -> core.Array:
    """Indices as the catalogue wants them: int32 or int64, negative ones counted from the end."""
    made = indices
    if made.type.dtype not in ("int32", "int64") or length > _INT32:
        made = cast(made, "int64")
    if indices.type.dtype[0] == "u":
        return made
    moved = made + length
    return apply("where", made < 0, moved, made)


def _taken(x: core.Array, axes: Sequence[Axis]) -> core.Array:
    """By one index array: nothing else has to move."""
    old = [each.indices for each in axes if each.kind != "new"]
    ((place, indices),) = [(at, each) for at, each in enumerate(old) if each is not None]
    made = apply("take", x, from_front(indices, x.shape[place]), axis=place)
    parts = ((each.length,) if each.indices is None else indices.shape for each in axes)
    return shaped(made, tuple(length for part in parts for length in part))


def _gathered(x: core.Array, axes: Sequence[Axis]) -> core.Array:
    how = Advanced(axes, x.shape)
    made = apply("take", how.rows(x), how.indices, axis=0)
    outer = tuple(each.length for each in axes if each.kind in ("part", "new"))
    made = shaped(made, (*how.shape, *outer))
    rank, front = len(how.shape), how.front
    order = (*range(rank, rank + front), *range(rank), *range(rank + front, made.ndim))
    return permuted(made, order)


def take(x: core.Array, indices: core.Array, /, *, axis: int | None = None) -> core.Array:
    """Slices of `x` along an axis, by an array of indices of one axis.

    Negative indices count from the end; one outside fails when it is computed. `axis` may be left
    out for an array of one axis.
    """
    array, places = array_of(x), of_kind("take", array_of(indices, "indices"), INTEGRAL)
    if axis is None and array.ndim != 1:
        raise ShapeMismatch(f"take() from {array.shape}: say along which axis, axis=...")
    if places.ndim != 1:
        raise ShapeMismatch(f"take() wants indices of one axis, not {places.shape}; x[indices] is"
                            " for others.")  # fmt: skip
    along = one_axis(axis or 0, array.ndim)
    return apply("take", array, from_front(places, array.shape[along]), axis=along)


def take_along_axis(x: core.Array, indices: core.Array, /, *, axis: int = -1) -> core.Array:
    """From each line along an axis the elements that the line of indices names.

    `indices` has as many axes as `x`; all but `axis` broadcast. Negative indices count from the
    end; one outside fails when it is computed.
    """
    array = array_of(x)
    places = of_kind("take_along_axis", array_of(indices, "indices"), INTEGRAL)
    if places.ndim != array.ndim:
        raise ShapeMismatch(
            f"take_along_axis() wants as many axes in both: {array.shape}, {places.shape}."
        )
    along = one_axis(axis, array.ndim)
    lines = broadcast_shape(*((*each[:along], 1, *each[along + 1 :])
                              for each in (array.shape, places.shape)))  # fmt: skip
    spread = [
        broadcast(each, (*lines[:along], each.shape[along], *lines[along + 1 :]))
        for each in (array, places)
    ]
    return apply(
        "take_along_axis", spread[0], from_front(spread[1], array.shape[along]), axis=along
    )


__all__ = ["take", "take_along_axis"]
