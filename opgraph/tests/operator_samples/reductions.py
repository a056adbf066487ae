"""Samples of reductions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case, large
from opgraph.tensors import INTEGERS

INF, NAN = math.inf, math.nan
Draws = Callable[[Draw, Row], Case]


def along_axes(
    low: float = -4.0,
    high: float = 4.0,
    *,
    empty: bool = True,
    more: Callable[[Draw], dict[str, Any]] | None = None,
) -> Draws:
    """Any axes of any shape; not of nothing where `empty` is false."""

    def draw_case(draw: Draw, row: Row) -> Case:
        shape = draw.shape(0, 3, (0, 1, 2, 5) if empty else (1, 2, 5))
        axes = tuple(axis for axis in range(len(shape)) if draw.flag())
        attributes: dict[str, Any] = {"axes": axes, "keepdims": draw.flag()}
        if len(row) > 1:
            attributes["dtype"] = row[1]
        attributes |= more(draw) if more else {}
        return Case(row[:1], (draw.numbers(row[0], shape, low, high),), attributes)

    return draw_case


def along_an_axis(draw: Draw, row: Row) -> Case:
    """Few different values, so that there are ties."""
    shape = draw.shape(1, 3, (1, 2, 5))
    attributes = {"axis": draw.integer(0, len(shape) - 1), "keepdims": draw.flag()}
    return Case(row, (draw.few(row[0], shape, 0, 1),), attributes)


def reduced(function: Callable[..., Any]) -> Callable[..., Any]:
    """numpy's reduction on exact numbers; `dtype` only says how the result is stored."""

    def exact(operand: Any, axes: Any, keepdims: bool, dtype: str = "", **more: Any) -> Any:
        if dtype in INTEGERS:
            operand = operand.astype(object) if operand.dtype != bool else operand.astype("int64")
        return function(operand, axis=axes, keepdims=keepdims, **more)

    return exact


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    def exact(operand: Any, axes: Any, keepdims: bool, correction: float) -> Any:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of too few elements, which give NaN
            return function(operand, axis=axes, keepdims=keepdims, ddof=correction)

    return exact


def mean(operand: Any, axes: Any, keepdims: bool) -> Any:
    count = math.prod(operand.shape[axis] for axis in axes)
    return numpy.sum(operand, axis=axes, keepdims=keepdims) / numpy.longdouble(count)


def position(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda operand, axis, keepdims: function(operand, axis=axis, keepdims=keepdims)


def one(axes: tuple[int, ...] = (0,), **more: Any) -> dict[str, Any]:
    return {"axes": axes, "keepdims": False, **more}


BIG = {"axes": (1,), "keepdims": False}
FIRST = {"axis": 0, "keepdims": False}
corrected: Callable[[Draw], dict[str, Any]] = lambda draw: {"correction": float(draw.integer(0, 1))}  # noqa: E731


def large_sum() -> Case:
    return Case(
        ("float32",), (Draw(1).numbers("float32", (512, 1024)),), {**BIG, "dtype": "float32"}
    )


NOTHING: list[float] = []
SAMPLES = {
    "sum": Sample(
        along_axes(),
        reduced(numpy.sum),
        large_sum,
        edges=(
            (case("float32", NOTHING, **one(dtype="float32")), (0.0,)),
            (case("float32", [INF, -INF], **one(dtype="float32")), (NAN,)),
            (case("int8", [127, 1], **one(dtype="int8")), (-128,)),
            (case("int8", [127, 1], **one(dtype="int64")), (128,)),
        ),
    ),
    "prod": Sample(
        along_axes(0.5, 2.0),
        reduced(numpy.prod),
        large_sum,
        edges=(
            (case("float32", NOTHING, **one(dtype="float32")), (1.0,)),
            (case("float32", [INF, 0], **one(dtype="float32")), (NAN,)),
        ),
    ),
    "mean": Sample(
        along_axes(empty=False),
        mean,
        large(**BIG),
        edges=((case("float32", [INF, 1], **one()), (INF,)),),
    ),
    "var": Sample(
        along_axes(empty=False, more=corrected), spread(numpy.var), large(**BIG, correction=1.0)
    ),
    "std": Sample(
        along_axes(empty=False, more=corrected), spread(numpy.std), large(**BIG, correction=1.0)
    ),
    "max": Sample(
        along_axes(empty=False),
        reduced(numpy.max),
        large(**BIG),
        edges=((case("float32", [1, NAN, INF], **one()), (NAN,)),),
    ),
    "min": Sample(
        along_axes(empty=False),
        reduced(numpy.min),
        large(**BIG),
        edges=((case("float32", [1, NAN, -INF], **one()), (NAN,)),),
    ),
    "argmax": Sample(
        along_an_axis,
        position(numpy.argmax),
        large(axis=1, keepdims=False),
        edges=(
            (case("float32", [1, 7, 7], **FIRST), (1,)),
            (case("float32", [INF, NAN, NAN], **FIRST), (1,)),
        ),
    ),
    "argmin": Sample(
        along_an_axis,
        position(numpy.argmin),
        large(axis=1, keepdims=False),
        edges=((case("float32", [-INF, NAN, NAN], **FIRST), (1,)),),
    ),
    "all": Sample(along_axes(), reduced(numpy.all), large("bool", shape=(2048, 1024), **BIG)),
    "any": Sample(along_axes(), reduced(numpy.any), large("bool", shape=(2048, 1024), **BIG)),
    "count_true": Sample(
        along_axes(), reduced(numpy.sum), large("bool", shape=(2048, 1024), **BIG)
    ),
}
