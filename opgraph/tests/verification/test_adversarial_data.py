"""Data on which careless checks fail: each case names what went wrong when it was measured."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from opgraph.verification import TileCheck
from opgraph.verification.precision import Array
from opgraph.verification.regions import DIRECT, REGULAR

from .conftest import Prepare


def kept(tile: Array, judged: TileCheck) -> Array:
    assert judged.outcome in ("accept", "repair"), judged
    result = tile.copy()
    for row, values in judged.repaired.items():
        result[row] = values
    return result


def sliced_product(a: Array, b: Array, cuts: list[int]) -> Array:
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for start, end in pairwise(cuts):
        total += a[:, start:end] @ b[start:end]
    return total


def test_a_huge_column_does_not_hide_zeros_in_the_others(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = rng.standard_normal((60, 200), dtype="f4"), rng.standard_normal((200, 64), dtype="f4")
    b[:, 20] *= np.float32(1e8)
    check, tile = prepare(a, b), a @ b
    assert check.verify((0, 60), tile).outcome == "accept"
    tile[:, np.arange(64) != 20] = 0
    assert check.verify((0, 60), tile).outcome == "convict"


def test_k_of_65536_does_not_let_zeros_pass(rng: np.random.Generator, prepare: Prepare) -> None:
    k = 65536
    cuts = [*range(0, k, 2048), k]
    a, b = rng.standard_normal((20, k), dtype="f4"), rng.standard_normal((k, 24), dtype="f4")
    check = prepare(a, b, slice_cuts=cuts)
    assert check.verify((0, 20), sliced_product(a, b, cuts)).outcome == "accept"
    assert check.verify((0, 20), np.zeros((20, 24), "f4")).outcome == "convict"


def test_inputs_rounded_to_tf32_are_noticed_on_one_signed_data_of_a_long_k(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    k = 8192
    cuts = [*range(0, k, 2048), k]
    a, b = rng.random((40, k), dtype="f4"), rng.random((k, 256), dtype="f4")

    def tf32(values: Array) -> Array:
        bits = values.view(np.uint32)
        return ((bits + 0x1000) & np.uint32(0xFFFFE000)).view(np.float32)

    wrong = sliced_product(tf32(a), tf32(b), cuts)
    judged = prepare(a, b, slice_cuts=cuts).verify((0, 40), wrong)
    assert (judged.outcome, judged.code) == ("reissue", "too_inexact")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_k_of_one_with_subnormals_needs_no_row_of_ours(
    rng: np.random.Generator, prepare: Prepare, dtype: str
) -> None:
    tiny = float(np.finfo(dtype).smallest_normal)
    a = (rng.standard_normal((40, 1)) * tiny).astype(dtype)
    b = rng.standard_normal((1, 30)).astype(dtype)
    check, tile = prepare(a, b), a @ b
    assert check.verify((0, 40), tile).outcome == "accept"
    flushed = np.where(np.abs(tile) < tiny, tile.dtype.type(0), tile)
    assert check.verify((0, 40), flushed).outcome == "accept"


def subnormal_product(rng: np.random.Generator) -> tuple[Array, Array]:
    a = (rng.standard_normal((40, 50)) * 1e-40).astype("f4")
    return a, rng.standard_normal((50, 30)).astype("f4")


def test_a_machine_that_flushes_all_subnormal_terms_is_right(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = subnormal_product(rng)
    judged = prepare(a, b).verify((0, 40), np.zeros((40, 30), "f4"))
    assert (judged.outcome, judged.flagged, judged.repaired) == ("accept", 0, {})


@pytest.mark.parametrize(
    ("rows", "columns"),
    [(slice(20, 40), slice(None)), (slice(None), slice(3, 4)), (slice(7, 8), slice(9, 10))],
)
def test_zeros_do_not_survive_beside_subnormal_numbers(
    rng: np.random.Generator, prepare: Prepare, rows: slice, columns: slice
) -> None:
    """No machine flushes some entries and keeps others."""
    a, b = subnormal_product(rng)
    right = a @ b
    tile = right.copy()
    tile[rows, columns] = 0
    judged = prepare(a, b).verify((0, 40), tile)
    assert judged.flagged == 0
    assert np.abs(kept(tile, judged) - right).max() <= 50 * 2.0**-149


def test_other_numbers_among_flushed_ones_do_not_survive(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = subnormal_product(rng)
    tile = np.zeros((40, 30), "f4")
    tile[4, 5] = 1e-39
    judged = prepare(a, b).verify((0, 40), tile)
    assert list(judged.repaired) == [4]
    wrong = rng.permuted(a @ b, axis=1)
    assert len(prepare(a, b).verify((0, 40), wrong).repaired) == 40


def test_operands_read_as_zero_leave_what_the_others_make(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    """Half of A's numbers are subnormal, and B is large: much is lost, and no fault."""
    a, b = subnormal_product(rng)
    a[:, ::2] *= np.float32(1e9)
    b *= np.float32(1e9)
    flushed = np.where(np.abs(a) < 2.0**-126, np.float32(0), a) @ b
    check = prepare(a, b)
    assert check.verify((0, 40), a @ b).outcome == "accept"
    assert check.verify((0, 40), flushed).outcome == "accept"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_overflow_is_right_where_it_must_be_and_nowhere_else(
    rng: np.random.Generator, prepare: Prepare, dtype: str
) -> None:
    root = np.sqrt(np.finfo(dtype).max)
    a, b = rng.random((30, 40)).astype(dtype), rng.random((40, 20)).astype(dtype)
    a[3] *= root
    b[:, 5] *= root
    with np.errstate(over="ignore"):
        tile = a @ b
    assert np.isinf(tile[3, 5])
    assert np.isfinite(tile).sum() == tile.size - 1
    check = prepare(a, b)
    assert check.verify((0, 30), tile).outcome == "accept"
    tile[4, 6] = np.inf
    judged = check.verify((0, 30), tile)
    assert judged.outcome == "convict"
    assert judged.entry is not None
    assert (judged.entry.row, judged.entry.column) == (4, 6)


