"""Samples of elementwise arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case, elementwise, large
from opgraph.tensors import INTEGERS

INF, NAN = math.inf, math.nan


def divided(draw: Draw, row: Row) -> Case:
    """Divisors that are not zero."""
    shape = draw.shape()
    left, right = (draw.numbers(dtype, shape) for dtype in row)
    if row[0] in INTEGERS:
        right[right == 0] = 3
    return Case(row, (left, right))


def bounded(draw: Draw, row: Row) -> Case:
    """For `clip`; the low bound is not always the lower."""
    shape = draw.shape()
    return Case(row, tuple(draw.numbers(dtype, shape) for dtype in row))


def each(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A function of two of Python's exact numbers, on arrays."""

    def on_arrays(left: Any, right: Any) -> Any:
        whole = left.dtype == object
        read = int if whole else (lambda number: Fraction(*number.as_integer_ratio()))
        pairs = zip(left.ravel(), right.ravel(), strict=True)
        found = [function(read(a), read(b)) for a, b in pairs]
        made = numpy.empty(len(found), object if whole else numpy.longdouble)
        made[:] = found if whole else [_as_longdouble(number) for number in found]
        return made.reshape(left.shape)

    return on_arrays


def _as_longdouble(number: Fraction | int) -> numpy.longdouble:
    exact = Fraction(number)
    return numpy.longdouble(str(exact.numerator)) / numpy.longdouble(str(exact.denominator))


def truncated(left: Any, right: Any) -> Any:
    size = abs(left) % abs(right)
    return size if left >= 0 else -size


SAMPLES = {
    "add": Sample(
        elementwise(),
        lambda left, right: left + right,
        large(arity=2),
        edges=(
            (case("float32", [INF, INF, NAN, -0.0], [1, -INF, 1, -0.0]), ([INF, NAN, NAN, -0.0],)),
            (case("uint8", [255], [1]), ([0],)),
        ),
    ),
    "subtract": Sample(
        elementwise(),
        lambda left, right: left - right,
        large(arity=2),
        edges=((case("float64", [INF, 0.0, -0.0], [INF, 0.0, 0.0]), ([NAN, 0.0, -0.0],)),),
    ),
    "multiply": Sample(
        elementwise(),
        lambda left, right: left * right,
        large(arity=2),
        edges=(
            (case("float32", [INF, -0.0, 3e38], [0, 2, 10]), ([NAN, -0.0, INF],)),
            (case("int8", [-128], [-1]), ([-128],)),
        ),
    ),
    "negative": Sample(
        elementwise(),
        lambda operand: -operand,
        large(),
        edges=((case("float32", [0.0, -INF]), ([-0.0, INF],)), (case("int8", [-128]), ([-128],))),
    ),
    "abs": Sample(
        elementwise(),
        lambda operand: abs(operand),
        large(),
        edges=(
            (case("float32", [-0.0, -INF, NAN]), ([0.0, INF, NAN],)),
            (case("int64", [-(2**63)]), ([-(2**63)],)),
        ),
    ),
    "square": Sample(
        elementwise(),
        lambda operand: operand * operand,
        large(),
        edges=((case("float32", [-0.0, -INF, 1e30]), ([0.0, INF, INF],)),),
    ),
    "sign": Sample(
        elementwise(),
        lambda operand: (operand > 0).astype(int) - (operand < 0).astype(int),
        large(),
        edges=((case("float32", [-0.0, 0.0, -INF, NAN, 5]), ([0.0, 0.0, -1.0, NAN, 1.0],)),),
    ),
    "maximum": Sample(
        elementwise(),
        numpy.maximum,
        large(arity=2),
        edges=((case("float32", [NAN, 1, -INF], [1, NAN, 2]), ([NAN, NAN, 2],)),),
    ),
    "minimum": Sample(
        elementwise(),
        numpy.minimum,
        large(arity=2),
        edges=((case("float64", [NAN, 1, -INF], [1, NAN, 2]), ([NAN, NAN, -INF],)),),
    ),
    "clip": Sample(
        bounded,
        lambda operand, low, high: numpy.minimum(numpy.maximum(operand, low), high),
        large(arity=3),
        edges=(
            (
                case("float32", [NAN, 1, 1, 5], [0, NAN, 0, 9], [1, 1, NAN, 2]),
                ([NAN, NAN, NAN, 2],),
            ),
        ),
    ),
    "divide": Sample(
        elementwise(),
        lambda left, right: left / right,
        large(arity=2),
        edges=((case("float32", [1, -1, 0, INF], [0, 0, 0, INF]), ([INF, -INF, NAN, NAN],)),),
    ),
    "reciprocal": Sample(
        elementwise(),
        lambda operand: 1 / operand,
        large(),
        edges=((case("float32", [0.0, -0.0, INF, -INF]), ([INF, -INF, 0.0, -0.0],)),),
    ),
    "copysign": Sample(
        elementwise(),
        numpy.copysign,
        large(arity=2),
        edges=((case("float32", [1, INF, 0.0], [-0.0, -1, -1]), ([-1, -INF, -0.0],)),),
    ),
    "floor_divide": Sample(
        divided,
        each(lambda a, b: a // b),
        large(arity=2),
        edges=(
            (
                case("float32", [1, -1, 0, INF, 1, -1], [0, 0, 0, 2, INF, INF]),
                ([INF, -INF, NAN, NAN, 0.0, -1.0],),
            ),
            (case("int8", [-128, -7, 7], [-1, 2, -2]), ([-128, -4, -4],)),
        ),
    ),
    "remainder": Sample(
        divided,
        each(lambda a, b: a % b),
        large(arity=2),
        edges=(
            (
                case("float32", [1, INF, 1, -1, -2], [0, 2, INF, INF, 2]),
                ([NAN, NAN, 1, INF, 0.0],),
            ),
            (case("int8", [-128, -7, 7], [-1, 2, -2]), ([0, 1, -1],)),
        ),
    ),
    "fmod": Sample(
        divided,
        each(truncated),
        large(arity=2),
        edges=(
            (case("float32", [1, INF, -1, -2], [0, 2, INF, 2]), ([NAN, NAN, -1, -0.0],)),
            (case("int8", [-128, -7, 7], [-1, 2, -2]), ([0, -1, 1],)),
        ),
    ),
}
