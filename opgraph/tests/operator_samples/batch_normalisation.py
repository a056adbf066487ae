"""Samples of normalisation by channel and by groups of channels, in `longdouble`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case

INF, NAN = math.inf, math.nan
EPSILON = 2.0**-10
Shape = tuple[int, ...]


def drawn_shape(draw: Draw, least: int) -> Shape:
    """Samples, channels, and up to two axes of space."""
    space = tuple(draw.integer(1, 4) for _ in range(draw.integer(0, 2)))
    return (draw.integer(least, 4), draw.integer(0, 4), *space)


def by_channel(images: int, vectors: int, *, least: int = 1) -> Callable[[Draw, Row], Case]:
    """Images, then numbers for each channel; the last of more than two is a variance."""

    def draw_case(draw: Draw, row: Row) -> Case:
        shape = drawn_shape(draw, least)
        arrays = [draw.numbers(row[0], shape) for _ in range(images)]
        arrays += [draw.numbers(row[0], shape[1:2]) for _ in range(vectors)]
        if vectors > 2:
            arrays[-1] = draw.numbers(row[0], shape[1:2], 0.5, 2.0)
        return Case(row, tuple(arrays), {"epsilon": EPSILON})

    return draw_case


def groups_of(draw: Draw, channels: int) -> int:
    return draw.choice([each for each in range(1, max(1, channels) + 1) if channels % each == 0])


def group_norms(draw: Draw, row: Row) -> Case:
    shape = drawn_shape(draw, 0)
    shape = (shape[0], max(1, shape[1]), *shape[2:])
    arrays = [draw.numbers(row[0], shape), *(draw.numbers(row[0], shape[1:2]) for _ in "wb")]
    groups = groups_of(draw, shape[1])
    return Case(row, tuple(arrays), {"groups": groups, "epsilon": EPSILON})


def group_gradients(draw: Draw, row: Row) -> Case:
    shape = drawn_shape(draw, 0)
    shape = (shape[0], max(1, shape[1]), *shape[2:])
    groups = groups_of(draw, shape[1])
    moments = (shape[0], groups)
    arrays = (
        draw.numbers(row[0], shape),
        draw.numbers(row[0], shape),
        draw.numbers(row[0], shape[1:2]),
        draw.numbers(row[0], moments),
        draw.numbers(row[0], moments, 0.5, 2.0),
    )
    return Case(row, arrays, {"groups": groups})


def along(vector: Any, x: Any) -> Any:
    return vector[(slice(None), *(None,) * (x.ndim - 2))]


def others(x: Any) -> tuple[int, ...]:
    return tuple(axis for axis in range(x.ndim) if axis != 1)


def train(x: Any, w: Any, b: Any, epsilon: float) -> Any:
    mean = numpy.mean(x, axis=others(x))
    variance = numpy.mean((x - along(mean, x)) ** 2, axis=others(x))
    return infer(x, w, b, mean, variance, epsilon), mean, variance


def infer(x: Any, w: Any, b: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    normal = (x - along(mean, x)) / along(numpy.sqrt(variance + epsilon), x)
    return normal * along(w, x) + along(b, x)


def backward(g: Any, x: Any, w: Any, mean: Any, variance: Any, epsilon: float) -> Any:
    rstd = 1 / numpy.sqrt(variance + epsilon)
    normal = (x - along(mean, x)) * along(rstd, x)
    of_weight, of_bias = numpy.sum(g * normal, axis=others(x)), numpy.sum(g, axis=others(x))
    count = max(1, x.size // max(1, x.shape[1]))
    inner = g - along(of_bias / count, x) - normal * along(of_weight / count, x)
    return inner * along(w * rstd, x), of_weight, of_bias


def group_norm(x: Any, w: Any, b: Any, groups: int, epsilon: float) -> Any:
    lines = x.reshape(len(x), groups, math.prod(x.shape[1:]) // groups)
    mean = numpy.mean(lines, axis=2)
    variance = numpy.mean((lines - mean[..., None]) ** 2, axis=2)
    rstd = 1 / numpy.sqrt(variance + epsilon)
    normal = ((lines - mean[..., None]) * rstd[..., None]).reshape(x.shape)
    return normal * along(w, x) + along(b, x), mean, rstd


def group_norm_backward(g: Any, x: Any, w: Any, mean: Any, rstd: Any, groups: int) -> Any:
    lines = (len(x), groups, math.prod(x.shape[1:]) // groups)
    normal = (x.reshape(lines) - mean[..., None]) * rstd[..., None]
    p = (g * along(w, x)).reshape(lines)
    inner = p - numpy.mean(p, axis=2, keepdims=True)
    inner = inner - normal * numpy.mean(p * normal, axis=2, keepdims=True)
    products = g * normal.reshape(x.shape)
    return (
        (inner * rstd[..., None]).reshape(x.shape),
        numpy.sum(products, axis=others(x)),
        numpy.sum(g, axis=others(x)),
    )


def large(*shapes: Shape, **attributes: Any) -> Callable[[], Case]:
    def make() -> Case:
        draw = Draw(1)
        arrays = tuple(draw.numbers("float32", shape, 0.5, 2.0) for shape in shapes)
        return Case(("float32",) * len(shapes), arrays, attributes)

    return make


X, C, M = (20, 16, 32, 32), (16,), (20, 4)
ONES = ([1.0], [0.0])

SAMPLES = {
    "batch_norm_train": Sample(
        by_channel(1, 2),
        train,
        large(X, C, C, epsilon=1e-5),
        edges=(
            (case("float32", [[1], [1]], *ONES, epsilon=1.0), ([[0.0], [0.0]], [1], [0.0])),
            (case("float32", [[1], [NAN]], *ONES, epsilon=1.0), ([[NAN], [NAN]], [NAN], [NAN])),
            (case("float32", [[1], [INF]], *ONES, epsilon=1.0), ([[NAN], [NAN]], [INF], [NAN])),
        ),
    ),
    "batch_norm_infer": Sample(
        by_channel(1, 4, least=0), infer, large(X, C, C, C, C, epsilon=1e-5)
    ),
    "batch_norm_backward": Sample(by_channel(2, 3), backward, large(X, X, C, C, C, epsilon=1e-5)),
    "group_norm": Sample(group_norms, group_norm, large(X, C, C, groups=4, epsilon=1e-5)),
    "group_norm_backward": Sample(
        group_gradients, group_norm_backward, large(X, X, C, M, M, groups=4)
    ),
}
