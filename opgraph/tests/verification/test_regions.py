"""Which rows and columns the vectors cover."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from opgraph.verification.precision import Precision
from opgraph.verification.regions import DIRECT, REGULAR, ZERO, regions

NARROW, WIDE = (Precision.of(np.dtype(name)) for name in ("float32", "float64"))


def test_ordinary_data_is_covered_whole() -> None:
    found = regions(np.array([3.0, -20.0]), np.array([5.0, 60.0]), 100, NARROW)
    assert (found.rows == REGULAR).all()
    assert (found.columns == REGULAR).all()


def test_zero_and_non_finite_rows_and_columns_are_set_apart() -> None:
    norms = np.array([0.0, -np.inf, np.inf])
    found = regions(norms, norms, 10, NARROW)
    assert found.rows.tolist() == [REGULAR, ZERO, DIRECT]
    assert found.columns.tolist() == [REGULAR, ZERO, DIRECT]


def test_columns_that_make_tiny_products_are_compared_directly() -> None:
    found = regions(np.array([0.0, -5.0]), np.array([-99.0, -80.0]), 4, NARROW)
    assert found.columns.tolist() == [DIRECT, REGULAR]


def test_a_zero_operand_makes_no_column_tiny() -> None:
    found = regions(np.full(3, -np.inf), np.zeros(3), 4, NARROW)
    assert (found.columns == REGULAR).all()


def test_one_row_that_may_overflow_is_cheaper_than_all_columns() -> None:
    log2_a = np.array([100.0, 0.0, 0.0, 0.0])
    found = regions(log2_a, np.full(50, 40.0), 4, NARROW)
    assert found.rows.tolist() == [DIRECT, REGULAR, REGULAR, REGULAR]
    assert (found.columns == REGULAR).all()


def test_one_column_that_may_overflow_is_cheaper_than_all_rows() -> None:
    log2_b = np.array([0.0, 100.0, 0.0])
    found = regions(np.full(40, 40.0), log2_b, 4, NARROW)
    assert (found.rows == REGULAR).all()
    assert found.columns.tolist() == [REGULAR, DIRECT, REGULAR]


def test_float64_data_beyond_the_range_of_squares_is_compared_directly() -> None:
    found = regions(np.array([450.0, 0.0]), np.array([0.0, -450.0]), 4, WIDE)
    assert found.rows.tolist() == [DIRECT, REGULAR]
    assert found.columns.tolist() == [REGULAR, DIRECT]


@given(
    st.lists(st.floats(-160, 140), min_size=1, max_size=12),
    st.lists(st.floats(-160, 140), min_size=1, max_size=12),
)
def test_no_covered_entry_can_overflow(rows: list[float], columns: list[float]) -> None:
    log2_a, log2_b = np.array(rows), np.array(columns)
    found = regions(log2_a, log2_b, 64, NARROW)
    covered_rows = log2_a[found.rows == REGULAR]
    covered_columns = log2_b[found.columns == REGULAR]
    if covered_rows.size and covered_columns.size:
        assert covered_rows.max() + covered_columns.max() < 128
