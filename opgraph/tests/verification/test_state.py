"""The kept state of a check."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgraph.verification import ArrayReader, ColumnBlockCheck
from opgraph.verification.state import BlockState, StateError

from .conftest import SECRET, Prepare


@pytest.fixture
def operands(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    a, b = rng.standard_normal((40, 60), dtype="f4"), rng.standard_normal((60, 30), dtype="f4")
    a[3], b[:, 4], a[5, 5] = 0, 0, np.nan
    return a, b


def test_a_kept_check_judges_as_the_first_one(
    operands: tuple[np.ndarray, np.ndarray], prepare: Prepare
) -> None:
    a, b = operands
    check = prepare(a, b, slice_cuts=[0, 32, 60], generation=2)
    kept = ColumnBlockCheck.from_bytes(check.to_bytes(), ArrayReader(a), ArrayReader(b))
    assert kept.to_bytes() == check.to_bytes()
    tile = a @ b
    tile[7, 7] += 1e-3
    first, again = check.verify((0, 40), tile), kept.verify((0, 40), tile)
    assert (first.outcome, first.residual) == (again.outcome, again.residual)
    assert kept.state.generation == 2


def test_a_check_of_another_product_is_refused(
    operands: tuple[np.ndarray, np.ndarray], prepare: Prepare
) -> None:
    a, b = operands
    kept = prepare(a, b).to_bytes()
    for other in ((a[:-1], b), (a[:, :-1], b[:-1]), (a, b[:, :5]), (a.astype("f8"), b)):
        with pytest.raises(StateError, match="another shape or dtype"):
            ColumnBlockCheck.from_bytes(kept, *map(ArrayReader, other))


@pytest.mark.parametrize("size", [0, 1, 15, 16, 40, -1])
def test_cut_bytes_are_refused(
    operands: tuple[np.ndarray, np.ndarray], prepare: Prepare, size: int
) -> None:
    with pytest.raises(StateError):
        BlockState.from_bytes(prepare(*operands).to_bytes()[:size])


def test_foreign_bytes_with_a_right_digest_are_refused() -> None:
    import hashlib

    for body in (b"", b"gpugoblin check 2\n", b"gpugoblin check 1\n\x02\x00\x00\x00{}"):
        digest = hashlib.blake2b(body, digest_size=16).digest()
        with pytest.raises(StateError):
            BlockState.from_bytes(body + digest)


@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_else(data: bytes) -> None:
    with pytest.raises(StateError):
        BlockState.from_bytes(data)


def test_one_changed_byte_is_noticed(
    operands: tuple[np.ndarray, np.ndarray], prepare: Prepare
) -> None:
    data = bytearray(prepare(*operands, secret=SECRET).to_bytes())
    data[len(data) // 2] ^= 1
    with pytest.raises(StateError, match="damaged"):
        BlockState.from_bytes(bytes(data))
