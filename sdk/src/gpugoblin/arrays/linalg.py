"""The standard's extension `linalg`: `gpugoblin.xp.linalg`.

What has no unique answer, or no operator in the catalogue, raises and says why: `left_out`.
"""

from __future__ import annotations

import math
from typing import Any

import gpugoblin.array as core
from gpugoblin.arrays import statistics
from gpugoblin.arrays.axes import one_axis, several_axes, whole
from gpugoblin.arrays.building import (
    again,
    apply,
    array_of,
    broadcast,
    broadcast_shape,
    cast,
    of_kind,
    same_type,
)
from gpugoblin.arrays.contractions import tensordot, vecdot
from gpugoblin.arrays.creation import eye
from gpugoblin.arrays.dtypes import ALL, FLOATING, NUMERIC
from gpugoblin.arrays.indexing import shaped
from gpugoblin.arrays.left_out import (
    det,
    eigh,
    eigvalsh,
    matrix_rank,
    pinv,
    qr,
    slogdet,
    svd,
    svdvals,
)
from gpugoblin.arrays.products import matmul, matrix_transpose
from gpugoblin.arrays.statistics import Axes
from gpugoblin.errors import BadArgument, ShapeMismatch, UnsupportedComputation

_LARGEST_POWER = 2**31


def cholesky(x: core.Array, /, *, upper: bool = False) -> core.Array:
    """The triangle L with L L' = x, of symmetric positive definite matrices; `upper`: L'.

    Only the lower triangle of `x` is read. What is not positive definite fails when computed.
    """
    made = apply("cholesky", _square("cholesky", x))
    return matrix_transpose(made) if upper else made


def solve(x1: core.Array, x2: core.Array, /) -> core.Array:
    """The x with x1 @ x = x2, for square matrices; `x2` is one vector, or matrices.

    A singular matrix fails when it is computed.
    """
    given = of_kind("solve", array_of(x2), FLOATING)
    matrix, right = same_type(_square("solve", x1), given)
    if not right.ndim or right.shape[-2:][0] != matrix.shape[-1]:
        raise ShapeMismatch(f"solve(): {right.shape} is no right side for {matrix.shape}.")
    vector = right.ndim == 1
    if vector:
        right = shaped(right, (*right.shape, 1))
    stack = broadcast_shape(matrix.shape[:-2], right.shape[:-2])
    matrix = broadcast(matrix, (*stack, *matrix.shape[-2:]))
    right = broadcast(right, (*stack, *right.shape[-2:]))
    made = apply("solve", matrix, right)
    return shaped(made, made.shape[:-1]) if vector else made


def inv(x: core.Array, /) -> core.Array:
    """The inverse of square matrices; solve() is faster and closer where it is multiplied."""
    matrix = _square("inv", x)
    return apply("solve", matrix, _unit(matrix))


def matrix_power(x: core.Array, n: int, /) -> core.Array:
    """Square matrices multiplied with themselves; below 0 their inverses. By squaring."""
    matrix, power = _square("matrix_power", x), whole(n, "n")
    if abs(power) >= _LARGEST_POWER:
        raise BadArgument(f"matrix_power() takes powers below 2^31, not {power}.")
    if power < 0:
        matrix, power = inv(matrix), -power
    made = None
    while power:
        if power & 1:
            made = again(matrix) if made is None else apply("matmul", made, matrix)
        power >>= 1
        matrix = apply("matmul", matrix, matrix) if power else matrix
    return _unit(matrix) if made is None else made


def _square(name: str, x: core.Array) -> core.Array:
    array = of_kind(name, array_of(x), FLOATING)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2]:
        raise ShapeMismatch(f"{name}() is of square matrices, not {array.shape}.")
    return array


def _unit(matrix: core.Array) -> core.Array:
    return broadcast(eye(matrix.shape[-1], dtype=matrix.dtype), matrix.shape)


def diagonal(x: core.Array, /, *, offset: int = 0) -> core.Array:
    """A diagonal of the last two axes, as the last axis."""
    return apply("diagonal", _matrices("diagonal", x, ALL), offset=whole(offset, "offset"))


def trace(x: core.Array, /, *, offset: int = 0, dtype: Any = None) -> core.Array:
    """The sum of a diagonal of the last two axes; integers are added in 64 bits."""
    matrix = _matrices("trace", x, NUMERIC)
    return statistics.sum(diagonal(matrix, offset=offset), axis=-1, dtype=dtype)


