"""Functions that move elements and leave them as they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

import gpugoblin.array as core
from gpugoblin.arrays.axes import a_shape, one_axis, several_axes, whole
from gpugoblin.arrays.building import LIMITS, again, apply, array_of, of_kind, same_type
from gpugoblin.arrays.dtypes import INTEGRAL
from gpugoblin.arrays.indexing import permuted, shaped
from gpugoblin.errors import BadArgument, NotComputed, ShapeMismatch, TooLarge


def concat(arrays: Sequence[core.Array], /, *, axis: int | None = 0) -> core.Array:
    """Arrays one after the other along an axis; None: all of them flat. They are promoted."""
    parts = same_type(*_some("concat", arrays))
    if axis is None:
        return apply("concat", *(shaped(each, (each.size,)) for each in parts), axis=0)
    if not parts[0].ndim:
        raise ShapeMismatch("Arrays without axes are not joined; write gpugoblin.xp.stack(arrays).")
    return apply("concat", *parts, axis=one_axis(axis, parts[0].ndim))


def stack(arrays: Sequence[core.Array], /, *, axis: int = 0) -> core.Array:
    """Arrays of one shape along a new axis. They are promoted."""
    parts = same_type(*_some("stack", arrays))
    shape = parts[0].shape
    if any(each.shape != shape for each in parts):
        shapes = ", ".join(str(each.shape) for each in parts)
        raise ShapeMismatch(f"stack() puts arrays of one shape together, not {shapes}.")
    along = one_axis(axis, len(shape) + 1)
    longer = (*shape[:along], 1, *shape[along:])
    return apply("concat", *(shaped(each, longer) for each in parts), axis=along)


def unstack(x: core.Array, /, *, axis: int = 0) -> tuple[core.Array, ...]:
    """One array for each place along an axis."""
    array = array_of(x)
    along = one_axis(axis, array.ndim)
    before = (slice(None),) * along
    return tuple(array[(*before, place)] for place in range(array.shape[along]))


def _some(name: str, arrays: Sequence[core.Array]) -> list[core.Array]:
    if not isinstance(arrays, list | tuple) or not arrays:
        raise BadArgument(f"{name}() takes a list or tuple of one array or more.")
    return [array_of(each, "Each") for each in arrays]


def expand_dims(x: core.Array, /, axis: int | tuple[int, ...] = 0) -> core.Array:
    """New axes of length 1 at these places of the result."""
    array = array_of(x)
    given = axis if isinstance(axis, tuple) else (axis,)
    rank = array.ndim + len(given)
    new = several_axes(given, rank)
    old = iter(array.shape)
    return shaped(array, tuple(1 if place in new else next(old) for place in range(rank)))


def squeeze(x: core.Array, /, axis: int | tuple[int, ...]) -> core.Array:
    """Without these axes, which must have length 1. Raises `ShapeMismatch`."""
    array = array_of(x)
    gone = several_axes(axis, array.ndim)
    if any(array.shape[each] != 1 for each in gone):
        raise ShapeMismatch(f"squeeze() of {array.shape}: of axes {axis} not all have length 1.")
    kept = (length for place, length in enumerate(array.shape) if place not in gone)
    return shaped(array, tuple(kept))


def flip(x: core.Array, /, *, axis: int | tuple[int, ...] | None = None) -> core.Array:
    """The elements along axes, or all of them, the other way round."""
    array = array_of(x)
    turned = several_axes(axis, array.ndim)
    return apply("flip", array, axes=turned) if turned else again(array)


def permute_dims(x: core.Array, /, axes: tuple[int, ...]) -> core.Array:
    """The axes in another order."""
    array = array_of(x)
    order = several_axes(tuple(axes), array.ndim, "axes")
    if len(order) != array.ndim:
        raise ShapeMismatch(f"axes={axes} must name each axis of {array.shape} once.")
    return permuted(array, order)


def moveaxis(
    x: core.Array,
    source: int | tuple[int, ...],
    destination: int | tuple[int, ...],
    /,
) -> core.Array:
    """Axes moved to other places; the others keep their order."""
    array = array_of(x)
    froms = several_axes(source, array.ndim, "source")
    tos = several_axes(destination, array.ndim, "destination")
    if len(froms) != len(tos):
        raise BadArgument("source and destination must name equally many axes.")
    order = [place for place in range(array.ndim) if place not in froms]
    for to, where in sorted(zip(tos, froms, strict=True)):
        order.insert(to, where)
    return permuted(array, tuple(order))


def reshape(
    x: core.Array,
    /,
    shape: Any,
    *,
    copy: bool | None = None,  # noqa: ARG001
) -> core.Array:
    """The same elements, in row-major order, in another shape; one length may be -1.

    Values never change, so whether they are copied makes no difference: `copy` is not looked at.
    """
    array = array_of(x)
    return shaped(array, _whole_shape(shape, array))


def _whole_shape(shape: Any, array: core.Array) -> tuple[int, ...]:
    given = shape if isinstance(shape, tuple | list) else (shape,)
    open_ones = [place for place, each in enumerate(given) if each == -1]
    lengths = list(a_shape(tuple(1 if each == -1 else each for each in given)))
    if len(open_ones) == 1:
        known = prod(lengths)
        if not known or array.size % known:
            raise ShapeMismatch(f"{array.size} elements have no form {tuple(given)}.")
        lengths[open_ones[0]] = array.size // known
    if len(open_ones) > 1 or prod(lengths) != array.size:
        raise ShapeMismatch(
            f"{array.shape} has {array.size} elements, which have no form {tuple(given)}."
        )
    return tuple(lengths)


def roll(
    x: core.Array,
    /,
    shift: int | tuple[int, ...],
    *,
    axis: int | tuple[int, ...] | None = None,
) -> core.Array:
    """Elements moved on along axes, or all of them flat; what goes out comes in again."""
    array = array_of(x)
    if axis is None:
        flat = shaped(array, (array.size,))
        return shaped(apply("roll", flat, shifts=(_shift(shift),)), array.shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    given = shift if isinstance(shift, tuple) else (shift,) * len(axes)
    if len(given) != len(axes):
        raise BadArgument(f"roll() by {shift} along {axis}: one shift for each axis.")
    shifts = [0] * array.ndim
    for by, each in zip(given, axes, strict=True):
        shifts[one_axis(each, array.ndim)] += _shift(by)
    return apply("roll", array, shifts=tuple(shifts))


def _shift(by: Any) -> int:
    return whole(by, "shift")


def repeat(x: core.Array, repeats: int | core.Array, /, *, axis: int | None = None) -> core.Array:
    """Each element repeated along an axis, or all of them flat: equally often, or by an array.

    Raises `NotComputed` for counts whose numbers are not there: the length depends on them;
    `TooLarge` above the number of elements that are computed.
    """
    array = array_of(x)
    if axis is None:
        array = shaped(array, (array.size,))
    along = one_axis(axis or 0, array.ndim)
    if isinstance(repeats, core.Array):
        return _repeated_by(array, _counts(repeats, array.shape[along]), along)
    count = whole(repeats, "repeats")
    if count < 0:
        raise BadArgument(f"repeat() {count} times.")
    return apply("repeat_elements", array, axis=along, count=count)


def _counts(repeats: core.Array, length: int) -> Any:
    counts = repeats.home.known(of_kind("repeat", repeats, INTEGRAL))
    if counts is None:
        raise NotComputed(
            "repeat() by counts that are not computed has a length that only the numbers know."
            " Compute them first: repeats.compute(), or give a Python integer."
        )
    if counts.ndim > 1 or counts.size not in (1, length) or counts.min(initial=0) < 0:
        raise BadArgument(
            f"repeat() takes one count, or one for each of {length} elements, none negative; not"
            f" {counts.shape}."
        )
    return numpy.broadcast_to(counts.reshape(-1), (length,))


def _repeated_by(array: core.Array, counts: Any, along: int) -> core.Array:
    # Added as floats, which do not wrap; numpy.repeat takes no uint64, and would allocate at once.
    total = float(counts.sum(dtype=numpy.float64))
    if total > LIMITS.elements:
        raise TooLarge(
            f"repeat() to {total:.3g} places along an axis;"
            f" at most 2^{LIMITS.elements.bit_length() - 1} elements are computed."
        )
    places = numpy.repeat(numpy.arange(len(counts)), counts.astype(numpy.int64))
    return apply("take", array, array.home.joining(places), axis=along)


def tile(x: core.Array, repetitions: tuple[int, ...], /) -> core.Array:
    """The whole array repeated so often along each axis; missing axes count from the front."""
    array, counts = array_of(x), a_shape(repetitions, "repetitions")
    rank = max(array.ndim, len(counts))
    array = shaped(array, (1,) * (rank - array.ndim) + array.shape)
    return apply("tile", array, counts=(1,) * (rank - len(counts)) + counts)


__all__ = [
    "concat", "expand_dims", "flip", "moveaxis", "permute_dims", "repeat", "reshape", "roll",
    "squeeze", "stack", "tile", "unstack",
]  # fmt: skip
