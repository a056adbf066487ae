from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgraph.partition.walk import walk

sides = st.integers(1, 40)


@given(sides, sides)
def test_every_cell_once_and_each_step_to_a_neighbour(rows: int, columns: int) -> None:
    cells = list(walk(rows, columns))
    assert sorted(cells) == [(row, column) for row in range(rows) for column in range(columns)]
    steps = [(abs(c - a), abs(d - b)) for (a, b), (c, d) in pairwise(cells)]
    assert all(max(step) == 1 for step in steps)
    assert steps.count((1, 1)) <= 1


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0)])
def test_an_empty_grid_has_no_walk(shape: tuple[int, int]) -> None:
    assert list(walk(*shape)) == []


def test_a_quarter_of_a_square_walk_is_a_quarter_of_the_square() -> None:
    cells = list(walk(16, 16))
    for start in range(0, 256, 64):
        rows, columns = zip(*cells[start : start + 64], strict=True)
        assert (len(set(rows)), len(set(columns))) == (8, 8)
