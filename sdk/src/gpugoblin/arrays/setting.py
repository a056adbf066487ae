"""Arrays in which a part is replaced: what `x[key] = value` gives."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import gpugoblin.array as core
from gpugoblin.arrays import dtypes, keys
from gpugoblin.arrays.building import (
    SCALARS,
    apply,
    arrays_of,
    broadcast,
    cast,
    common_home,
    scalar,
    spreads,
)
from gpugoblin.arrays.indexing import Advanced, box, permuted, shaped, turned
from gpugoblin.arrays.keys import Axis
from gpugoblin.errors import DtypeUnsupported, ShapeMismatch
from opgraph.tensors import Shape


def with_part(x: core.Array, key: Any, value: Any) -> core.Array:
    """`x` with `x[key]` replaced by `value`, which broadcasts to it. Nothing else changes.

    Of several values for one place (index arrays with equal indices) the last stays. Raises
    `ShapeMismatch`, `IndexOutOfRange`, `BadArgument`, and `DtypeUnsupported` where x could not
    keep its element type.
    """
    given = _kept_type(x, value)
    # Where all is replaced, the array still stays where it is.
    return core.of_value(common_home((x, given)), _changed(x, key, given).value)


def _changed(x: core.Array, key: Any, given: core.Array) -> core.Array:
    mask = keys.mask(key)
    if mask is not None:
        return _masked(x, mask, given)
    axes = keys.read(key, x.shape)
    if not any(each.kind == "array" for each in axes):
        return _boxed(x, axes, _spread(given, _part_shape(axes)))
    region = turned(box(x, axes), axes)
    changed = _scattered(region, axes, given)
    return changed if region is x else _boxed(x, axes, changed)


def _kept_type(x: core.Array, value: Any) -> core.Array:
    if isinstance(value, SCALARS):
        return scalar(value, x.type.dtype)
    given = arrays_of(x, value)[1]
    if dtypes.promoted(x.type.dtype, given.type.dtype) != x.type.dtype:
        raise DtypeUnsupported(
            f"An array of {x.type.dtype} keeps its type: {given.type.dtype} can't be set in it."
            f" Cast the value first: value.astype({x.type.dtype})."
        )
    return cast(given, x.type.dtype)


def _masked(x: core.Array, mask: core.Array, value: core.Array) -> core.Array:
    if mask.shape != x.shape[: mask.ndim]:
        raise ShapeMismatch(f"A mask {mask.shape} is not for an array {x.shape}.")
    if value.shape:
        raise ShapeMismatch(
            f"x[mask] = value takes one number, not {value.shape}: how many elements the mask has"
            " only the numbers know. Write gpugoblin.xp.where(mask, values, x), with a value for"
            " each element of x."
        )
    wide = broadcast(shaped(mask, (*mask.shape, *(1,) * (x.ndim - mask.ndim))), x.shape)
    return apply("where", wide, broadcast(value, x.shape), x)


def _part_shape(axes: Sequence[Axis]) -> Shape:
    return tuple(each.length for each in axes if each.kind != "one")


def _boxed(x: core.Array, axes: Sequence[Axis], value: core.Array) -> core.Array:
    """`value` has the shape of the part, or of the box itself."""
    old = [each for each in axes if each.kind != "new"]
    update = turned(shaped(value, tuple(each.length for each in old)), axes)
    if update.shape == x.shape:
        return update
    return apply(
        "set_slice", x, update,
        starts=tuple(each.start for each in old), steps=tuple(each.step for each in old),
    )  # fmt: skip


def _scattered(x: core.Array, axes: Sequence[Axis], value: core.Array) -> core.Array:
    how = Advanced(axes, x.shape)
    rows = how.rows(x)
    lines = shaped(rows, (rows.shape[0], prod(how.rest_shape)))
    count = prod(how.shape)
    updates = shaped(_in_rows(value, how, axes), (count, lines.shape[1]))
    indices = broadcast(shaped(how.indices, (count, 1)), updates.shape)
    made = apply("put_along_axis", lines, indices, updates, axis=0)
    back = shaped(made, tuple(x.shape[place] for place in how.order))
    return permuted(back, tuple(how.order.index(place) for place in range(x.ndim)))


def _in_rows(value: core.Array, how: Advanced, axes: Sequence[Axis]) -> core.Array:
    """The value with the shape of the indices in front, spread to all that is replaced."""
    outer = [each.length for each in axes if each.kind in ("part", "new")]
    shape = (*outer[: how.front], *how.shape, *outer[how.front :])
    rank, front = len(how.shape), how.front
    order = (*range(front, front + rank), *range(front), *range(front + rank, len(shape)))
    return permuted(_spread(value, shape), order)


def _spread(value: core.Array, shape: Shape) -> core.Array:
    """As in numpy, axes of length 1 in front that the part has not are let go."""
    extra = value.ndim - len(shape)
    if extra > 0 and value.shape[:extra] == (1,) * extra:
        value = shaped(value, value.shape[extra:])
    if not spreads(value.shape, shape):
        raise ShapeMismatch(f"A value {value.shape} does not broadcast to the part {shape}.")
    return broadcast(value, shape)
