"""Samples of operators that move elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import (
    Case,
    Draw,
    Row,
    Sample,
    large,
    large_with,
)

Shape = tuple[int, ...]


def moved(attributes: Callable[[Draw, Shape], dict[str, Any]]) -> Callable[[Draw, Row], Case]:
    """One operand of any dtype, and attributes drawn for its shape."""

    def draw_case(draw: Draw, row: Row) -> Case:
        shape = draw.shape()
        return Case(row, (draw.numbers(row[0], shape),), attributes(draw, shape))

    return draw_case


def _shape(draw: Draw, shape: Shape) -> dict[str, Any]:
    total = math.prod(shape)
    return {"shape": draw.choice([shape, shape[::-1], (total,), (1, *shape), (total, 1)])}


def _box(draw: Draw, shape: Shape) -> dict[str, Any]:
    starts = tuple(draw.integer(0, side) for side in shape)
    stops = (draw.integer(start, side) for start, side in zip(starts, shape, strict=True))
    steps = tuple(draw.integer(1, 3) for _ in shape)
    return {"starts": starts, "stops": tuple(stops), "steps": steps}


def _cut(operand: Any, starts: Shape, stops: Shape, steps: Shape) -> Any:
    return operand[(*map(slice, starts, stops, steps), ...)]


def _some_axes(draw: Draw, shape: Shape) -> dict[str, Any]:
    return {"axes": tuple(axis for axis in range(len(shape)) if draw.flag())}


def spread(draw: Draw, row: Row) -> Case:
    shape = draw.shape()
    narrow = tuple(draw.choice((1, side)) for side in shape)
    return Case(row, (draw.numbers(row[0], narrow),), {"shape": shape})


# --- joining --------------------------------------------------------------------------------------
def parts(draw: Draw, row: Row) -> Case:
    shape = draw.shape(1, 3)
    axis, count = draw.integer(0, len(shape) - 1), draw.integer(1, 4)
    arrays = tuple(
        draw.numbers(row[0], (*shape[:axis], draw.integer(0, 3), *shape[axis + 1 :]))
        for _ in range(count)
    )
    return Case(row * count, arrays, {"axis": axis})


def rolled(operand: Any, shifts: Shape) -> Any:
    axes = tuple(range(operand.ndim))
    return numpy.roll(operand, shifts, axes) if axes else operand


def padded(draw: Draw, row: Row) -> Case:
    shape, mode = draw.shape(0, 3, (2, 3, 5)), draw.choice(("zero", "edge", "reflect", "wrap"))
    before, after = (tuple(draw.integer(0, side - 1) for side in shape) for _ in range(2))
    attributes = {"before": before, "after": after, "mode": mode}
    return Case(row, (draw.numbers(row[0], shape),), attributes)


def pad(operand: Any, before: Shape, after: Shape, mode: str) -> Any:
    widths = list(zip(before, after, strict=True))
    if not widths:
        return operand
    if mode == "zero":
        empty = numpy.zeros((), operand.dtype) if operand.dtype != object else 0
        return numpy.pad(operand, widths, constant_values=empty)
    return numpy.pad(operand, widths, mode)


def repeated(draw: Draw, row: Row) -> Case:
    shape = draw.shape(1, 3)
    attributes = {"axis": draw.integer(0, len(shape) - 1), "count": draw.integer(0, 3)}
    return Case(row, (draw.numbers(row[0], shape),), attributes)


def matrices(draw: Draw, row: Row) -> Case:
    shape = draw.shape(2, 3)
    return Case(row, (draw.numbers(row[0], shape),), {"offset": draw.integer(-3, 3)})


def triangle(function: Callable[..., Any]) -> Callable[..., Any]:
    def exact(operand: Any, offset: int) -> Any:
        inside = function(numpy.ones(operand.shape[-2:], bool), offset)
        return numpy.where(inside, operand, operand.dtype.type(0) if operand.dtype != object else 0)

    return exact


def diagonal(operand: Any, offset: int) -> Any:
    rows, columns = operand.shape[-2:]
    found = [(r, r + offset) for r in range(rows) if 0 <= r + offset < columns]
    return operand[..., [r for r, _ in found], [c for _, c in found]]


# --- making ---------------------------------------------------------------------------------------
def made(attributes: Callable[[Draw], dict[str, Any]]) -> Callable[[Draw, Row], Case]:
    return lambda draw, row: Case((), (), {**attributes(draw), "dtype": row[0]})


def full(shape: Shape, value: float, dtype: str) -> Any:
    return numpy.full(shape, value, numpy.longdouble)


def whole(shape: Shape, value: int, dtype: str) -> Any:
    return numpy.full(shape, value, object)


def arange(start: int, step: int, length: int, dtype: str) -> Any:
    return numpy.array([start + step * number for number in range(length)], object)


def eye(rows: int, columns: int, offset: int, dtype: str) -> Any:
    return numpy.eye(rows, columns, offset)


def large_made(attributes: dict[str, Any]) -> Callable[[], Case]:
    return lambda: Case((), (), attributes)


SAMPLES = {
    "permute_dims": Sample(
        moved(lambda draw, shape: {"axes": draw.permutation(len(shape))}),
        lambda operand, axes: operand.transpose(axes),
        large(axes=(1, 0)),
    ),
    "reshape": Sample(
        moved(_shape),
        lambda operand, shape: operand.reshape(shape),
        large_with({"shape": (1024, 512)}),
    ),
    "slice": Sample(moved(_box), _cut, large(starts=(2, 3), stops=(500, 1000), steps=(1, 2))),
    "flip": Sample(
        moved(_some_axes), lambda operand, axes: numpy.flip(operand, axes), large(axes=(1,))
    ),
    "broadcast_to": Sample(
        spread,
        lambda operand, shape: numpy.broadcast_to(operand, shape),
        large_with({"shape": (512, 1024)}),
    ),
    "concat": Sample(
        parts,
        lambda *operands, axis: numpy.concatenate(operands, axis),
        large("float32", 3, axis=1),
    ),
    "roll": Sample(
        moved(lambda draw, shape: {"shifts": tuple(draw.integer(-7, 7) for _ in shape)}),
        rolled,
        large(shifts=(3, -5)),
    ),
    "pad": Sample(padded, pad, large(before=(1, 2), after=(3, 4), mode="reflect")),
    "tile": Sample(
        moved(lambda draw, shape: {"counts": tuple(draw.integer(0, 3) for _ in shape)}),
        lambda operand, counts: numpy.tile(operand, counts),
        large(counts=(2, 1)),
    ),
    "repeat_elements": Sample(
        repeated,
        lambda operand, axis, count: numpy.repeat(operand, count, axis),
        large(axis=0, count=2),
    ),
    "tril": Sample(matrices, triangle(numpy.tril), large(offset=0)),
    "triu": Sample(matrices, triangle(numpy.triu), large(offset=0)),
    "diagonal": Sample(matrices, diagonal, large("float32", shape=(300_000, 2, 2), offset=0)),
    "full": Sample(
        made(lambda draw: {"shape": draw.shape(), "value": draw.integer(-64, 64) / 16}),
        full,
        large_made({"shape": (512, 1024), "value": 0.5, "dtype": "float32"}),
        edges=tuple(
            (Case((), (), {"shape": (1,), "value": value, "dtype": dtype}), ([value],))
            for value in (math.inf, -math.inf, math.nan, -0.0)
            for dtype in ("float32", "float16", "bfloat16")
        ),
    ),
    "full_integers": Sample(
        made(lambda draw: {"shape": draw.shape(), "value": draw.integer(-(2**63), 2**63 - 1)}),
        whole,
        large_made({"shape": (512, 1024), "value": -7, "dtype": "int32"}),
    ),
    "arange": Sample(
        made(
            lambda draw: {
                "start": draw.integer(-(2**40), 2**40),
                "step": draw.integer(-5, 5),
                "length": draw.integer(0, 9),
            }
        ),
        arange,
        large_made({"start": 5, "step": -3, "length": 500_000, "dtype": "int32"}),
        edges=(
            (
                Case((), (), {"start": 254, "step": 1, "length": 3, "dtype": "uint8"}),
                ([254, 255, 0],),
            ),
        ),
    ),
    "eye": Sample(
        made(
            lambda draw: {
                "rows": draw.integer(0, 4),
                "columns": draw.integer(0, 4),
                "offset": draw.integer(-4, 4),
            }
        ),
        eye,
        large_made({"rows": 512, "columns": 1024, "offset": 3, "dtype": "float32"}),
    ),
}
