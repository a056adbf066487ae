"""Samples of sorting and searching, with the order written in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case, large
from opgraph.tensors import FLOATS, HALVES

INF, NAN = math.inf, math.nan


def along_an_axis(draw: Draw, row: Row, *, most: bool = False) -> Case:
    """Few different values, NaN among them."""
    shape = draw.shape(1, 3)
    array = draw.few(row[0], shape, 0, 2 if row[0] != "bool" else 1)
    if row[0] in FLOATS and array.size:
        array.ravel()[draw.integer(0, array.size - 1)] = NAN
    axis = draw.integer(0, len(shape) - 1)
    attributes: dict[str, Any] = {"axis": axis, "descending": draw.flag()}
    if most:
        attributes["k"] = draw.integer(0, shape[axis])
    return Case(row, (array,), attributes)


def order(line: Any, descending: bool) -> list[int]:
    """The indices that sort one line, stably, NaN above all."""

    def key(index: int) -> tuple[bool, Any]:
        value = line[index]
        unordered = bool(value != value)
        return unordered, 0 if unordered else value

    if not descending:
        return sorted(range(len(line)), key=key)
    return sorted(range(len(line)), key=lambda index: (key(index), -index))[::-1]


def along(function: Callable[[Any], Any], operand: Any, axis: int, count: int) -> Any:
    """A function of lines, on all lines along an axis; it makes `count` elements of each."""
    lines = numpy.moveaxis(operand, axis, -1)
    made = [function(line) for line in lines.reshape(-1, lines.shape[-1])] if lines.size else []
    shape = (*lines.shape[:-1], count)
    found = numpy.empty(shape, object if operand.dtype != numpy.longdouble else operand.dtype)
    if found.size:
        found[...] = numpy.array(made, found.dtype).reshape(shape)
    return numpy.moveaxis(found, -1, axis)


def indices(operand: Any, axis: int, descending: bool, k: int | None = None) -> Any:
    count = operand.shape[axis] if k is None else k
    found = along(lambda line: order(line, descending)[:count], operand, axis, count)
    return found.astype("int64")


def elements(operand: Any, axis: int, descending: bool, k: int | None = None) -> Any:
    count = operand.shape[axis] if k is None else k
    return along(lambda line: line[order(line, descending)[:count]], operand, axis, count)


def searched(draw: Draw, row: Row) -> Case:
    line = numpy.sort(draw.few(row[0], draw.shape(1, 1), 0, 3))
    if row[0] in HALVES:
        line = draw.few(row[0], (0,))
    attributes = {"side": draw.choice(("left", "right"))}
    return Case(row, (line, draw.few(row[1], draw.shape(), 0, 4)), attributes)


def found_at(line: Any, values: Any, side: str) -> Any:
    def place(value: Any) -> int:
        return sum(bool(each < value or (side == "right" and each == value)) for each in line)

    return numpy.array([place(value) for value in values.ravel()], "int64").reshape(values.shape)


def large_search() -> Case:
    draw = Draw(1)
    line = numpy.sort(draw.numbers("float32", (100_000,)))
    return Case(("float32",) * 2, (line, draw.numbers("float32", (300_000,))), {"side": "left"})


def counted(draw: Draw, row: Row) -> Case:
    length = draw.integer(4, 6)
    return Case(row, (draw.few(row[0], draw.shape(1, 1)),), {"length": length})


def counts(operand: Any, length: int) -> Any:
    return numpy.array([sum(each == n for each in operand) for n in range(length)], "int64")


def large_count() -> Case:
    return Case(("int64",), (Draw(1).few("int64", (300_000,), 0, 999),), {"length": 1000})


RISING, FALLING = {"axis": 0, "descending": False}, {"axis": 0, "descending": True}

SAMPLES = {
    "sort": Sample(
        along_an_axis,
        elements,
        large(axis=1, descending=False),
        edges=(
            (case("float32", [NAN, 0.0, -0.0, -INF], **RISING), ([-INF, 0.0, -0.0, NAN],)),
            (case("float32", [0.0, NAN, -0.0, INF], **FALLING), ([NAN, INF, 0.0, -0.0],)),
        ),
    ),
    "argsort": Sample(
        along_an_axis,
        indices,
        large(axis=1, descending=True),
        edges=(
            (case("float32", [NAN, 1, NAN, 1, 0], **RISING), ([4, 1, 3, 0, 2],)),
            (case("float32", [NAN, 1, NAN, 1, 0], **FALLING), ([0, 2, 1, 3, 4],)),
        ),
    ),
    "topk": Sample(
        lambda draw, row: along_an_axis(draw, row, most=True),
        lambda operand, axis, k, descending: (
            elements(operand, axis, descending, k),
            indices(operand, axis, descending, k),
        ),
        large(axis=1, k=10, descending=True),
        edges=((case("int8", [1, 3, 3, 2], k=2, **FALLING), ([3, 3], [1, 2])),),
    ),
    "searchsorted": Sample(
        searched,
        found_at,
        large_search,
        edges=((case("float32", [1, NAN], [NAN, INF], side="left"), ([1, 1],)),),
    ),
    "bincount": Sample(counted, counts, large_count),
}
