"""Sums, means, extremes and running sums of arrays, and `all`, `any`, `diff`."""

from __future__ import annotations

import math
from typing import Any

import gpugoblin.array as core
from gpugoblin.arrays.axes import one_axis, several_axes, whole
from gpugoblin.arrays.building import apply, array_of, broadcast, cast, constant, of_kind, same_type
from gpugoblin.arrays.dtypes import ALL, BOOL, FLOATING, NUMERIC, as_dtype
from gpugoblin.arrays.elementwise import positive
from gpugoblin.arrays.manipulation import concat
from gpugoblin.errors import BadArgument, DtypeUnsupported, ShapeMismatch
from opgraph.catalogue import OPERATORS
from opgraph.tensors import Shape

Axes = int | tuple[int, ...] | None


def sum(  # noqa: A001
    x: core.Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False
) -> core.Array:
    """The sum along axes, or of everything. Integers are added in 64 bits and wrap.

    16-bit floats are added in float32 and rounded once.
    """
    return _accumulated("sum", x, _rising(x, axis), dtype, keepdims=bool(keepdims))


def prod(
    x: core.Array, /, *, axis: Axes = None, dtype: Any = None, keepdims: bool = False
) -> core.Array:
    """The product along axes, or of everything. Integers are multiplied in 64 bits and wrap."""
    return _accumulated("prod", x, _rising(x, axis), dtype, keepdims=bool(keepdims))


def _accumulated(
    name: str, x: core.Array, axes: Shape, dtype: Any, *, keepdims: bool
) -> core.Array:
    array, target = _accumulator(name, x, dtype)
    return apply(name, array, axes=axes, keepdims=keepdims, dtype=target)


def _accumulator(name: str, x: core.Array, dtype: Any) -> tuple[core.Array, str]:
    """The array, cast where the operator cannot add it in that dtype, and the dtype."""
    array = of_kind(name, array_of(x), NUMERIC)
    target = _sum_dtype(array.type.dtype) if dtype is None else as_dtype(dtype).name
    if target not in NUMERIC:
        raise DtypeUnsupported(f"{name}() gives numbers, not {target}.")
    known = (array.type.dtype, target) in OPERATORS[name].dtypes
    return (array if known else cast(array, target)), target


def _sum_dtype(dtype: str) -> str:
    if dtype in FLOATING:
        return dtype
    return "uint64" if dtype[0] == "u" else "int64"


def _rising(x: core.Array, axis: Axes) -> Shape:
    return tuple(sorted(several_axes(axis, array_of(x).ndim)))


def mean(x: core.Array, /, *, axis: Axes = None, keepdims: bool = False) -> core.Array:
    """The mean of floats along axes, or of everything; of nothing it is NaN."""
    array = of_kind("mean", array_of(x), FLOATING)
    return apply("mean", array, axes=_rising(array, axis), keepdims=bool(keepdims))


