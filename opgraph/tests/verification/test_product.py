"""The check of products: what it prepares, and how it judges."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opgraph.errors import ExecutionCancelled
from opgraph.verification import ArrayReader, ColumnBlockCheck, TileCheck, reader
from opgraph.verification.precision import Array

from .conftest import SECRET, Prepare

DTYPES = ["float32", "float64"]


class CountingReader(ArrayReader):
    """Counts how many entries are read."""

    def __init__(self, array: Array) -> None:
        super().__init__(array)
        self.entries = 0
        self.largest = 0

    def read(self, r0: int, r1: int, c0: int, c1: int, out: Array | None = None) -> Array:
        size = (r1 - r0) * (c1 - c0)
        self.entries += size
        self.largest = max(self.largest, size)
        return super().read(r0, r1, c0, c1, out)


def operands(rng: np.random.Generator, m: int, k: int, n: int, dtype: str) -> tuple[Array, Array]:
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


def kept(tile: Array, judged: TileCheck) -> Array:
    """What a lab keeps of an accepted or repaired tile."""
    assert judged.outcome in ("accept", "repair")
    result = tile.copy()
    for row, values in judged.repaired.items():
        result[row] = values
    return result


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_right_tile_is_accepted_and_not_modified(
    rng: np.random.Generator, prepare: Prepare, dtype: str
) -> None:
    a, b = operands(rng, 70, 300, 50, dtype)
    tile = a @ b
    before = tile.copy()
    judged = prepare(a, b).verify((0, 70), tile)
    assert judged == TileCheck("accept", "accepted", judged.reason, judged.residual)
    assert 0 < judged.residual < 4
    assert np.array_equal(tile, before)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_slightly_wrong_row_is_replaced_by_a_better_one(
    rng: np.random.Generator, prepare: Prepare, dtype: str
) -> None:
    a, b = operands(rng, 70, 300, 50, dtype)
    check, tile = prepare(a, b), a @ b
    tile[31] *= 1 + 300 * np.finfo(dtype).eps
    judged = check.verify((0, 70), tile)
    assert (judged.outcome, judged.flagged, list(judged.repaired)) == ("repair", 1, [31])
    assert judged.repaired[31].dtype == tile.dtype
    truth = a[31].astype(np.longdouble) @ b.astype(np.longdouble)
    assert np.abs(judged.repaired[31] - truth).max() < 64 * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_plainly_wrong_entry_convicts_with_evidence(
    rng: np.random.Generator, prepare: Prepare, dtype: str
) -> None:
    a, b = operands(rng, 70, 300, 50, dtype)
    tile = a @ b
    right = float(tile[12, 34])
    tile[12, 34] += 10
    judged = prepare(a, b).verify((0, 70), tile)
    assert (judged.outcome, judged.code, judged.repaired) == ("convict", "wrong_entry", {})
    assert judged.entry is not None
    assert (judged.entry.row, judged.entry.column) == (12, 34)
    assert judged.entry.got == float(tile[12, 34])
    assert judged.entry.want == pytest.approx(right, abs=1e-3)
    assert judged.entry.bound < abs(judged.entry.got - judged.entry.want)
    assert "(12, 34)" in judged.reason


def test_rows_of_a_tile_count_from_its_own_corner(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = operands(rng, 70, 300, 50, "float32")
    tile = (a @ b)[40:60]
    tile[2, 3] += 10
    judged = prepare(a, b).verify((40, 60), tile)
    assert judged.entry is not None
    assert (judged.entry.row, judged.entry.column) == (2, 3)


def test_many_inexact_rows_are_issued_again_without_blame(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = operands(rng, 200, 300, 50, "float32")
    check, right = prepare(a, b), a @ b
    for rows, outcome in ((4, "repair"), (5, "reissue")):
        tile = right.copy()
        tile[:rows] *= np.float32(1.00003)
        judged = check.verify((0, 200), tile)
        assert (judged.outcome, judged.flagged) == (outcome, rows)
    assert judged.code == "too_inexact"
    assert judged.entry is None


def test_one_row_of_a_small_tile_may_be_repaired(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = operands(rng, 1, 300, 50, "float32")
    judged = prepare(a, b).verify((0, 1), (a @ b) * np.float32(1.00003))
    assert (judged.outcome, list(judged.repaired)) == ("repair", [0])


@pytest.mark.parametrize("shape", [(69, 50), (70, 49), (70,), (50, 70), (0, 50)])
def test_another_shape_is_issued_again(
    rng: np.random.Generator, prepare: Prepare, shape: tuple[int, ...]
) -> None:
    a, b = operands(rng, 70, 20, 50, "float32")
    judged = prepare(a, b).verify((0, 70), np.zeros(shape, "f4"))
    assert (judged.outcome, judged.code) == ("reissue", "wrong_shape")


def test_rows_outside_of_the_product_are_refused(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = operands(rng, 70, 20, 50, "float32")
    for rows in ((0, 71), (-1, 5), (5, 5)):
        with pytest.raises(ValueError, match="no rows"):
            prepare(a, b).verify(rows, np.zeros((5, 50), "f4"))


def test_a_replay_repairs_the_same_rows_with_the_same_bits(
    rng: np.random.Generator, prepare: Prepare
) -> None:
    a, b = operands(rng, 200, 700, 90, "float32")
    tile = a @ b
    tile[[3, 77]] *= np.float32(1.00003)
    first, again = (prepare(a, b).verify((0, 200), tile) for _ in range(2))
    assert list(first.repaired) == list(again.repaired) == [3, 77]
    assert all(np.array_equal(first.repaired[row], again.repaired[row]) for row in (3, 77))
    # Another machine's tile, wrong in another row too: row 77 keeps its bits.
    tile[150] *= np.float32(1.00003)
    third = prepare(a, b).verify((0, 200), tile)
    assert np.array_equal(third.repaired[77], first.repaired[77])


def test_all_blocks_at_once_read_a_once_and_b_twice(rng: np.random.Generator) -> None:
    a, b = operands(rng, 90, 120, 60, "float32")
    readers = CountingReader(a), CountingReader(b)
    cuts = [0, 25, 40, 60]
    checks = ColumnBlockCheck.prepare_all(SECRET, cuts, [0, 50, 120], *readers)
    # Four rows of A per block beside it, for the calibration.
    assert readers[0].entries == a.size + 3 * 4 * 120
    assert readers[1].entries == 2 * b.size
    for index, (block, check) in enumerate(zip(pairwise(cuts), checks, strict=True)):
        alone = ColumnBlockCheck.prepare(SECRET, index, block, [0, 50, 120], *readers)
        assert np.allclose(alone.state.projection, check.state.projection, rtol=1e-9)
        assert np.array_equal(alone.state.signs, check.state.signs)
        tile = np.ascontiguousarray((a @ b)[:, slice(*block)])
        assert check.verify((0, 90), tile).outcome == "accept"


def test_a_long_b_is_read_once_beside_its_first_rows(rng: np.random.Generator) -> None:
    a, b = operands(rng, 40, 900, 30, "float32")
    readers = CountingReader(a), CountingReader(b)
    check = ColumnBlockCheck.prepare(SECRET, 0, (0, 30), [0, 900], *readers)
    assert readers[0].entries == a.size + 4 * 900
    assert readers[1].entries == b.size + 128 * 30
    judged = check.verify((0, 40), a @ b)
    assert (judged.outcome, judged.residual < 1) == ("accept", True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_streaming_in_small_pieces_finds_the_same(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    a, b = operands(rng, 60, 203, 50, dtype)
    cuts = [0, 64, 128, 203]
    whole = ColumnBlockCheck.prepare_all(SECRET, [0, 20, 50], cuts, ArrayReader(a), ArrayReader(b))
    monkeypatch.setattr(reader, "CHUNK_ELEMENTS", 60)
    monkeypatch.setattr(reader, "_WIDEST", 17)
    monkeypatch.setattr("opgraph.verification.projection._SLAB_ELEMENTS", 800)
    readers = CountingReader(a), CountingReader(b)
    pieces = ColumnBlockCheck.prepare_all(SECRET, [0, 20, 50], cuts, *readers)
    # Nothing larger than a chunk or four rows of a slab is ever read.
    assert max(readers[0].largest, readers[1].largest) <= 4 * 203
    for first, second in zip(whole, pieces, strict=True):
        assert np.allclose(first.state.projection, second.state.projection, rtol=1e-9, atol=1e-9)
        assert np.allclose(first.state.scale, second.state.scale, rtol=1e-9)
        assert first.state.factor == pytest.approx(second.state.factor)


class MadeUp:
    """A matrix that lies nowhere: its entries follow from their place."""

    dtype = np.dtype("f4")

    def __init__(self, rows: int, columns: int) -> None:
        self.shape = rows, columns

    def read(self, r0: int, r1: int, c0: int, c1: int, out: Array | None = None) -> Array:
        rows, columns = np.arange(r0, r1)[:, None], np.arange(c0, c1)
        values = ((rows * 7 + columns * 13) % 29 - 14).astype("f4")
        if out is None:
            return values
        out[...] = values
        return out


def test_memory_does_not_grow_with_k() -> None:
    def peak(k: int) -> int:
        a, b, cuts = MadeUp(2, k), MadeUp(k, 2), [*range(0, k, 2048), k]
        tracemalloc.start()
        check = ColumnBlockCheck.prepare(SECRET, 0, (0, 2), cuts, a, b)
        assert check.verify((0, 2), np.zeros((2, 2), "f4")).outcome != "accept"
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(900_000) < peak(450_000) * 1.2 < 100e6


def test_slabs_of_k_stay_small_however_many_blocks(rng: np.random.Generator) -> None:
    a, b = operands(rng, 3, 4000, 30, "float32")
    checks = ColumnBlockCheck.prepare_all(
        SECRET, list(range(31)), [0, 2000, 4000], ArrayReader(a), ArrayReader(b), vectors=64
    )
    assert len(checks) == 30
    assert checks[7].verify((0, 3), (a @ b)[:, 7:8].copy()).outcome == "accept"


def test_cancelling_stops_the_preparation(rng: np.random.Generator) -> None:
    a, b = operands(rng, 9, 12, 6, "float32")
    readers = ArrayReader(a), ArrayReader(b)
    with pytest.raises(ExecutionCancelled):
        ColumnBlockCheck.prepare(SECRET, 0, (0, 6), [0, 12], *readers, cancelled=lambda: True)


def test_a_new_generation_draws_new_vectors(rng: np.random.Generator, prepare: Prepare) -> None:
    a, b = operands(rng, 20, 30, 40, "float32")
    first, second = prepare(a, b), prepare(a, b, generation=1)
    assert not np.array_equal(first.state.signs, second.state.signs)
    assert second.verify((0, 20), a @ b).outcome == "accept"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slice_cuts": [0, 5, 11]}, "rising steps"),
        ({"slice_cuts": [0, 5, 5, 12]}, "rising steps"),
        ({"columns": (3, 7)}, "inside B"),
        ({"columns": (3, 3)}, "inside B"),
        ({"vectors": 0}, "vectors"),
        ({"secret": b"short"}, "32 bytes"),
        ({"b": np.zeros((12, 6), "f8")}, "same dtype"),
        ({"b": np.zeros((11, 6), "f4")}, "No product"),
        ({"a": np.zeros((9, 12), "i4")}, "can't be checked"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(
    rng: np.random.Generator, arguments: dict[str, object], message: str
) -> None:
    a, b = operands(rng, 9, 12, 6, "float32")
    given: dict[str, object] = {
        "secret": SECRET,
        "column_block": 0,
        "columns": (0, 6),
        "slice_cuts": [0, 12],
        "a": a,
        "b": b,
    } | arguments
    given["a"], given["b"] = ArrayReader(given["a"]), ArrayReader(given["b"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=message):
        ColumnBlockCheck.prepare(**given)  # type: ignore[arg-type]


SPECIAL = [0.0, 1.0, -1.0, 1e-40, 1e-30, 3e38, -3e38, np.inf, -np.inf, np.nan, 1e-45, 1e19]
WIDE = [*SPECIAL, 1e308, -1e308, 1e-310, 1e154, -1e154, 5e-324]


def summed(a: Array, b: Array, clean: Callable[[Array], Array]) -> Array:
    """A sequential sum; `clean` is what the machine does with every number it sees."""
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for k in range(a.shape[1]):
        total = clean(total + clean(clean(a[:, k, None]) * clean(b[k])))
    return total


def flush(values: Array) -> Array:
    """Subnormal numbers read as zero."""
    tiny = np.finfo(values.dtype).smallest_normal
    return np.where(np.abs(values) < tiny, values.dtype.type(0), values)


@settings(max_examples=120)
@given(st.data())
def test_honest_machines_are_never_convicted_nor_flagged(data: st.DataObject) -> None:
    """Whatever the data: ordinary numbers of any scale mixed with every special value."""
    m, k, n = (data.draw(st.integers(1, 9)) for _ in range(3))
    dtype = data.draw(st.sampled_from(DTYPES))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    width = data.draw(st.sampled_from([0, 5, 18, 37, 150]))
    share = data.draw(st.sampled_from([0.0, 0.1, 0.5]))

    def draw(*shape: int) -> Array:
        spread = min(width, 37) if dtype == "float32" else width
        values = rng.standard_normal(shape) * 10.0 ** rng.uniform(-spread, spread, shape)
        with np.errstate(all="ignore"):
            special = rng.choice(WIDE if dtype == "float64" else SPECIAL, shape)
            return np.where(rng.random(shape) < share, special, values).astype(dtype)

    a, b = draw(m, k), draw(k, n)
    check = ColumnBlockCheck.prepare(SECRET, 0, (0, n), [0, k], ArrayReader(a), ArrayReader(b))
    with np.errstate(all="ignore"):
        for tile in (a @ b, summed(a, b, lambda values: values)):
            judged = check.verify((0, m), tile)
            assert judged.outcome in ("accept", "repair"), judged
            assert judged.flagged == 0, judged
        # Where a subnormal number met a huge one our own row may be needed, never blame.
        assert check.verify((0, m), summed(a, b, flush)).outcome != "convict"


@settings(max_examples=120)
@given(st.data())
def test_what_is_kept_is_right(data: st.DataObject) -> None:
    """A tile of any numbers at all: what survives is within the check's own allowance."""
    m, k, n = (data.draw(st.integers(1, 9)) for _ in range(3))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    a, b = operands(rng, m, k, n, "float32")
    check = ColumnBlockCheck.prepare(SECRET, 0, (0, n), [0, k], ArrayReader(a), ArrayReader(b))
    tile = a @ b
    for _ in range(data.draw(st.integers(1, 3))):
        row, column = rng.integers(m), rng.integers(n)
        tile[row, column] += np.float32(10.0 ** rng.uniform(-9, 3))
    judged = check.verify((0, m), tile)
    if judged.outcome in ("accept", "repair"):
        error = np.abs(kept(tile, judged) - a.astype("f8") @ b.astype("f8"))
        state = check.state
        assert (error <= 8 * state.factor * state.scale[:, None] / state.weights).all()
