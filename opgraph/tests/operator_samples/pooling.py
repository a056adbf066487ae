"""Samples of pooling, window by window."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.convolution import Shape, everywhere, meetings, places, placing, zeros
from operator_samples.sample import Case, Draw, Row, Sample, case

INF, NAN = math.inf, math.nan


def drawn(draw: Draw) -> tuple[Shape, Shape, dict[str, Any]]:
    """Samples, channels and space of images; the space of the result; attributes."""
    rank = draw.integer(1, 3)
    size = tuple(draw.integer(2, 5) for _ in range(rank))
    kernel = tuple(draw.integer(1, 3) for _ in range(rank))
    at = placing(draw, kernel, size, pooling=True)
    leading = (draw.integer(0, 3), draw.integer(0, 2))
    return (*leading, *size), (*leading, *places(size, kernel, at)), {"kernel": kernel, **at}


def max_pools(draw: Draw, row: Row) -> Case:
    shape, _, at = drawn(draw)
    array = draw.few(row[0], shape) if draw.flag() else draw.numbers(row[0], shape)
    return Case(row, (array,), at)


def max_gradients(draw: Draw, row: Row) -> Case:
    shape, result, _ = drawn(draw)
    size = shape[2:]
    indices = draw.few(row[1], result, 0, math.prod(size) - 1)
    return Case(row, (draw.numbers(row[0], result), indices), {"size": size})


def averages(draw: Draw, row: Row) -> Case:
    shape, _, at = drawn(draw)
    return Case(row, (draw.numbers(row[0], shape),), {**at, "count_include_pad": draw.flag()})


def average_gradients(draw: Draw, row: Row) -> Case:
    shape, result, at = drawn(draw)
    at = {"size": shape[2:], **at, "count_include_pad": draw.flag()}
    return Case(row, (draw.numbers(row[0], result),), at)


def max_pool(x: Any, kernel: Shape, **at: Any) -> Any:
    size = x.shape[2:]
    values = zeros(x, (*x.shape[:2], *places(size, kernel, at)))
    indices = numpy.full(values.shape, -1, object)
    for place, _, element in meetings(size, kernel, **at):
        found, best, index = x[everywhere(element)], values[everywhere(place)], 0
        for e, n in zip(element, size, strict=True):
            index = index * n + e
        better = (indices[everywhere(place)] == -1) | (found > best)
        values[everywhere(place)] = numpy.where(better, found, best)
        indices[everywhere(place)][better] = index
    return values, indices


def max_pool_backward(g: Any, indices: Any, size: Shape) -> Any:
    x = zeros(g, (*g.shape[:2], math.prod(size)))
    for where in numpy.ndindex(g.shape):
        x[(*where[:2], int(indices[where]))] += g[where]
    return x.reshape(*g.shape[:2], *size)


def counted(size: Shape, kernel: Shape, include: bool, at: Any) -> Any:
    counts = numpy.zeros(places(size, kernel, at), numpy.longdouble)
    for place, _, _ in meetings(size, kernel, **at):
        counts[place] += 1
    return counts * 0 + math.prod(kernel) if include else counts


def average_pool(x: Any, kernel: Shape, count_include_pad: bool, **at: Any) -> Any:
    size = x.shape[2:]
    y = zeros(x, (*x.shape[:2], *places(size, kernel, at)))
    for place, _, element in meetings(size, kernel, **at):
        y[everywhere(place)] += x[everywhere(element)]
    return y / counted(size, kernel, count_include_pad, at)


def average_pool_backward(
    g: Any, size: Shape, kernel: Shape, count_include_pad: bool, **at: Any
) -> Any:
    x = zeros(g, (*g.shape[:2], *size))
    shares = g / counted(size, kernel, count_include_pad, at)
    for place, _, element in meetings(size, kernel, **at):
        x[everywhere(element)] += shares[everywhere(place)]
    return x


ROW: dict[str, Any] = {
    "kernel": (2,), "strides": (2,), "before": (0,), "after": (1,), "dilations": (1,),
}  # fmt: skip
IMAGE: dict[str, Any] = {
    "kernel": (3, 3), "strides": (2, 2), "before": (1, 1), "after": (1, 0), "dilations": (1, 1),
}  # fmt: skip
FULL, HALF = (20, 16, 64, 64), (20, 16, 32, 32)


def one(shape: Shape, **attributes: Any) -> Callable[[], Case]:
    return lambda: Case(("float32",), (Draw(1).numbers("float32", shape),), attributes)


def large_max_gradient() -> Case:
    draw = Draw(1)
    arrays = (draw.numbers("float32", HALF), draw.few("int64", HALF, 0, 64 * 64 - 1))
    return Case(("float32", "int64"), arrays, {"size": FULL[2:]})


SAMPLES = {
    "max_pool": Sample(
        max_pools,
        max_pool,
        one(FULL, **IMAGE),
        edges=(
            (
                case("float32", [[[1, NAN, NAN, NAN, -INF]]], **ROW),
                ([[[NAN, NAN, -INF]]], [[[1, 3, 4]]]),
            ),
            (
                case("float32", [[[2, 2, -INF, -INF, INF]]], **ROW),
                ([[[2, -INF, INF]]], [[[0, 2, 4]]]),
            ),
            (
                case("float32", [[[-0.0, 0.0, 0.0, -0.0, -0.0]]], **ROW),
                ([[[-0.0, 0.0, -0.0]]], [[[0, 2, 4]]]),
            ),
            (
                case("int8", [[[-128, -128, -128, 5, -128]]], **ROW),
                ([[[-128, 5, -128]]], [[[0, 3, 4]]]),
            ),
        ),
    ),
    "average_pool": Sample(
        averages,
        average_pool,
        one(FULL, **IMAGE, count_include_pad=False),
        edges=(
            (
                case("float32", [[[1, 3, NAN, 1, 5]]], **ROW, count_include_pad=False),
                ([[[2, NAN, 5]]],),
            ),
            (
                case("float32", [[[1, 3, INF, 1, 5]]], **ROW, count_include_pad=True),
                ([[[2, INF, 2.5]]],),
            ),
        ),
    ),
    "max_pool_backward": Sample(max_gradients, max_pool_backward, large_max_gradient),
    "average_pool_backward": Sample(
        average_gradients,
        average_pool_backward,
        one(HALF, size=FULL[2:], **IMAGE, count_include_pad=False),
    ),
}
