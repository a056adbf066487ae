"""Infinities that an order of summation may give, and how likely they are."""

from __future__ import annotations

import numpy as np
import pytest

from opgraph.verification import ArrayReader
from opgraph.verification.entries import Place, compute_entries
from opgraph.verification.overflow import Overflow, overflow, plausible_count
from opgraph.verification.precision import Array, Precision


def look_at(a: Array, b: Array) -> Overflow:
    place = Place(np.arange(len(a)), np.arange(b.shape[1]))
    with np.errstate(all="ignore"):
        entries = compute_entries(ArrayReader(a), ArrayReader(b), place)
        return overflow(entries, a.shape[1] + 1, a.shape[1], Precision.of(a.dtype))


def test_overflow_is_possible_only_where_terms_of_one_sign_reach_it() -> None:
    a = np.array([[3e29, 3e29, -1e29], [3e29, -1e29, -1e29], [1e18, 0, 0]], "f4")
    found = look_at(a, np.full((3, 1), 1e9, "f4"))
    assert found.up[:, 0].tolist() == [True, False, False]
    assert not found.down.any()
    assert found.possible(np.full((3, 1), np.inf, "f4"))[:, 0].tolist() == [True, False, False]
    assert not found.possible(np.full((3, 1), -np.inf, "f4")).any()
    assert not found.possible(np.full((3, 1), np.nan, "f4")).any()
    assert not found.possible(np.ones((3, 1), "f4")).any()


def test_nan_takes_infinities_of_both_signs() -> None:
    found = look_at(np.array([[3e38, 3e38, -3e38, -3e38]], "f4"), np.ones((4, 1), "f4"))
    assert found.possible(np.full((1, 1), np.nan, "f4")).all()
    assert 0 < found.chance(np.full((1, 1), np.nan, "f4"))[0, 0] < 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_infinities_are_no_rarer_than_the_law_says(rng: np.random.Generator, dtype: str) -> None:
    largest = float(np.finfo(dtype).max)
    root = largest**0.5
    a = (rng.standard_normal((60, 400)) * root).astype(dtype)
    b = (rng.standard_normal((400, 50)) * (root / 20 / 1.5)).astype(dtype)
    found = look_at(a, b)
    with np.errstate(all="ignore"):
        total = np.zeros((60, 50), dtype)
        for k in range(400):
            total += a[:, k, None] * b[k]
    infinite = ~np.isfinite(total)
    assert found.possible(total)[infinite].all()
    assert (found.chance(total)[infinite] > 1e-7).all()
    assert infinite.sum() <= plausible_count(float(found.either.sum()))
    # Nor is the law so generous that anything may be infinite.
    assert infinite.sum() > found.either.sum() / 2


def test_entries_of_infinite_data_do_not_overflow() -> None:
    a = np.array([[np.inf, 1.0], [np.nan, 1.0]], "f4")
    found = look_at(a, np.array([[1.0], [1.0]], "f4"))
    assert not found.up.any()
    assert not found.down.any()
