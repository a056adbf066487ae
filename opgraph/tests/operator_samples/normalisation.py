"""Samples of softmax, losses and normalisation, in `longdouble`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case, large

INF, NAN = math.inf, math.nan


def along_an_axis(operands: int) -> Callable[[Draw, Row], Case]:
    def draw_case(draw: Draw, row: Row) -> Case:
        shape = draw.shape(1, 3, (1, 2, 5))
        arrays = tuple(draw.numbers(dtype, shape) for dtype in row)
        return Case(row, arrays, {"axis": draw.integer(0, len(shape) - 1)})

    return draw_case


def softmax(x: Any, axis: int) -> Any:
    raised = numpy.exp(x)
    return raised / numpy.sum(raised, axis=axis, keepdims=True)


def softmax_backward(g: Any, y: Any, axis: int) -> Any:
    return y * (g - numpy.sum(g * y, axis=axis, keepdims=True))


def log_softmax_backward(g: Any, y: Any, axis: int) -> Any:
    return g - numpy.exp(y) * numpy.sum(g, axis=axis, keepdims=True)


def labelled(draw: Draw, row: Row) -> Case:
    samples, classes = draw.integer(0, 5), draw.integer(1, 5)
    arrays = [
        draw.numbers(row[0], (samples, classes)),
        draw.few(row[1], (samples,), 0, classes - 1),
    ]
    if len(row) == 3:
        arrays.append(draw.numbers(row[2], (samples,)))
    return Case(row, tuple(arrays))


def cross_entropy(scores: Any, labels: Any) -> Any:
    chosen = scores[numpy.arange(len(labels)), labels.astype("int64")]
    return numpy.log(numpy.sum(numpy.exp(scores), axis=1)) - chosen


def cross_entropy_backward(scores: Any, labels: Any, gradient: Any) -> Any:
    found = softmax(scores, 1)
    found[numpy.arange(len(labels)), labels.astype("int64")] -= 1
    return found * gradient[:, None]


def rows(vectors: int) -> Callable[[Draw, Row], Case]:
    def draw_case(draw: Draw, row: Row) -> Case:
        shape = draw.shape(1, 3, (1, 2, 5))
        arrays = [draw.numbers(row[0], shape)]
        arrays += [draw.numbers(row[0], shape[-1:]) for _ in range(vectors)]
        return Case(row, tuple(arrays), {"epsilon": 2.0**-10})

    return draw_case


def layer_norm(x: Any, weight: Any, bias: Any, epsilon: float) -> Any:
    mean = numpy.mean(x, axis=-1, keepdims=True)
    rstd = 1 / numpy.sqrt(numpy.mean((x - mean) ** 2, axis=-1, keepdims=True) + epsilon)
    return (x - mean) * rstd * weight + bias, mean[..., 0], rstd[..., 0]


def rms_norm(x: Any, weight: Any, epsilon: float) -> Any:
    rstd = 1 / numpy.sqrt(numpy.mean(x * x, axis=-1, keepdims=True) + epsilon)
    return x * rstd * weight, rstd[..., 0]


def normalised(draw: Draw, row: Row) -> Case:
    shape = draw.shape(1, 3, (1, 2, 5))
    gradient, operand = draw.numbers(row[0], shape), draw.numbers(row[1], shape)
    weight = draw.numbers(row[2], shape[-1:])
    moments = (draw.numbers(row[3], shape[:-1]), draw.numbers(row[4], shape[:-1], 0.5, 2.0))
    return Case(row, (gradient, operand, weight, *moments))


def layer_norm_backward(g: Any, x: Any, weight: Any, mean: Any, rstd: Any) -> Any:
    normal = (x - mean[..., None]) * rstd[..., None]
    p = g * weight
    inner = p - numpy.mean(p, axis=-1, keepdims=True)
    inner -= normal * numpy.mean(p * normal, axis=-1, keepdims=True)
    axes = tuple(range(x.ndim - 1))
    return rstd[..., None] * inner, numpy.sum(g * normal, axis=axes), numpy.sum(g, axis=axes)


def large_labels(gradient: bool) -> Callable[[], Case]:
    def make() -> Case:
        draw = Draw(1)
        arrays = [draw.numbers("float32", (1024, 600)), draw.few("int64", (1024,), 0, 599)]
        row = ("float32", "int64", "float32")
        if gradient:
            arrays.append(draw.numbers("float32", (1024,)))
        return Case(row[: len(arrays)], tuple(arrays))

    return make


def large_rows(*shapes: tuple[int, ...], **attributes: Any) -> Callable[[], Case]:
    def make() -> Case:
        draw = Draw(1)
        arrays = tuple(draw.numbers("float32", shape, 0.5, 2.0) for shape in shapes)
        return Case(("float32",) * len(shapes), arrays, attributes)

    return make


X, V, R = (1024, 600), (600,), (1024,)
AXIS = {"axis": 0}

SAMPLES = {
    "softmax": Sample(
        along_an_axis(1),
        softmax,
        large(axis=1),
        edges=(
            (case("float32", [-INF, -INF], **AXIS), ([0.0, 0.0],)),
            (case("float32", [1000, -INF], **AXIS), ([1, 0.0],)),
            (case("float32", [1, NAN], **AXIS), ([NAN, NAN],)),
            (case("float32", [1, INF], **AXIS), ([NAN, NAN],)),
        ),
    ),
    "log_softmax": Sample(
        along_an_axis(1),
        lambda x, axis: numpy.log(softmax(x, axis)),
        large(axis=1),
        edges=(
            (case("float32", [-INF, -INF], **AXIS), ([-INF, -INF],)),
            (case("float32", [1000, -INF], **AXIS), ([0.0, -INF],)),
            (case("float32", [1, NAN], **AXIS), ([NAN, NAN],)),
        ),
    ),
    "softmax_backward": Sample(along_an_axis(2), softmax_backward, large(arity=2, axis=1)),
    "log_softmax_backward": Sample(along_an_axis(2), log_softmax_backward, large(arity=2, axis=1)),
    "cross_entropy": Sample(labelled, cross_entropy, large_labels(gradient=False)),
    "cross_entropy_backward": Sample(labelled, cross_entropy_backward, large_labels(gradient=True)),
    "layer_norm": Sample(rows(2), layer_norm, large_rows(X, V, V, epsilon=1e-5)),
    "rms_norm": Sample(rows(1), rms_norm, large_rows(X, V, epsilon=1e-5)),
    "layer_norm_backward": Sample(normalised, layer_norm_backward, large_rows(X, X, V, R, R)),
}