def var(
    x: core.Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> core.Array:
    """The mean square deviation of floats along axes; `correction=1` for that of a sample."""
    return _deviation("var", x, axis, correction, keepdims=bool(keepdims))


def std(
    x: core.Array, /, *, axis: Axes = None, correction: float = 0.0, keepdims: bool = False
) -> core.Array:
    """The square root of `var`."""
    return _deviation("std", x, axis, correction, keepdims=bool(keepdims))


def _deviation(
    name: str, x: core.Array, axis: Axes, correction: float, *, keepdims: bool
) -> core.Array:
    array = of_kind(name, array_of(x), FLOATING)
    if type(correction) not in (int, float) or not math.isfinite(correction):
        raise BadArgument(f"correction must be a finite Python number, not {correction!r}.")
    return apply(
        name,
        array,
        axes=_rising(array, axis),
        keepdims=keepdims,
        correction=float(correction),
    )


def max(x: core.Array, /, *, axis: Axes = None, keepdims: bool = False) -> core.Array:  # noqa: A001
    """The largest along axes, or of everything; NaN where one is NaN.

    Raises `ShapeMismatch` where there is nothing to choose from.
    """
    return _extreme("max", x, axis, keepdims=bool(keepdims))


def min(x: core.Array, /, *, axis: Axes = None, keepdims: bool = False) -> core.Array:  # noqa: A001
    """The smallest along axes, or of everything; NaN where one is NaN.

    Raises `ShapeMismatch` where there is nothing to choose from.
    """
    return _extreme("min", x, axis, keepdims=bool(keepdims))


def _extreme(name: str, x: core.Array, axis: Axes, *, keepdims: bool) -> core.Array:
    array = of_kind(name, array_of(x), NUMERIC)
    return apply(name, array, axes=_rising(array, axis), keepdims=keepdims)


def cumulative_sum(
    x: core.Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> core.Array:
    """The sum of the elements up to each along an axis; `include_initial` puts a 0 in front."""
    return _running("cumulative_sum", x, axis, dtype, 0 if include_initial else None)


def cumulative_prod(
    x: core.Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> core.Array:
    """The product of the elements up to each along an axis; `include_initial`: a 1 in front."""
    return _running("cumulative_prod", x, axis, dtype, 1 if include_initial else None)


def _running(
    name: str, x: core.Array, axis: int | None, dtype: Any, first: int | None
) -> core.Array:
    array, target = _accumulator(name, x, dtype)
    along = _only_axis(name, array, axis)
    made = apply(name, array, axis=along, dtype=target)
    if first is None:
        return made
    edge = constant(first, target, (*made.shape[:along], 1, *made.shape[along + 1 :]))
    return concat([edge, made], axis=along)


def _only_axis(name: str, x: core.Array, axis: int | None) -> int:
    """The axis, which may be left out where there is one. Raises `ShapeMismatch`."""
    if axis is None and x.ndim != 1:
        raise ShapeMismatch(f"{name}() of {x.shape}: say along which axis, axis=...")
    return one_axis(0 if axis is None else axis, x.ndim)


def all(x: core.Array, /, *, axis: Axes = None, keepdims: bool = False) -> core.Array:  # noqa: A001
    """Whether all along axes are true, or not 0; of nothing it is true."""
    array = truths("all", x)
    return apply("all", array, axes=_rising(array, axis), keepdims=bool(keepdims))


def any(x: core.Array, /, *, axis: Axes = None, keepdims: bool = False) -> core.Array:  # noqa: A001
    """Whether any along axes is true, or not 0; of nothing it is false."""
    array = truths("any", x)
    return apply("any", array, axes=_rising(array, axis), keepdims=bool(keepdims))


def truths(name: str, x: core.Array) -> core.Array:
    """Which elements are not 0; NaN is not."""
    array = of_kind(name, array_of(x), ALL)
    if array.type.dtype in BOOL:
        return array
    zero = constant(0, array.type.dtype)
    return apply("not_equal", array, broadcast(zero, array.shape))


def diff(
    x: core.Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: core.Array | None = None,
    append: core.Array | None = None,
) -> core.Array:
    """Each element less the one before it along an axis, `n` times over; integers wrap.

    What is put before and after is not looked at when `n` is 0, as in numpy.
    """
    array = of_kind("diff", array_of(x), NUMERIC)
    along, times = one_axis(axis, array.ndim), whole(n, "n")
    if times < 0:
        raise BadArgument(f"diff() {times} times.")
    if not times:
        return positive(array)
    parts = [array_of(each) for each in (prepend, array, append) if each is not None]
    array = concat(same_type(*parts), axis=along) if len(parts) > 1 else array
    before = (slice(None),) * along
    for _ in range(_smaller(times, array.shape[along] + 1)):
        array = array[(*before, slice(1, None))] - array[(*before, slice(None, -1))]
    return array


def _smaller(first: int, second: int) -> int:
    return first if first < second else second


__all__ = [
    "all", "any", "cumulative_prod", "cumulative_sum", "diff", "max", "mean", "min", "prod", "std",
    "sum", "var",
]  # fmt: skip
