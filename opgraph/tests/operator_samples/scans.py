"""Samples of scans."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case, large
from opgraph.tensors import INTEGERS

INF, NAN = math.inf, math.nan


def along_an_axis(low: float = -4.0, high: float = 4.0) -> Callable[[Draw, Row], Case]:
    """One axis of any shape, empty ones too."""

    def draw_case(draw: Draw, row: Row) -> Case:
        shape = draw.shape(1, 3)
        attributes: dict[str, Any] = {"axis": draw.integer(0, len(shape) - 1)}
        if len(row) > 1:
            attributes["dtype"] = row[1]
        return Case(row[:1], (draw.numbers(row[0], shape, low, high),), attributes)

    return draw_case


def accumulated(function: numpy.ufunc) -> Callable[..., Any]:
    """numpy's scan on exact numbers; `dtype` only says how the result is stored."""

    def exact(operand: Any, axis: int, dtype: str = "") -> Any:
        if dtype in INTEGERS:
            whole = operand.astype("int64") if operand.dtype == bool else operand
            operand = whole.astype(object)
        return function.accumulate(operand, axis=axis)

    return exact


def large_sum() -> Case:
    array = Draw(1).numbers("float32", (512, 1024), 0.999, 1.001)
    return Case(("float32",), (array,), {"axis": 1, "dtype": "float32"})


SAMPLES = {
    "cumulative_sum": Sample(
        along_an_axis(),
        accumulated(numpy.add),
        large_sum,
        edges=(
            (case("float32", [1, INF, -INF], axis=0, dtype="float32"), ([1, INF, NAN],)),
            (case("uint8", [255, 1], axis=0, dtype="uint8"), ([255, 0],)),
        ),
    ),
    "cumulative_prod": Sample(
        along_an_axis(0.5, 2.0),
        accumulated(numpy.multiply),
        large_sum,
        edges=((case("float32", [2, 0, INF], axis=0, dtype="float32"), ([2, 0.0, NAN],)),),
    ),
    "cumulative_max": Sample(
        along_an_axis(),
        accumulated(numpy.maximum),
        large(axis=0),
        edges=((case("float32", [1, NAN, 2], axis=0), ([1, NAN, NAN],)),),
    ),
    "cumulative_min": Sample(
        along_an_axis(),
        accumulated(numpy.minimum),
        large(axis=0),
        edges=((case("float32", [1, -INF, NAN, 2], axis=0), ([1, -INF, NAN, NAN],)),),
    ),
    "cumulative_logsumexp": Sample(
        along_an_axis(-30, 30),
        accumulated(numpy.logaddexp),
        large(axis=0),
        edges=((case("float32", [-INF, 1000, -INF], axis=0), ([-INF, 1000, 1000],)),),
    ),
}
