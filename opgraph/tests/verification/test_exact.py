"""The exact check of integer products: nothing wrong passes, nobody honest is accused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from opgraph.errors import ExecutionCancelled
from opgraph.tensors import INTEGERS
from opgraph.verification import exact
from opgraph.verification.choosing import check_for, found_sentence, planned_sentence, state_bytes
from opgraph.verification.exact import ExactCheck, Rounds
from opgraph.verification.product import ColumnBlockCheck
from opgraph.verification.reader import ArrayReader
from opgraph.verification.verdict import TileCheck

Array = NDArray[Any]
SECRET = bytes(range(32))


def numbers(dtype: str, shape: tuple[int, int], bits: int, seed: int) -> Array:
    info = np.iinfo(dtype)
    low, high = max(info.min, -(2**bits)), min(info.max, 2**bits - 1)
    return np.random.default_rng(seed).integers(low, high, shape, dtype, endpoint=True)


class Product:
    """A product of numbers of at most so many bits, and its prepared checks."""

    def __init__(
        self, dtype: str, shape: tuple[int, int, int] = (24, 60, 30), bits: int = 64, **options: Any
    ) -> None:
        m, k, n = shape
        self.a = numbers(dtype, (m, k), bits, 1)
        self.b = numbers(dtype, (k, n), bits, 2)
        self.right = self.a @ self.b
        readers = ArrayReader(self.a), ArrayReader(self.b)
        cuts = [0, n // 2, n]
        self.checks = ExactCheck.prepare_all(SECRET, cuts, [0, k], *readers, **options)

    @property
    def tile(self) -> Array:
        """Rows 4 to 20 of the second column block."""
        first, beyond = self.checks[1].columns
        return self.right[4:20, first:beyond].copy()

    def judge(self, tile: Array) -> TileCheck:
        return self.checks[1].verify((4, 20), tile)


FEW_BITS = {"int8": 0, "uint8": 1, "int16": 4, "uint16": 5}
CASES = [(dtype, 64) for dtype in INTEGERS] + [(d, FEW_BITS.get(d, 12)) for d in INTEGERS]


@pytest.mark.parametrize(("dtype", "bits"), CASES)
def test_the_right_tile_is_accepted_and_every_wrong_one_convicted(dtype: str, bits: int) -> None:
    item = Product(dtype, bits=bits)
    wraps = item.checks[0].rounds.bits is None
    assert wraps == (bits == 64)
    assert item.judge(item.tile).outcome == "accept"
    width = 8 * np.dtype(dtype).itemsize
    for bit in (0, width // 2, width - 1):
        wrong = item.tile
        mask = np.array(1 << bit, f"u{width // 8}").view(dtype)
        wrong[3, 5] ^= mask
        judged = item.judge(wrong)
        assert (judged.outcome, judged.code) == ("convict", "wrong_entry"), bit
        assert judged.entry is not None
        assert (judged.entry.row, judged.entry.column) == (3, 5)
        assert (judged.entry.got, judged.entry.want) == (wrong[3, 5], item.tile[3, 5])
        assert str(int(item.tile[3, 5])) in judged.reason
    for wrong in (np.zeros_like(item.tile), item.right[4:20, :15].copy(), item.tile + 1):
        assert item.judge(wrong).outcome == "convict"


@pytest.mark.parametrize("dtype", INTEGERS)
def test_errors_that_cancel_in_the_sum_of_a_row(dtype: str) -> None:
    """The worst ones: halves of the ring, which one vector misses every other time."""
    item = Product(dtype)
    half = np.array(1 << (8 * np.dtype(dtype).itemsize - 1), f"u{np.dtype(dtype).itemsize}")
    for columns in ([2], [2, 7], [0, 1, 2, 3]):
        wrong = item.tile
        wrong[5, columns] ^= half.view(dtype)
        assert item.judge(wrong).outcome == "convict"


def test_one_vector_misses_half_of_the_worst_errors_and_forty_none() -> None:
    """What the page says about the probability, counted."""
    missed = {1: 0, 40: 0}
    for seed in range(60):
        secret = seed.to_bytes(32, "little")
        a, b = (ArrayReader(numbers("int64", (4, 4), 64, seed + each)) for each in (0, 100))
        (check,) = ExactCheck.prepare_all(secret, [0, 4], [0, 4], a, b)
        tile = a.read(0, 4, 0, 4) @ b.read(0, 4, 0, 4)
        tile[1, 1] ^= np.int64(-(2**63))
        missed[40] += check.verify((0, 4), tile).outcome == "accept"
        first = np.zeros((4, 1), np.uint64)
        exact.add_lifted(first, tile, check.vectors[:, :1])
        missed[1] += bool((first == check.projection[:, :1]).all())
    assert missed[40] == 0
    assert 15 < missed[1] < 45


@pytest.mark.parametrize(
    ("dtype", "terms", "largest", "bits", "vectors"),
    [
        ("int8", 1, (11, 11), 7, 1),
        ("int8", 2, (8, 8), None, 40),
        ("uint8", 1, (15, 17), 8, 1),
        ("uint8", 1, (16, 16), None, 40),
        ("int32", 2048, (2**9, 2**10), 31, 2),
        ("int32", 2048, (2**10, 2**10), None, 40),
        ("int64", 2048, (2**20, 2**20), 52, 4),
        ("uint64", 1, (2**31, 2**31 - 1), 62, 40),
        ("uint64", 1, (2**31, 2**31), None, 40),
        ("int64", 5, (0, 7), 0, 1),
    ],
)
def test_how_many_vectors(
    dtype: str, terms: int, largest: tuple[int, int], bits: int | None, vectors: int
) -> None:
    rounds = Rounds.of(np.dtype(dtype), terms, largest)
    assert (rounds.bits, rounds.vectors) == (bits, vectors)
    assert rounds.dtype.kind == "u"
    assert rounds.bits is None or rounds.vectors * (63 - rounds.bits) >= 40


def test_a_large_number_below_the_sample_counts() -> None:
    """The sample shows nothing that wraps, the whole does."""
    a = np.ones((300, 4), np.int8)
    a[299, 3] = 100
    readers = ArrayReader(a), ArrayReader(np.full((4, 3), 2, np.int8))
    (check,) = ExactCheck.prepare_all(SECRET, [0, 3], [0, 4], *readers)
    assert check.rounds.bits is None
    tile = a @ np.full((4, 3), 2, np.int8)
    assert check.verify((0, 300), tile).outcome == "accept"


def test_entries_that_no_product_reaches_are_wrong_whatever_the_vectors_say() -> None:
    item = Product("int64", bits=8)
    bits = item.checks[1].rounds.bits
    assert bits is not None
    multiple = item.tile
    # An adversary who knew the vectors could still not use a multiple of the ring's size.
    multiple[0, 0] = 2**bits
    assert item.judge(multiple).outcome == "convict"


@given(
    dtype=st.sampled_from(INTEGERS),
    shape=st.tuples(st.integers(1, 30), st.integers(1, 30), st.integers(2, 30)),
    bits=st.integers(1, 64),
    where=st.tuples(st.integers(0, 999), st.integers(0, 999)),
    change=st.integers(1, 2**63 - 1),
)
@settings(max_examples=60)
def test_any_product_and_any_error(
    dtype: str, shape: tuple[int, int, int], bits: int, where: tuple[int, int], change: int
) -> None:
    item = Product(dtype, shape, bits)
    check = item.checks[-1]
    tile = item.right[:, check.columns[0] :].copy()
    assert check.verify((0, shape[0]), tile).outcome == "accept"
    wrong = tile.copy()
    at = where[0] % tile.shape[0], where[1] % tile.shape[1]
    wrong[at] += np.array(change, np.uint64).astype(dtype)
    expected = "accept" if wrong[at] == tile[at] else "convict"
    assert check.verify((0, shape[0]), wrong).outcome == expected


def test_blocks_slabs_and_generations(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Product("int32", (24, 200, 30))
    monkeypatch.setattr(exact, "_SLAB_WORDS", 700)
    monkeypatch.setattr("opgraph.verification.reader.CHUNK_ELEMENTS", 64)
    parts = Product("int32", (24, 200, 30))
    for one, other in zip(whole.checks, parts.checks, strict=True):
        np.testing.assert_array_equal(one.projection, other.projection)
    alone = ExactCheck.prepare(SECRET, 1, (15, 30), [0, 200], parts.checks[0].a, parts.checks[0].b)
    np.testing.assert_array_equal(alone.projection, whole.checks[1].projection)
    later = Product("int32", (24, 200, 30), generation=1)
    assert (later.checks[1].vectors != whole.checks[1].vectors).any()
    assert later.judge(later.tile).outcome == "accept"


def test_wrong_shapes_and_arguments() -> None:
    item = Product("int32")
    assert item.judge(item.tile.astype(np.int64)).code == "wrong_shape"
    assert item.judge(item.tile[:-1]).code == "wrong_shape"
    with pytest.raises(ValueError, match="no rows"):
        item.checks[0].verify((0, 25), item.tile)
    a, b = ArrayReader(item.a), ArrayReader(item.b)
    for left, right in ((a, ArrayReader(item.b.astype(np.int64))), (a, a)):
        with pytest.raises(ValueError, match=r"product|dtype"):
            ExactCheck.prepare_all(SECRET, [0, 30], [0, 60], left, right)
    floats = ArrayReader(np.ones((3, 3)))
    with pytest.raises(ValueError, match="dtype"):
        ExactCheck.prepare_all(SECRET, [0, 3], [0, 3], floats, floats)
    with pytest.raises(ValueError, match="Column"):
        ExactCheck.prepare_all(SECRET, [0, 31], [0, 60], a, b)
    with pytest.raises(ValueError, match="Slices"):
        ExactCheck.prepare_all(SECRET, [0, 30], [0, 59], a, b)
    with pytest.raises(ExecutionCancelled):
        ExactCheck.prepare_all(SECRET, [0, 30], [0, 60], a, b, cancelled=lambda: True)


def test_operands_that_changed_meanwhile_convict_nobody() -> None:
    a, b = np.ones((4, 4), np.int32), np.ones((4, 4), np.int32)
    (check,) = ExactCheck.prepare_all(SECRET, [0, 4], [0, 4], ArrayReader(a), ArrayReader(b))
    a[0, 0] = 7
    judged = check.verify((0, 4), a @ b)
    assert (judged.outcome, judged.code) == ("reissue", "unproven")


def test_which_check_and_what_it_says() -> None:
    assert check_for("int8") is ExactCheck
    assert check_for("float64") is ColumnBlockCheck
    assert state_bytes("int8", 10) > state_bytes("float32", 10)
    item = Product("uint16")
    assert "2^-40" in found_sentence(item.checks)
    assert "modulo 2^16" in planned_sentence([0, 60], 30, "uint16")
    assert "float64" in planned_sentence([0, 60], 30, "float32")
