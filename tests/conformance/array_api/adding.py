"""Questions about reductions, running sums and linear algebra."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.conformance.array_api import values
from tests.conformance.array_api.comparison import (
    ADDED,
    EXACT,
    MULTIPLIED,
    PRODUCTS,
    ROOT,
    SOLVED,
    SQUARES,
    Tolerance,
)
from tests.conformance.array_api.question import Call, Question, Type
from tests.conformance.array_api.values import ALL, FLOATS, NUMBERS, SHAPES, Draw

_MATRICES = hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=values.SIDE)
_FULL_MATRICES = hnp.array_shapes(min_dims=2, max_dims=3, min_side=1, max_side=values.SIDE)
_SMALL = 1e3
"""Bound of what is added: no order of adding overflows."""


def _reduction(
    dtypes: Sequence[str],
    tolerance: Tolerance = EXACT,
    *,
    shapes: Any = SHAPES,
    bound: float | None = _SMALL,
    dtype: bool = False,
    correction: bool = False,
) -> Question:
    def make(draw: Draw) -> Call:
        low, high = (None, None) if bound is None else (-bound, bound)
        x = values.array(draw, dtypes, shapes, low, high)
        kwargs: dict[str, Any] = {
            "axis": values.axes_of(draw, x.shape),
            "keepdims": draw(st.booleans()),
        }
        if dtype and draw(st.booleans()):
            kwargs["dtype"] = Type(_wider(draw, str(x.dtype)))
        if correction and draw(st.booleans()):
            kwargs["correction"] = draw(st.sampled_from((0, 1, 0.5)))
        return Call((x,), kwargs)

    return Question(make, tolerance)


def _wider(draw: Draw, dtype: str) -> str:
    if dtype in FLOATS:
        return draw(st.sampled_from((dtype, "float64")))
    return draw(st.sampled_from((dtype, "uint64" if dtype[0] == "u" else "int64", "float64")))


def _running(tolerance: Tolerance, bound: float) -> Question:
    def make(draw: Draw) -> Call:
        x = values.array(draw, NUMBERS, values.AXES_SHAPES, -bound, bound)
        kwargs: dict[str, Any] = {"include_initial": draw(st.booleans())}
        if x.ndim > 1 or draw(st.booleans()):
            kwargs["axis"] = values.axis_of(draw, x.shape)
        if draw(st.booleans()):
            kwargs["dtype"] = Type(_wider(draw, str(x.dtype)))
        return Call((x,), kwargs)

    return Question(make, tolerance)


def _diff(draw: Draw) -> Call:
    x = values.array(draw, NUMBERS, values.AXES_SHAPES, -_SMALL, _SMALL)
    axis = values.axis_of(draw, x.shape)
    kwargs: dict[str, Any] = {"axis": axis, "n": draw(st.integers(0, 3))}
    for edge in ("prepend", "append"):
        if draw(st.booleans()):
            shape = list(x.shape)
            shape[axis] = draw(st.integers(0, 2))
            kwargs[edge] = values.of_shape(draw, str(x.dtype), tuple(shape), -_SMALL, _SMALL)
    return Call((x,), kwargs)


# --- linear algebra -------------------------------------------------------------------------------
def _matmul(draw: Draw) -> Call:
    first, second = values.promoting(draw, NUMBERS)
    shapes = draw(
        hnp.mutually_broadcastable_shapes(
            signature=numpy.matmul.signature, min_dims=0, max_dims=1, min_side=0, max_side=3
        )
    ).input_shapes
    return Call(tuple(_bounded(draw, *each) for each in zip((first, second), shapes, strict=True)))


def _bounded(draw: Draw, dtype: str, shape: tuple[int, ...]) -> numpy.ndarray[Any, Any]:
    return values.of_shape(draw, dtype, shape, -_SMALL, _SMALL)


def _tensordot(draw: Draw) -> Call:
    dtypes = values.promoting(draw, NUMBERS)
    common = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    free = [draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3)) for _ in "ab"]
    left = _bounded(draw, dtypes[0], (*free[0], *common))
    if draw(st.booleans()):
        return Call((left, _bounded(draw, dtypes[1], (*common, *free[1]))), {"axes": len(common)})
    right = _bounded(draw, dtypes[1], (*free[1], *common))
    axes = tuple(range(-len(common), 0))
    return Call((left, right), {"axes": (axes, axes)})


def _vecdot(draw: Draw) -> Call:
    dtypes, shapes = values.promoting(draw, NUMBERS), values.broadcasting(draw, 2, 2)
    length = draw(st.integers(0, 4))
    sides = tuple(_bounded(draw, dtype, (*shape, length))
                  for dtype, shape in zip(dtypes, shapes, strict=True))  # fmt: skip
    return Call(*_turned(draw, sides))


def _turned(draw: Draw, sides: tuple[Any, ...]) -> tuple[tuple[Any, ...], dict[str, int]]:
    """The last axis of both at another place, counted from the end, where both have one there."""
    axis = draw(st.integers(-min(each.ndim for each in sides), -1))
    return tuple(numpy.moveaxis(each, -1, axis) for each in sides), {"axis": axis}


def _cross(draw: Draw) -> Call:
    dtypes, shapes = values.promoting(draw, NUMBERS), values.broadcasting(draw, 2, 2)
    sides = tuple(_bounded(draw, dtype, (*shape, 3))
                  for dtype, shape in zip(dtypes, shapes, strict=True))  # fmt: skip
    return Call(*_turned(draw, sides))


def _outer(draw: Draw) -> Call:
    dtypes = values.promoting(draw, NUMBERS)
    return Call(tuple(_bounded(draw, dtype, (draw(st.integers(0, 4)),)) for dtype in dtypes))


def _transpose(draw: Draw) -> Call:
    return Call((values.array(draw, ALL, _MATRICES),))


def _diagonal(draw: Draw) -> Call:
    x = values.array(draw, ALL, _MATRICES)
    return Call((x,), {"offset": draw(st.integers(-4, 4))})


def _trace(draw: Draw) -> Call:
    x = values.array(draw, NUMBERS, _MATRICES, -_SMALL, _SMALL)
    kwargs: dict[str, Any] = {"offset": draw(st.integers(-4, 4))}
    if draw(st.booleans()):
        kwargs["dtype"] = Type(_wider(draw, str(x.dtype)))
    return Call((x,), kwargs)


def _dominated(draw: Draw, *, symmetric: bool = False) -> numpy.ndarray[Any, Any]:
    """Square matrices with 8 on the diagonal and at most 1 beside it: condition below 4."""
    side = draw(st.integers(0, 4))
    stack = draw(hnp.array_shapes(min_dims=0, max_dims=1, min_side=0, max_side=2))
    dtype = draw(st.sampled_from(FLOATS))
    x = values.of_shape(draw, dtype, (*stack, side, side), -1, 1)
    if symmetric:
        x = (x + x.mT) / 2
    return x * (1 - numpy.eye(side, dtype=dtype)) + 8 * numpy.eye(side, dtype=dtype)


def _solve(draw: Draw) -> Call:
    matrix = _dominated(draw)
    side = matrix.shape[-1]
    shape = draw(st.sampled_from(((side,), (*matrix.shape[:-1], 2), (side, 1))))
    return Call((matrix, values.of_shape(draw, str(matrix.dtype), shape, -9, 9)))


def _cholesky(draw: Draw) -> Call:
    kwargs = {"upper": True} if draw(st.booleans()) else {}
    return Call((_dominated(draw, symmetric=True),), kwargs)


def _power(draw: Draw) -> Call:
    return Call((_dominated(draw) / 8, draw(st.integers(-3, 5))))


def _vector_norm(draw: Draw) -> Call:
    x = values.array(draw, FLOATS, values.FULL_SHAPES, -_SMALL, _SMALL)
    axis = values.axes_of(draw, x.shape)
    order = draw(st.sampled_from((2, 1, 0, math.inf, -math.inf, 3, 2.5)))
    return Call((x,), {"axis": axis, "keepdims": draw(st.booleans()), "ord": order})


def _matrix_norm(draw: Draw) -> Call:
    x = values.array(draw, FLOATS, _FULL_MATRICES, -_SMALL, _SMALL)
    order = draw(st.sampled_from(("fro", 1, -1, math.inf, -math.inf)))
    return Call((x,), {"keepdims": draw(st.booleans()), "ord": order})


_BOTH = {
    "matmul": Question(_matmul, PRODUCTS),
    "matrix_transpose": Question(_transpose),
    "tensordot": Question(_tensordot, PRODUCTS),
    "vecdot": Question(_vecdot, PRODUCTS),
}

QUESTIONS: Mapping[str, Question] = {
    "sum": _reduction(NUMBERS, ADDED, dtype=True),
    "prod": _reduction(NUMBERS, MULTIPLIED, bound=3, dtype=True),
    "mean": _reduction(FLOATS, ADDED),
    "var": _reduction(FLOATS, SQUARES, correction=True),
    "std": _reduction(FLOATS, ROOT, correction=True),
    "max": _reduction(NUMBERS, shapes=values.FULL_SHAPES, bound=None),
    "min": _reduction(NUMBERS, shapes=values.FULL_SHAPES, bound=None),
    "all": _reduction(ALL, bound=None),
    "any": _reduction(ALL, bound=None),
    "count_nonzero": _reduction(ALL, bound=None),
    "cumulative_sum": _running(ADDED, _SMALL),
    "cumulative_prod": _running(MULTIPLIED, 3),
    "diff": Question(_diff, ADDED),
    **_BOTH,
    **{f"linalg.{name}": question for name, question in _BOTH.items()},
    "linalg.cholesky": Question(_cholesky, SOLVED),
    "linalg.cross": Question(_cross, PRODUCTS),
    "linalg.diagonal": Question(_diagonal),
    "linalg.inv": Question(lambda draw: Call((_dominated(draw),)), SOLVED),
    "linalg.matrix_norm": Question(_matrix_norm, ADDED),
    "linalg.matrix_power": Question(_power, SOLVED),
    "linalg.outer": Question(_outer),
    "linalg.solve": Question(_solve, SOLVED),
    "linalg.trace": Question(_trace, ADDED),
    "linalg.vector_norm": Question(_vector_norm, ADDED),
}
