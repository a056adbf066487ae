"""The factor c follows what sequential sums do on the data."""

from __future__ import annotations

import numpy as np
import pytest

from opgraph.verification.calibration import Calibration
from opgraph.verification.precision import Array, Precision
from opgraph.verification.vectors import Draws


def calibrate(a: Array, b: Array, cuts: list[int], step: int) -> Calibration:
    """Feed all of K in steps."""
    columns = b.shape[1]
    made = Calibration(
        Draws(b"c" * 32, 0, 0),
        len(a),
        np.arange(columns),
        cuts,
        Precision.of(a.dtype),
    )
    for first in range(0, a.shape[1], step):
        part = slice(first, first + step)
        made.add(a[made.rows][:, part], b[part][:, made.columns], first)
    return made


def test_random_data_need_no_more_than_the_least_factor(rng: np.random.Generator) -> None:
    a, b = rng.standard_normal((8, 500)), rng.standard_normal((500, 40))
    made = calibrate(a.astype("f4"), b.astype("f4"), [0, 500], 100)
    assert made.factor() == 4.0


def test_constant_data_raise_the_factor() -> None:
    a, b = np.full((4, 2048), 0.1, "f4"), np.full((2048, 32), 0.3, "f4")
    assert calibrate(a, b, [0, 2048], 2048).factor() > 10


@pytest.mark.parametrize("step", [1, 7, 300, 1000])
def test_the_way_that_k_arrives_changes_nothing(rng: np.random.Generator, step: int) -> None:
    a, b = rng.random((4, 1000), dtype="f4"), rng.random((1000, 32), dtype="f4")
    cuts = [0, 256, 512, 1000]
    whole, parts = calibrate(a, b, cuts, 1000), calibrate(a, b, cuts, step)
    assert np.array_equal(whole._total, parts._total)
    assert parts.factor() == pytest.approx(whole.factor(), rel=1e-9)


def test_sums_are_sequential_within_slices(rng: np.random.Generator) -> None:
    a, b = rng.random((4, 300), dtype="f4"), rng.random((300, 32), dtype="f4")
    made = calibrate(a, b, [0, 100, 300], 64)
    expected = np.zeros((4, 32), "f4")
    for start, end in ((0, 100), (100, 300)):
        partial = np.zeros((4, 32), "f4")
        for k in range(start, end):
            partial += a[:, k, None] * b[k]
        expected += partial
    assert np.array_equal(made._total.reshape(4, 32), expected)


def test_entries_that_overflow_are_left_out() -> None:
    a, b = np.full((4, 64), 1e30, "f4"), np.full((64, 32), 1e30, "f4")
    with np.errstate(all="ignore"):
        assert calibrate(a, b, [0, 64], 64).factor() == 4.0


def test_no_eligible_column_leaves_the_least_factor() -> None:
    made = Calibration(
        Draws(b"c" * 32, 0, 0),
        4,
        np.arange(0),
        [0, 8],
        Precision.of(np.dtype("f4")),
    )
    made.add(np.ones((4, 8), "f4"), np.ones((8, 0), "f4"), 0)
    assert made.factor() == 4.0
