"""Samples of operators that run others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case
from opgraph.builder import GraphBuilder
from opgraph.graph import Graph

INF, NAN = math.inf, math.nan
HALF, TWO = (0.5).hex(), (2.0).hex()

PROGRAMS: dict[tuple[str, ...], Callable[..., Any]] = {
    ("x0",): lambda x: x,
    ("x0", TWO, "multiply", "x1", "add"): lambda x, y: 2 * x + y,
    ("x0", "square", "x1", "square", "add", "sqrt"): lambda x, y: numpy.sqrt(x * x + y * y),
    ("x0", "x1", "less", "x0", "x1", "where"): numpy.minimum,
    ("x0", "abs", "log1p", "x1", "tanh", "multiply"): lambda x, y: (
        numpy.log1p(abs(x)) * numpy.tanh(y)
    ),
    ("x0", "negative", "exp", HALF, "add", "x0", "sin", "divide"): lambda x: (
        (numpy.exp(-x) + 0.5) / numpy.sin(x)
    ),
    ("x0", "x1", "maximum", "x2", "subtract"): lambda x, y, z: numpy.maximum(x, y) - z,
}


def formulas(draw: Draw, row: Row) -> Case:
    program = draw.choice(list(PROGRAMS))
    operands = max(int(word[1:]) for word in program if word[0] == "x") + 1
    shape = draw.shape()
    arrays = tuple(draw.numbers(row[0], shape) for _ in range(operands))
    return Case(row * operands, arrays, {"program": program})


def large_formula() -> Case:
    draw = Draw(1)
    arrays = tuple(draw.numbers("float32", (512, 1024)) for _ in range(2))
    program = ("x0", "square", "x1", "square", "add", "sqrt")
    return Case(("float32",) * 2, arrays, {"program": program})


def halving(dtype: str, shape: tuple[int, ...]) -> Graph:
    """x, c -> x / 2 + c, one after the other."""
    build = GraphBuilder()
    state, constant = (build.placeholder(f"x{n}", dtype, shape) for n in range(2))
    half = build.apply("full", shape=shape, value=0.5, dtype=dtype)
    return build.build(build.apply("add", build.apply("multiply", state, half), constant))


def repeated(draw: Draw, _row: Row) -> Case:
    shape, dtype = draw.shape(), draw.choice(("float32", "float64"))
    arrays = tuple(draw.numbers(dtype, shape) for _ in range(2))
    attributes = {"count": draw.integer(0, 4), "body": halving(dtype, shape)}
    return Case((dtype,) * 2, arrays, attributes)


def repetition(state: Any, constant: Any, count: int, body: Graph) -> Any:
    for _ in range(count):
        state = state / 2 + constant
    return state


def large_repetition() -> Case:
    shape = (512, 1024)
    arrays = tuple(Draw(n).numbers("float32", shape) for n in range(2))
    return Case(("float32",) * 2, arrays, {"count": 3, "body": halving("float32", shape)})


SAMPLES = {
    "formula": Sample(
        formulas,
        lambda *operands, program: PROGRAMS[program](*operands),
        large_formula,
        edges=(
            (case("float32", [INF, NAN], program=("x0", "negative")), ([-INF, NAN],)),
            (
                case("float32", [NAN, 1], [1, NAN], program=("x0", "x1", "maximum")),
                ([NAN, NAN],),
            ),
        ),
    ),
    "repeat": Sample(repeated, repetition, large_repetition),
}
