"""Samples of systems of equations, by elimination in `longdouble`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample, case, stored

Shape = tuple[int, ...]


def well_conditioned(draw: Draw, dtype: str, shape: Shape) -> Any:
    """Far from singular, with any signs on the diagonal."""
    side = shape[-1]
    signs = 1 - 2 * draw.few("int64", (*shape[:-2], 1, side), 0, 1)
    noise = draw.numbers("float64", shape, -1, 1)
    return stored(noise + (2 * side + 1) * signs * numpy.eye(side), dtype)


def positive_definite(draw: Draw, dtype: str, shape: Shape) -> Any:
    """Its upper triangle is something else, and never read."""
    noise = draw.numbers("float64", shape, -1, 1)
    product = noise @ noise.swapaxes(-1, -2) + shape[-1] * numpy.eye(shape[-1])
    return stored(numpy.tril(product) + numpy.triu(noise, 1), dtype)


def matrices(draw: Draw, row: Row) -> Case:
    side = draw.integer(0, 6)
    shape = (*draw.shape(0, 2), side, side)
    return Case(row, (positive_definite(draw, row[0], shape),))


def systems(triangular: bool) -> Callable[[Draw, Row], Case]:
    def draw_case(draw: Draw, row: Row) -> Case:
        side, batch = draw.integer(0, 6), draw.shape(0, 2)
        matrix = well_conditioned(draw, row[0], (*batch, side, side))
        right = draw.numbers(row[0], (*batch, side, draw.integer(0, 3)))
        flags = {"lower": draw.flag(), "transposed": draw.flag()} if triangular else {}
        return Case(row, (matrix, right), flags)

    return draw_case


def cholesky(a: Any) -> Any:
    found = numpy.zeros_like(a)
    for j in range(a.shape[-1]):
        line = found[..., j, :j]
        found[..., j, j] = numpy.sqrt(a[..., j, j] - numpy.sum(line * line, axis=-1))
        for i in range(j + 1, a.shape[-1]):
            rest = a[..., i, j] - numpy.sum(found[..., i, :j] * line, axis=-1)
            found[..., i, j] = rest / found[..., j, j]
    return found


def solve(matrix: Any, right: Any) -> Any:
    """Gauss and Jordan; no pivot is small."""
    both = numpy.concatenate([matrix, right], axis=-1)
    side = matrix.shape[-1]
    for j in range(side):
        both[..., j, :] /= both[..., j, j, None]
        for i in range(side):
            if i != j:
                both[..., i, :] -= both[..., i, j, None] * both[..., j, :]
    return both[..., side:]


def solve_triangular(matrix: Any, right: Any, lower: bool, transposed: bool) -> Any:
    triangle = numpy.tril(matrix) if lower else numpy.triu(matrix)
    return solve(triangle.swapaxes(-1, -2) if transposed else triangle, right)


def large(kind: Callable[[Draw, str, Shape], Any], *sides: int, **flags: Any) -> Callable[[], Case]:
    """Thirty systems of that many unknowns and right sides."""

    def make() -> Case:
        draw = Draw(1)
        arrays = [kind(draw, "float32", (30, sides[0], sides[0]))]
        arrays += [draw.numbers("float32", (30, sides[0], columns)) for columns in sides[1:]]
        return Case(("float32",) * len(arrays), tuple(arrays), flags)

    return make


SAMPLES = {
    "cholesky": Sample(
        matrices,
        cholesky,
        large(positive_definite, 150),
        edges=((case("float32", [[4, 7], [2, 10]]), ([[2, 0.0], [1, 3]],)),),
    ),
    "solve_triangular": Sample(
        systems(triangular=True),
        solve_triangular,
        large(well_conditioned, 150, 100, lower=False, transposed=False),
    ),
    "solve": Sample(systems(triangular=False), solve, large(well_conditioned, 150, 100)),
}
