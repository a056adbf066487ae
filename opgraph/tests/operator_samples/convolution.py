"""Samples of convolutions, term by term in exact arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample

Shape = tuple[int, ...]


def meetings(
    size: Shape, kernel: Shape, strides: Shape, before: Shape, after: Shape, dilations: Shape
) -> Iterator[tuple[Shape, Shape, Shape]]:
    """Each place of a window with each of its positions that meets an element, and that element."""
    places = tuple(
        (n + b + a - d * (k - 1) - 1) // s + 1
        for n, k, s, b, a, d in zip(size, kernel, strides, before, after, dilations, strict=True)
    )
    for place in numpy.ndindex(places):
        for position in numpy.ndindex(kernel):
            element = tuple(
                p * s + o * d - b
                for p, s, o, d, b in zip(place, strides, position, dilations, before, strict=True)
            )
            if all(0 <= e < n for e, n in zip(element, size, strict=True)):
                yield place, position, element


def placing(draw: Draw, kernel: Shape, size: Shape, *, pooling: bool = False) -> dict[str, Shape]:
    """Strides, padding and dilations with which the window fits; `pooling`: and is never empty."""
    strides = tuple(draw.integer(1, 3) for _ in size)
    dilations = tuple(draw.integer(1, 2) for _ in size)
    before, after = [], []
    for n, k, d in zip(size, kernel, dilations, strict=True):
        reach = d * (k - 1) + 1
        most = reach - 1 if pooling else 3
        before.append(draw.integer(0, most))
        after.append(max(draw.integer(0, most), min(reach - n - before[-1], most)))
        if n + before[-1] + after[-1] < reach:
            before[-1] = most
    return {
        "strides": strides,
        "before": tuple(before),
        "after": tuple(after),
        "dilations": dilations,
    }


def places(size: Shape, kernel: Shape, at: dict[str, Shape]) -> Shape:
    return tuple(
        (n + b + a - d * (k - 1) - 1) // s + 1
        for n, k, s, b, a, d in zip(
            size, kernel, at["strides"], at["before"], at["after"], at["dilations"], strict=True
        )
    )


def convolutions(which: str) -> Callable[[Draw, Row], Case]:
    """Calls of `convolution` or of the gradient of its `input` or `weight`."""

    def draw_case(draw: Draw, row: Row) -> Case:
        rank = draw.integer(1, 3)
        size = tuple(draw.integer(2, 5) for _ in range(rank))
        kernel = tuple(draw.integer(1, 3) for _ in range(rank))
        at = placing(draw, kernel, size)
        groups, inner, outer = (draw.integer(1, 2), draw.integer(0, 2), draw.integer(0, 2))
        samples = draw.integer(0, 3)
        operand = draw.numbers(row[0], (samples, groups * inner, *size))
        weight = draw.numbers(row[0], (groups * outer, inner, *kernel))
        gradient = draw.numbers(row[0], (samples, groups * outer, *places(size, kernel, at)))
        given: dict[str, Any] = {**at, "groups": groups}
        if which == "input":
            return Case(row, (gradient, weight), {"size": size, **given})
        if which == "weight":
            return Case(row, (gradient, operand), {"kernel": kernel, **given})
        return Case(row, (operand, weight), given)

    return draw_case


def everywhere(index: Shape) -> tuple[Any, ...]:
    return (slice(None), slice(None), *index)


def zeros(like: Any, shape: Shape) -> Any:
    return numpy.zeros(shape, like.dtype)


def parts(channels: int, groups: int) -> Iterator[slice]:
    each = channels // groups
    return (slice(n * each, (n + 1) * each) for n in range(groups))


def convolution(x: Any, w: Any, groups: int, **at: Any) -> Any:
    size, kernel = x.shape[2:], w.shape[2:]
    y = zeros(x, (len(x), len(w), *places(size, kernel, at)))
    for place, position, element in meetings(size, kernel, **at):
        taken, weights = x[everywhere(element)], w[everywhere(position)]
        pairs = zip(parts(x.shape[1], groups), parts(len(w), groups), strict=True)
        for inner, outer in pairs:
            y[everywhere(place)][:, outer] += taken[:, inner] @ weights[outer].T
    return y


def backward_input(g: Any, w: Any, size: Shape, groups: int, **at: Any) -> Any:
    x = zeros(g, (len(g), groups * w.shape[1], *size))
    for place, position, element in meetings(size, w.shape[2:], **at):
        given, weights = g[everywhere(place)], w[everywhere(position)]
        pairs = zip(parts(x.shape[1], groups), parts(len(w), groups), strict=True)
        for inner, outer in pairs:
            x[everywhere(element)][:, inner] += given[:, outer] @ weights[outer]
    return x


def backward_weight(g: Any, x: Any, kernel: Shape, groups: int, **at: Any) -> Any:
    w = zeros(g, (g.shape[1], x.shape[1] // groups, *kernel))
    for place, position, element in meetings(x.shape[2:], kernel, **at):
        given, taken = g[everywhere(place)], x[everywhere(element)]
        pairs = zip(parts(x.shape[1], groups), parts(g.shape[1], groups), strict=True)
        for inner, outer in pairs:
            w[everywhere(position)][outer] += given[:, outer].T @ taken[:, inner]
    return w


LARGE = {"strides": (1, 2), "before": (1, 1), "after": (1, 0), "dilations": (1, 1), "groups": 2}


def large(*shapes: Shape, **attributes: Any) -> Callable[[], Case]:
    arrays = tuple(Draw(i).numbers("float32", shape) for i, shape in enumerate(shapes))
    return lambda: Case(("float32",) * len(shapes), arrays, {**LARGE, **attributes})


X, W, Y = (20, 16, 32, 32), (24, 8, 3, 3), (20, 24, 32, 16)

SAMPLES = {
    "convolution": Sample(convolutions("result"), convolution, large(X, W)),
    "convolution_backward_input": Sample(
        convolutions("input"), backward_input, large(Y, W, size=(32, 32))
    ),
    "convolution_backward_weight": Sample(
        convolutions("weight"), backward_weight, large(Y, X, kernel=(3, 3))
    ),
}
