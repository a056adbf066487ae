"""The figures for what a check can't see are true."""

from __future__ import annotations

import numpy as np
import pytest

from opgraph.verification import blind_spot, planned_blind_spot

from .conftest import Prepare


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_a_plan_foresees_what_random_data_give(
    rng: np.random.Generator, prepare: Prepare, dtype: str
) -> None:
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((200, 500), (500, 150)))
    found, planned = blind_spot(prepare(a, b)), planned_blind_spot([0, 500], 150, dtype)
    assert found.relative == pytest.approx(planned.relative, rel=0.2)
    assert planned.absolute is None


def test_no_single_entry_beyond_the_absolute_figure_hides(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = rng.random((50, 80), dtype="f4"), rng.random((80, 60), dtype="f4")
    check = prepare(a, b)
    spot = blind_spot(check)
    assert spot.absolute is not None
    for _ in range(30):
        tile = a @ b
        row, column = int(rng.integers(50)), int(rng.integers(60))
        tile[row, column] += np.float32(spot.absolute * 1.001)
        assert check.verify((0, 50), tile).outcome in ("repair", "convict")


def test_the_figure_is_not_far_from_what_does_hide(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = rng.random((50, 80), dtype="f4"), rng.random((80, 60), dtype="f4")
    check = prepare(a, b)
    spot = blind_spot(check)
    assert spot.absolute is not None
    hidden = 0
    for row in range(50):
        tile = a @ b
        tile[row, row] += np.float32(spot.absolute / 8)
        hidden += check.verify((0, 50), tile).outcome == "accept"
    assert hidden > 10


def test_the_sentence_names_c_the_size_and_the_chance(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = rng.random((50, 80), dtype="f4"), rng.random((80, 60), dtype="f4")
    sentence = blind_spot(prepare(a, b, vectors=20)).sentence
    assert "(c = " in sentence
    assert "2^-20" in sentence
    assert "of the typical entry of its row, at most" in sentence
    assert "numbers below 1.2e-38 may have been flushed to zero" in sentence


def test_a_check_that_compares_every_entry_hides_only_rounding(prepare: Prepare) -> None:
    a, b = np.full((5, 8), 1e-40, "f4"), np.ones((8, 6), "f4")
    spot = blind_spot(prepare(a, b))
    assert spot.relative < 1e-5
    assert spot.absolute is None
