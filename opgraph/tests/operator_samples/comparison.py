"""Samples of comparison, logic and choice."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case, elementwise, large

INF, NAN = math.inf, math.nan


def alike(draw: Draw, row: Row) -> Case:
    """Two operands that are often equal."""
    shape = draw.shape()
    return Case(row, tuple(draw.few(dtype, shape) for dtype in row))


def comparison(function: Callable[[Any, Any], Any], *expected: bool) -> Sample:
    edges = (
        (case("float32", [NAN, NAN, -0.0, INF, 1], [NAN, 1, 0.0, INF, 2]), (list(expected),)),
        (case("uint64", [2**64 - 1], [2**63]), ([function(2, 1)],)),
    )
    return Sample(alike, function, large(arity=2), edges)


def chosen(draw: Draw, row: Row) -> Case:
    shape = draw.shape()
    return Case(row, tuple(draw.numbers(dtype, shape) for dtype in row))


def large_choice() -> Case:
    draw, shape = Draw(1), (512, 1024)
    numbers = [draw.numbers("float32", shape) for _ in range(2)]
    return Case(("bool", "float32", "float32"), (draw.numbers("bool", shape), *numbers))


EDGES = case("float32", [NAN, INF, -INF, -0.0, 1.0])


def test(function: Callable[[Any], Any], *expected: bool) -> Sample:
    return Sample(elementwise(), function, large(), ((EDGES, (list(expected),)),))


SAMPLES = {
    "equal": comparison(operator.eq, False, False, True, True, False),
    "not_equal": comparison(operator.ne, True, True, False, False, True),
    "less": comparison(operator.lt, False, False, False, False, True),
    "less_equal": comparison(operator.le, False, False, True, True, True),
    "greater": comparison(operator.gt, False, False, False, False, False),
    "greater_equal": comparison(operator.ge, False, False, True, True, False),
    "logical_and": Sample(elementwise(), numpy.logical_and, large("bool", 2, (2048, 1024))),
    "logical_or": Sample(elementwise(), numpy.logical_or, large("bool", 2, (2048, 1024))),
    "logical_xor": Sample(elementwise(), numpy.logical_xor, large("bool", 2, (2048, 1024))),
    "logical_not": Sample(elementwise(), numpy.logical_not, large("bool", 1, (2048, 1024))),
    "isnan": test(numpy.isnan, True, False, False, False, False),
    "isinf": test(numpy.isinf, False, True, True, False, False),
    "isfinite": test(numpy.isfinite, False, False, False, True, True),
    "signbit": test(numpy.signbit, False, False, True, True, False),
    "where": Sample(chosen, numpy.where, large_choice),
}
