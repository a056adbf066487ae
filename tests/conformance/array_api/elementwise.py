"""Questions about the elementwise functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
from hypothesis import strategies as st

from tests.conformance.array_api import values
from tests.conformance.array_api.comparison import EXACT, ROUNDED, Tolerance
from tests.conformance.array_api.question import Call, Question
from tests.conformance.array_api.values import ALL, FLOATS, INTEGERS, NUMBERS, Draw

_BITS = (*INTEGERS, "bool")


def _unary(dtypes: Sequence[str], tolerance: Tolerance = EXACT) -> Question:
    return Question(lambda draw: Call((values.array(draw, dtypes),)), tolerance)


def _pair(
    draw: Draw, dtypes: Sequence[str], low: float | None = None, high: float | None = None
) -> tuple[Any, Any]:
    """Two arrays that broadcast and promote, or one of them and a Python number; the bounds are
    those of the second, where it is of integers."""
    first, second = values.promoting(draw, dtypes)
    shapes = values.broadcasting(draw, 2)
    bounds = (low, high) if second in INTEGERS else (None, None)
    left = values.of_shape(draw, first, shapes[0])
    if draw(st.integers(0, 4)) == 0:
        bounds = (low, high) if first in INTEGERS else (None, None)
        return left, values.scalar_for(draw, first, *bounds)
    return left, values.of_shape(draw, second, shapes[1], *bounds)


def _binary(
    dtypes: Sequence[str],
    tolerance: Tolerance = EXACT,
    low: float | None = None,
    high: float | None = None,
) -> Question:
    return Question(lambda draw: Call(_pair(draw, dtypes, low, high)), tolerance)


def _divided(draw: Draw) -> Call:
    """No integer is divided by 0: numpy gives 0 there, and we an error."""
    left, right = _pair(draw, NUMBERS)
    if isinstance(right, numpy.ndarray) and right.dtype.kind in "iu":
        return Call((left, numpy.where(right == 0, right.dtype.type(1), right)))
    return Call((left, right or 1) if isinstance(right, int) else (left, right))


def _clip(draw: Draw) -> Call:
    dtype = draw(st.sampled_from(NUMBERS))
    shape, *others = values.broadcasting(draw, 3)
    x = values.of_shape(draw, dtype, shape)
    bounds = []
    for other in others:
        spreads = len(other) <= len(shape) and all(
            side in (1, length) for side, length in zip(other[::-1], shape[::-1], strict=False)
        )
        if spreads and draw(st.booleans()):
            bounds.append(values.of_shape(draw, dtype, other))
        else:
            bounds.append(draw(st.none() | values.elements(dtype)))
    return Call((x, *bounds))


def _where(draw: Draw) -> Call:
    first, second = values.promoting(draw, ALL)
    shapes = values.broadcasting(draw, 3)
    dtypes = ("bool", first, second)
    return Call(tuple(values.of_shape(draw, *each) for each in zip(dtypes, shapes, strict=True)))


_ROUNDED_OF_ONE = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "expm1", "log",
    "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh",
)  # fmt: skip

QUESTIONS: Mapping[str, Question] = {
    **{name: _unary(FLOATS, ROUNDED) for name in _ROUNDED_OF_ONE},
    **{name: _unary(FLOATS) for name in ("reciprocal", "signbit", "sqrt")},
    **{
        name: _unary(NUMBERS)
        for name in (
            "abs", "ceil", "conj", "floor", "imag", "isfinite", "isinf", "isnan", "negative",
            "positive", "real", "round", "sign", "square", "trunc",
        )
    },
    "logical_not": _unary(("bool",)),
    "bitwise_invert": _unary(_BITS),
    **{
        name: _binary(NUMBERS)
        for name in (
            "add", "greater", "greater_equal", "less", "less_equal", "maximum", "minimum",
            "multiply", "subtract",
        )
    },
    **{name: _binary(ALL) for name in ("equal", "not_equal")},
    **{name: _binary(("bool",)) for name in ("logical_and", "logical_or", "logical_xor")},
    **{name: _binary(_BITS) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    # By more than the width, or by less than 0, numpy shifts as the processor does.
    "bitwise_left_shift": _binary(INTEGERS, low=0, high=7),
    "bitwise_right_shift": _binary(INTEGERS, low=0, high=7),
    **{name: _binary(FLOATS) for name in ("copysign", "divide", "nextafter")},
    **{name: _binary(FLOATS, ROUNDED) for name in ("atan2", "hypot", "logaddexp")},
    "pow": _binary(NUMBERS, ROUNDED, low=0, high=7),
    "floor_divide": Question(_divided),
    "remainder": Question(_divided),
    # A lower bound above the upper one array-api-strict refuses; we and numpy take the upper.
    "clip": Question(_clip, references=("numpy",)),
    "where": Question(_where),
}  # fmt: skip