def test_a_finite_number_where_the_product_overflows_is_replaced(prepare: Prepare) -> None:
    a, b = np.full((100, 10), 1e25, "f4"), np.ones((10, 12), "f4")
    b[:, 7] = 1e20
    with np.errstate(over="ignore"):
        tile = a @ b
    tile[50, 7] = 3e38
    judged = prepare(a, b).verify((0, 100), tile)
    if judged.outcome == "repair":
        assert np.isinf(judged.repaired[50][7])
    else:
        assert judged.outcome == "convict"


def test_partial_sums_that_overflow_are_right(prepare: Prepare) -> None:
    a = np.array([[3e38, 3e38, -3e38, -3e38]], "f4")
    check = prepare(a, np.ones((4, 3), "f4"))
    assert check.verify((0, 1), np.full((1, 3), np.inf, "f4")).outcome == "accept"
    judged = check.verify((0, 1), np.full((1, 3), 3e38, "f4"))
    assert judged.flagged == 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_more_infinities_than_an_order_of_summation_gives_are_replaced(
    rng: np.random.Generator, prepare: Prepare, dtype: str
) -> None:
    """Each might be an accident of the order, all of them are not."""
    root = float(np.finfo(dtype).max) ** 0.5
    a = (rng.standard_normal((40, 400)) * root).astype(dtype)
    b = (rng.standard_normal((400, 30)) * (root / 20 / 2)).astype(dtype)
    check = prepare(a, b)
    tile = np.zeros((40, 30), dtype)
    with np.errstate(over="ignore"):
        for k in range(400):
            tile += a[:, k, None] * b[k]
    assert (~np.isfinite(tile)).sum() > 10
    assert check.verify((0, 40), tile).outcome == "accept"
    judged = check.verify((0, 40), np.full_like(tile, np.nan))
    assert judged.flagged == 0
    assert len(judged.repaired) == 40
    assert (np.isfinite(kept(tile, judged)).mean()) > 0.9


