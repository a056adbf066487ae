"""Samples of products."""

from __future__ import annotations

from collections.abc import Callable

from operator_samples.sample import SIDES, Case, Draw, Row, Sample


def products(accumulated: bool = False, most_batch: int = 2) -> Callable[[Draw, Row], Case]:
    """Matrices that can be multiplied, with equal leading axes, and what they are added to."""

    def draw_case(draw: Draw, row: Row) -> Case:
        batch = draw.shape(0, most_batch)
        m, k, n = (draw.choice(SIDES) for _ in range(3))
        shapes = [(*batch, m, n)] * accumulated + [(*batch, m, k), (*batch, k, n)]
        return Case(row, tuple(draw.numbers(row[0], shape) for shape in shapes))

    return draw_case


def large(*shapes: tuple[int, ...]) -> Callable[[], Case]:
    """A product of float32 matrices of these shapes."""
    arrays = tuple(Draw(i).numbers("float32", shape) for i, shape in enumerate(shapes))
    return lambda: Case(("float32",) * len(shapes), arrays)


SAMPLES = {
    "matmul": Sample(products(), lambda left, right: left @ right, large((512, 600), (600, 700))),
    "matmul_add": Sample(
        products(accumulated=True, most_batch=0),
        lambda accumulator, left, right: accumulator + left @ right,
        large((600, 700), (600, 512), (512, 700)),
    ),
}
