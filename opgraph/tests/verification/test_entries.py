"""Entries computed by the check, and the bounds around them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from opgraph.verification import ArrayReader, entries
from opgraph.verification.entries import Place, compute_entries, conviction_bound
from opgraph.verification.precision import Array, Precision


def compute(a: Array, b: Array, rows: list[int], columns: list[int]) -> entries.Entries:
    place = Place(np.array(rows), np.array(columns))
    return compute_entries(ArrayReader(a), ArrayReader(b), place)


def exact(a: Array, b: Array, row: int, column: int) -> Fraction:
    pairs = zip(a[row].tolist(), b[:, column].tolist(), strict=True)
    return sum((Fraction(x) * Fraction(y) for x, y in pairs), Fraction(0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_reference_is_within_its_own_bound_of_the_exact_value(
    rng: np.random.Generator, dtype: str
) -> None:
    a, b = (rng.standard_normal(shape).astype(dtype) for shape in ((5, 300), (300, 6)))
    found = compute(a, b, [0, 3], [1, 2, 5])
    for i, row in enumerate([0, 3]):
        for j, column in enumerate([1, 2, 5]):
            error = abs(Fraction(*found.values[i, j].as_integer_ratio()) - exact(a, b, row, column))
            assert error <= 302 * found.unit * found.magnitude[i, j]


def test_scattered_rows_and_columns_of_a_long_k(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "_CHUNK_ELEMENTS", 64)
    a, b = rng.standard_normal((40, 101)), rng.standard_normal((101, 30))
    rows, columns = [0, 1, 2, 7, 9, 10, 39], [3, 4, 20]
    found = compute(a.astype("f4"), b.astype("f4"), rows, columns)
    a32, b32 = a.astype("f4").astype("f8"), b.astype("f4").astype("f8")
    place = np.ix_(rows, columns)
    assert np.allclose(found.values, (a32 @ b32)[place], rtol=1e-12)
    assert np.allclose(found.magnitude, (np.abs(a32) @ np.abs(b32))[place], rtol=1e-12)
    assert np.allclose(found.spread, np.sqrt(np.square(a32) @ np.square(b32))[place], rtol=1e-12)
    assert not found.flushed.any()


def test_a_rows_bits_do_not_depend_on_the_rows_beside_it(rng: np.random.Generator) -> None:
    a, b = (rng.standard_normal(shape, dtype="f4") for shape in ((64, 700), (700, 33)))
    alone = compute(a, b, [17], list(range(33)))
    among = compute(a, b, list(range(3, 50)), list(range(33)))
    assert np.array_equal(alone.values[0], among.values[14])


def test_operands_read_as_zero_are_part_of_the_bound() -> None:
    a = np.array([[1e-40, 1.0]], "f4")
    b = np.array([[1e10], [1e-42]], "f4")
    found = compute(a, b, [0], [0])
    assert found.flushed[0, 0] == pytest.approx(1e-30, rel=1e-3)
    assert found.lost[0, 0] == pytest.approx(1e-30, rel=1e-3)
    assert found.largest_term[0, 0] == pytest.approx(1e10)
    bound = conviction_bound(found, 3, 2, Precision.of(np.dtype("f4")))
    assert abs(0.0 - found.values[0, 0]) <= bound[0, 0]


def test_zero_is_not_a_flushed_operand() -> None:
    found = compute(np.array([[0.0, 1.0]], "f4"), np.array([[1.0], [0.0]], "f4"), [0], [0])
    assert found.flushed[0, 0] == 0.0


def test_float64_entries_have_room_for_sums_that_overflow() -> None:
    a, b = np.array([[1e200, 1e200, 1e200]]), np.array([[1e150], [-1e150], [1e80]])
    with np.errstate(over="ignore"):
        found = compute(a, b, [0], [0])
    if np.finfo(np.longdouble).maxexp > 1024:
        assert float(found.values[0, 0]) == pytest.approx(1e280)
        assert np.isfinite(found.spread[0, 0])
    assert not np.isfinite(found.magnitude[0, 0])


def test_without_a_longer_double_the_bound_has_both_gammas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "LONG", np.float64)
    a, b = np.full((1, 10), 0.1), np.full((10, 1), 0.3)
    found = compute(a, b, [0], [0])
    bound = conviction_bound(found, 11, 10, Precision.of(np.dtype("f8")))
    assert found.unit == 2**-53
    assert bound[0, 0] >= (10 + 11) * 2**-53 * found.magnitude[0, 0]


def honest_orders(a: Array, b: Array) -> list[NDArray[np.floating]]:
    forward, backward = np.zeros((1, 1), a.dtype), np.zeros((1, 1), a.dtype)
    for k in range(a.shape[1]):
        forward += a[:, k, None] * b[k]
        backward += a[:, -1 - k, None] * b[-1 - k]
    return [forward, backward, a @ b]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_honest_order_leaves_the_conviction_bound(dtype: str) -> None:
    rng = np.random.default_rng(5)
    precision = Precision.of(np.dtype(dtype))
    for _ in range(100):
        k = int(rng.integers(1, 200))
        sizes = 10.0 ** rng.uniform(-30, 5, (2, k))
        a = (sizes[0] * rng.choice([-1, 1], k))[None, :].astype(dtype)
        b = (sizes[1] * rng.choice([-1, 1], k))[:, None].astype(dtype)
        found = compute(a, b, [0], [0])
        bound = conviction_bound(found, k + 1, k, precision)
        for value in honest_orders(a, b):
            assert np.abs(value - found.values) <= bound
