"""Samples of operators that move elements."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from operator_samples.sample import Case, Draw, Row, Sample, large, large_with

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
    return {"starts": starts, "stops": tuple(stops)}


def _cut(operand: Any, starts: Shape, stops: Shape) -> Any:
    return operand[(*(slice(a, b) for a, b in zip(starts, stops, strict=True)), ...)]


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
    "slice": Sample(moved(_box), _cut, large(starts=(2, 3), stops=(500, 1000))),
}
