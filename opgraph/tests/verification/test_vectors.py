"""Secret vectors by counter."""

from __future__ import annotations

import numpy as np
import pytest

from opgraph.verification.vectors import Draws

SECRET = b"s" * 32
PINNED = [[-1, 1, -1, -1], [1, 1, -1, -1], [-1, 1, 1, -1], [1, 1, -1, 1]]


def test_the_same_place_gives_the_same_signs() -> None:
    first, second = (Draws(SECRET, 3, 1).signs(1000, 8) for _ in range(2))
    assert np.array_equal(first, second)
    assert set(np.unique(first)) == {-1, 1}


def test_signs_are_pinned_so_that_a_replay_next_year_repairs_the_same_rows() -> None:
    drawn = Draws(bytes(32), 0, 0).signs(4, 4)
    assert drawn.tolist() == PINNED


@pytest.mark.parametrize("other", [(b"t" * 32, 3, 1), (SECRET, 4, 1), (SECRET, 3, 2)])
def test_secret_block_and_generation_each_change_the_signs(other: tuple[bytes, int, int]) -> None:
    signs = Draws(SECRET, 3, 1).signs(4096, 8).astype(int)
    others = Draws(*other).signs(4096, 8).astype(int)
    # Independent signs agree in half of the places, within five standard deviations.
    assert abs((signs * others).sum()) < 5 * signs.size**0.5


def test_signs_are_balanced_in_every_vector_and_between_vectors() -> None:
    signs = Draws(SECRET, 0, 0).signs(10_000, 8).astype(int)
    products = signs.T @ signs - 10_000 * np.eye(8, dtype=int)
    assert np.abs(products).max() < 500
    assert np.abs(signs.sum(axis=0)).max() < 500


def test_choices_are_different_ascending_and_in_range() -> None:
    chosen = Draws(SECRET, 0, 0).choice("rows", 1000, 32)
    assert len(set(chosen.tolist())) == 32
    assert chosen.tolist() == sorted(chosen.tolist())
    assert 0 <= chosen[0] <= chosen[-1] < 1000


def test_a_small_population_is_taken_whole() -> None:
    assert Draws(SECRET, 0, 0).choice("rows", 3, 4).tolist() == [0, 1, 2]


def test_choices_spread_over_the_population() -> None:
    chosen = [Draws(SECRET, block, 0).choice("rows", 1000, 4) for block in range(200)]
    assert 400 < np.concatenate(chosen).mean() < 600


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_secret_of_another_length_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        Draws(b"s" * length, 0, 0)