def _matrices(name: str, x: core.Array, kinds: frozenset[str]) -> core.Array:
    array = of_kind(name, array_of(x), kinds)
    if array.ndim < 2:
        raise ShapeMismatch(f"{name}() is of matrices, two axes or more, not {array.shape}.")
    return array


def outer(x1: core.Array, x2: core.Array, /) -> core.Array:
    """Every element of one vector times every one of another."""
    left, right = _pair("outer", x1, x2)
    if left.ndim != 1 or right.ndim != 1:
        raise ShapeMismatch(f"outer() is of two vectors, not {left.shape} and {right.shape}.")
    return shaped(left, (left.size, 1)) * right


def cross(x1: core.Array, x2: core.Array, /, *, axis: int = -1) -> core.Array:
    """The vector product along an axis of 3, counted from the end; the other axes broadcast."""
    left, right = _pair("cross", x1, x2)
    if whole(axis, "axis") >= 0:
        raise BadArgument(f"cross() counts its axis from the end: -1 and below, not {axis}.")
    a, b = _components(left, axis), _components(right, axis)
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    along = one_axis(axis, parts[0].ndim)
    return apply("concat", *parts, axis=along)


def _pair(name: str, x1: core.Array, x2: core.Array) -> list[core.Array]:
    return same_type(*(of_kind(name, array_of(each), NUMERIC) for each in (x1, x2)))


def _components(x: core.Array, axis: int) -> list[core.Array]:
    along = one_axis(axis, x.ndim)
    if x.shape[along] != 3:
        raise ShapeMismatch(f"cross() goes along an axis of 3, not of {x.shape[along]}.")
    before = (slice(None),) * along
    return [x[(*before, slice(place, place + 1))] for place in range(3)]


def vector_norm(
    x: core.Array,
    /,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    ord: float = 2,  # noqa: A002
) -> core.Array:
    """The norm of vectors along axes, or of all elements.

    `ord`: 2, 1, inf and -inf (the largest and the smallest magnitude), 0 (how many are not 0), or
    another number p: sum(|x|^p)^(1/p).
    """
    array = of_kind("vector_norm", array_of(x), FLOATING)
    if type(ord) not in (int, float) or math.isnan(ord):
        raise BadArgument(f"ord must be a number, not {ord!r}.")
    axes = tuple(sorted(several_axes(axis, array.ndim)))
    if ord == 0:
        counted = apply(
            "count_true",
            statistics.truths("vector_norm", array),
            axes=axes,
            keepdims=bool(keepdims),
        )
        return cast(counted, array.type.dtype)
    size = apply("abs", array)
    if math.isinf(ord):
        return apply("max" if ord > 0 else "min", size, axes=axes, keepdims=bool(keepdims))
    if ord == 2:
        return apply("sqrt", _added(apply("square", array), axes, keepdims=bool(keepdims)))
    if ord == 1:
        return _added(size, axes, keepdims=bool(keepdims))
    made = _added(size ** float(ord), axes, keepdims=bool(keepdims))
    return made ** (1 / float(ord))


def _added(x: core.Array, axes: tuple[int, ...], *, keepdims: bool) -> core.Array:
    return statistics.sum(x, axis=axes, keepdims=keepdims)


def matrix_norm(
    x: core.Array,
    /,
    *,
    keepdims: bool = False,
    ord: float | str = "fro",  # noqa: A002
) -> core.Array:
    """The norm of matrices in the last two axes.

    `ord`: 'fro'; 1 and -1 (the largest and smallest sum of magnitudes of a column), inf and -inf
    (of a row). Raises `UnsupportedComputation` for 'nuc', 2 and -2, which need singular values.
    """
    matrix = _matrices("matrix_norm", x, FLOATING)
    if ord in ("nuc", 2, -2):
        raise UnsupportedComputation(
            f"matrix_norm() with ord={ord!r} needs singular values, for which the catalogue has no"
            " operator yet; there are 'fro', 1, -1, inf and -inf."
        )
    if ord == "fro":
        return vector_norm(matrix, axis=(-2, -1), keepdims=keepdims)
    if isinstance(ord, str) or ord not in (1, -1, math.inf, -math.inf):
        raise BadArgument(f"ord must be 'fro', 1, -1, inf or -inf, not {ord!r}.")
    added = -2 if abs(ord) == 1 else -1
    sums = statistics.sum(apply("abs", matrix), axis=added, keepdims=True)
    choose = statistics.max if ord > 0 else statistics.min
    made = choose(sums, axis=-3 - added, keepdims=True)
    return made if keepdims else shaped(made, made.shape[:-2])


__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip
