"""Samples of operators on indices, with loops for what must come out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample

Shape = tuple[int, ...]


def taken(draw: Draw, row: Row) -> Case:
    shape = draw.shape(1, 3, (1, 2, 5))
    axis = draw.integer(0, len(shape) - 1)
    indices = draw.few(row[1], draw.shape(0, 2), 0, shape[axis] - 1)
    return Case(row, (draw.numbers(row[0], shape), indices), {"axis": axis})


def lines(draw: Draw, row: Row) -> Case:
    """Some indices for each line along an axis; more than there are places, so some meet."""
    shape = draw.shape(1, 3, (1, 2, 5))
    axis = draw.integer(0, len(shape) - 1)
    chosen = (*shape[:axis], draw.integer(0, 6), *shape[axis + 1 :])
    arrays = [draw.numbers(row[0], shape), draw.few(row[1], chosen, 0, shape[axis] - 1)]
    if len(row) == 3:
        arrays.append(draw.numbers(row[2], chosen))
    return Case(row, tuple(arrays), {"axis": axis})


def gathered(operand: Any, indices: Any, axis: int) -> Any:
    return numpy.take_along_axis(operand, indices.astype("int64"), axis)


def placed(operand: Any, indices: Any, updates: Any, axis: int, add: bool) -> Any:
    found = operand.copy()
    for place in itertools.product(*map(range, indices.shape)):
        target = (*place[:axis], int(indices[place]), *place[axis + 1 :])
        found[target] = found[target] + updates[place] if add else updates[place]
    return found


def rows(draw: Draw, row: Row) -> Case:
    shape = draw.shape(1, 3, (1, 2, 5))
    indices = draw.few(row[1], (draw.integer(0, 6),), 0, shape[0] - 1)
    updates = draw.numbers(row[2], (*indices.shape, *shape[1:]))
    return Case(row, (draw.numbers(row[0], shape), indices, updates))


def rows_added(operand: Any, indices: Any, updates: Any) -> Any:
    found = operand.copy()
    for place, index in enumerate(indices):
        found[int(index)] = found[int(index)] + updates[place]
    return found


def boxes(draw: Draw, row: Row) -> Case:
    shape = draw.shape()
    starts = tuple(draw.integer(0, size) for size in shape)
    steps = tuple(draw.integer(1, 3) for _ in shape)
    most = (-(-(n - start) // step) for n, start, step in zip(shape, starts, steps, strict=True))
    update = tuple(draw.integer(0, count) for count in most)
    arrays = (draw.numbers(row[0], shape), draw.numbers(row[1], update))
    return Case(row, arrays, {"starts": starts, "steps": steps})


def box_set(operand: Any, update: Any, starts: Shape, steps: Shape) -> Any:
    found = operand.copy()
    for place in itertools.product(*map(range, update.shape)):
        target = tuple(a + b * c for a, b, c in zip(starts, steps, place, strict=True))
        found[target] = update[place]
    return found


def hot(draw: Draw, row: Row) -> Case:
    depth = draw.integer(1, 5)
    return Case(row, (draw.few(row[0], draw.shape(), 0, depth - 1),), {"depth": depth})


def one_hot(indices: Any, depth: int) -> Any:
    return indices[..., None] == numpy.arange(depth)


def large(*, rows: bool = False, updates: bool = True) -> Any:
    def make() -> Case:
        draw = Draw(1)
        operand = draw.numbers("float32", (512, 1024))
        if rows:
            indices = draw.few("int64", (700,), 0, 511)
            update = draw.numbers("float32", (700, 1024))
            return Case(("float32", "int64", "float32"), (operand, indices, update))
        indices = draw.few("int64", (512, 600), 0, 1023)
        if not updates:
            return Case(("float32", "int64"), (operand, indices), {"axis": 1})
        arrays = (operand, indices, draw.numbers("float32", (512, 600)))
        return Case(("float32", "int64", "float32"), arrays, {"axis": 1})

    return make


def large_take() -> Case:
    draw = Draw(1)
    arrays = (draw.numbers("float32", (1000, 512)), draw.few("int64", (900,), 0, 999))
    return Case(("float32", "int64"), arrays, {"axis": 0})


def large_box() -> Case:
    draw = Draw(1)
    arrays = (draw.numbers("float32", (512, 1024)), draw.numbers("float32", (100, 100)))
    return Case(("float32", "float32"), arrays, {"starts": (3, 4), "steps": (2, 3)})


def large_hot() -> Case:
    return Case(("int64",), (Draw(1).few("int64", (5000,), 0, 399),), {"depth": 400})


TWICE = Case(
    ("float32", "int64", "float32"),
    (numpy.zeros(3, "float32"), numpy.array([1, 1, 0]), numpy.array([5, 6, 7], "float32")),
    {"axis": 0},
)

SAMPLES = {
    "take": Sample(
        taken,
        lambda operand, indices, axis: numpy.take(operand, indices.astype("int64"), axis),
        large_take,
    ),
    "take_along_axis": Sample(lines, gathered, large(updates=False)),
    "put_along_axis": Sample(
        lines,
        lambda *operands, axis: placed(*operands, axis=axis, add=False),
        large(),
        edges=((TWICE, ([7, 6, 0.0],)),),
    ),
    "add_along_axis": Sample(
        lines,
        lambda *operands, axis: placed(*operands, axis=axis, add=True),
        large(),
        edges=((TWICE, ([7, 11, 0.0],)),),
    ),
    "add_rows": Sample(rows, rows_added, large(rows=True)),
    "set_slice": Sample(boxes, box_set, large_box),
    "one_hot": Sample(hot, one_hot, large_hot),
}