def test_an_infinity_of_the_wrong_sign_convicts(prepare: Prepare) -> None:
    a, b = np.full((40, 10), 1e25, "f4"), np.full((10, 12), 1e20, "f4")
    with np.errstate(over="ignore"):
        tile = a @ b
    check = prepare(a, b)
    assert check.verify((0, 40), tile).outcome == "accept"
    tile[3, 4] = -np.inf
    assert check.verify((0, 40), tile).outcome == "convict"


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_non_finite_operands_give_what_numpy_gives(
    rng: np.random.Generator, prepare: Prepare, dtype: str
) -> None:
    a, b = rng.standard_normal((30, 40)).astype(dtype), rng.standard_normal((40, 20)).astype(dtype)
    a[3, 4], a[7, 0], b[2, 5], b[9, 5] = np.nan, np.inf, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        tile = a @ b
    check = prepare(a, b)
    assert check.verify((0, 30), tile).outcome == "accept"
    wrong = tile.copy()
    wrong[3, 1] = 0.0
    judged = check.verify((0, 30), wrong)
    assert judged.outcome == "repair"
    assert np.isnan(judged.repaired[3]).all()


def test_non_finite_operands_never_convict(rng: np.random.Generator, prepare: Prepare) -> None:
    a, b = rng.standard_normal((30, 40), dtype="f4"), rng.standard_normal((40, 20), dtype="f4")
    a[:, 0] = np.inf
    judged = prepare(a, b).verify((0, 30), np.zeros((30, 20), "f4"))
    assert judged.outcome == "reissue"


def test_zero_rows_and_columns_must_stay_exactly_zero(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = rng.standard_normal((60, 40), dtype="f4"), rng.standard_normal((40, 20), dtype="f4")
    a[11], b[:, 8] = 0, 0
    check, right = prepare(a, b), a @ b
    assert check.verify((0, 60), right).outcome == "accept"
    assert check.verify((0, 60), np.where(right == 0, np.float32(-0.0), right)).outcome == "accept"
    for row, column in ((11, 3), (4, 8)):
        tile = right.copy()
        tile[row, column] = 1e-7
        judged = check.verify((0, 60), tile)
        assert judged.outcome == "convict"


def test_a_product_of_zeros_is_checked_without_any_vector(prepare: Prepare) -> None:
    check = prepare(np.zeros((9, 8), "f4"), np.ones((8, 7), "f4"))
    assert check.verify((0, 9), np.zeros((9, 7), "f4")).outcome == "accept"
    tile = np.zeros((9, 7), "f4")
    tile[2, 2] = np.nan
    assert check.verify((0, 9), tile).outcome == "convict"


def test_a_row_far_smaller_than_the_others_is_not_left_to_the_slack_for_flushing(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    """A tiny column widens every row's slack; the tiny row must not vanish in it."""
    a, b = rng.standard_normal((40, 16), dtype="f4"), rng.standard_normal((16, 12), dtype="f4")
    a[5] *= np.float32(1e-18)
    b[:, 2] *= np.float32(1e-27)
    check, tile = prepare(a, b), a @ b
    assert check.state.regions.rows[5] == DIRECT
    assert (check.state.regions.rows == REGULAR).sum() == 39
    assert check.verify((0, 40), tile).outcome == "accept"
    tile[5, 0] = 0
    assert check.verify((0, 40), tile).outcome in ("repair", "convict")


@pytest.mark.parametrize("exponent", [-300, -150, 150, 300])
def test_float64_data_of_extreme_scale(
    rng: np.random.Generator, prepare: Prepare, exponent: int
) -> None:
    a = rng.standard_normal((20, 30)) * 10.0**exponent
    b = rng.standard_normal((30, 10))
    check, tile = prepare(a, b), a @ b
    assert check.verify((0, 20), tile).outcome == "accept"
    assert check.verify((0, 20), np.zeros((20, 10))).outcome in ("convict", "repair", "reissue")
    tile[4] *= 1.01
    assert check.verify((0, 20), tile).outcome in ("repair", "convict")


def test_sequential_sums_of_constants_are_accepted(prepare: Prepare) -> None:
    a, b = np.full((20, 2048), 0.1, "f4"), np.full((2048, 16), 0.3, "f4")
    total = np.zeros((20, 16), "f4")
    for k in range(2048):
        total += a[:, k, None] * b[k]
    judged = prepare(a, b).verify((0, 20), total)
    assert judged.outcome == "accept"
    assert judged.residual > 4
