"""The order in which the cells of a grid are visited: a Hilbert curve for any rectangle.

A stretch of it covers a compact patch, so whoever computes a stretch needs few rows and columns.
The construction (recursive halving along the longer side, with turns that keep neighbours
adjacent) is the generalised Hilbert curve of J. Cerveny.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

Cell: TypeAlias = tuple[int, int]
Vector: TypeAlias = tuple[int, int]


def walk(rows: int, columns: int) -> Iterator[Cell]:
    """Every (row, column) of the grid once; each step goes to a neighbour (one may be diagonal)."""
    if rows <= 0 or columns <= 0:
        return
    if columns >= rows:
        yield from _patch((0, 0), (0, columns), (rows, 0))
    else:
        yield from _patch((0, 0), (rows, 0), (0, columns))


def _patch(start: Cell, along: Vector, across: Vector) -> Iterator[Cell]:
    """Cells of the parallelogram at `start`, from there to the end of `along`."""
    length, breadth = _size(along), _size(across)
    if breadth == 1 or length == 1:
        yield from _line(start, along if breadth == 1 else across)
        return
    if 2 * length > 3 * breadth:
        half = _halved(along)
        yield from _patch(start, half, across)
        yield from _patch(_moved(start, half), _rest(along, half), across)
        return
    yield from _turns(start, along, across)


def _turns(start: Cell, along: Vector, across: Vector) -> Iterator[Cell]:
    half_along, half_across = _halved(along, odd=True), _halved(across)
    step_along, step_across = _sign(along), _sign(across)
    yield from _patch(start, half_across, half_along)
    yield from _patch(_moved(start, half_across), along, _rest(across, half_across))
    corner = _moved(start, _rest(along, step_along), _rest(half_across, step_across))
    yield from _patch(corner, _negated(half_across), _negated(_rest(along, half_along)))


def _line(start: Cell, along: Vector) -> Iterator[Cell]:
    step = _sign(along)
    for count in range(_size(along)):
        yield start[0] + count * step[0], start[1] + count * step[1]


def _size(vector: Vector) -> int:
    return abs(vector[0] + vector[1])


def _sign(vector: Vector) -> Vector:
    return (vector[0] > 0) - (vector[0] < 0), (vector[1] > 0) - (vector[1] < 0)


def _halved(vector: Vector, odd: bool = False) -> Vector:
    """Half of a vector, of even length if that leaves something (needed to end at the edge)."""
    step = _sign(vector)
    size = _size(vector) // 2
    if size % 2 and _size(vector) > 2 and not odd:
        size += 1
    return step[0] * size, step[1] * size


def _rest(vector: Vector, part: Vector) -> Vector:
    return vector[0] - part[0], vector[1] - part[1]


def _negated(vector: Vector) -> Vector:
    return -vector[0], -vector[1]


def _moved(start: Cell, *vectors: Vector) -> Cell:
    return start[0] + sum(v[0] for v in vectors), start[1] + sum(v[1] for v in vectors)
