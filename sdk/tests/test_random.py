"""`gpugoblin.random`: keys are all there is; the same key gives the same numbers."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from gpugoblin import errors, local, random, xp


def _numbers(x: Any) -> list[Any]:
    return x.compute().tolist()


def test_a_stream_is_numpys_philox_of_the_key() -> None:
    seed = 2**64 * 7 + 5
    theirs = numpy.random.Philox(key=[5, 7], counter=[0, 0, 0, 0])
    # numpy counts before it makes a block, the catalogue after: the first block is that of 0.
    theirs = numpy.random.Philox(key=[5, 7], counter=[2**64 - 1] * 4)
    assert random.key(seed).compute().tolist() == [5, 7]
    ours = random.bits(random.key(seed), 8).compute()
    numpy.testing.assert_array_equal(ours, theirs.random_raw(8))


def test_the_same_key_and_offset_give_the_same_numbers() -> None:
    key = random.key(3)
    whole = random.bits(key, (12,)).compute()
    assert random.blocks((4,)) == 1
    assert random.blocks((2, 3)) == 2
    numpy.testing.assert_array_equal(random.bits(key, 4, offset=1).compute(), whole[4:8])
    lazy = random.bits(key, 4, offset=xp.asarray(2)).compute()
    numpy.testing.assert_array_equal(lazy, whole[8:])


def test_keys_that_are_split_differ_and_are_those_that_are_folded_in() -> None:
    key = random.key(11)
    keys = random.split(key, 5)
    found = {tuple(_numbers(each)) for each in (key, *keys)}
    assert len(found) == 6
    for number, each in enumerate(keys):
        assert _numbers(each) == _numbers(random.fold_in(key, number))
        assert _numbers(each) == _numbers(random.fold_in(key, xp.asarray(number)))
    streams = {tuple(_numbers(random.bits(each, 4))) for each in keys}
    assert len(streams) == 5


def test_uniform_normal_and_bernoulli() -> None:
    key = random.key(2026)
    for dtype in (numpy.float32, numpy.float64):
        uniform = random.uniform(key, (50_000,), dtype=dtype).compute()
        assert uniform.dtype == dtype
        assert (uniform >= 0).all()
        assert (uniform < 1).all()
        assert abs(uniform.mean() - 0.5) < 5 * 12**-0.5 / 50_000**0.5
        normal = random.normal(key, (200, 250), dtype=dtype).compute()
        assert abs(normal.mean()) < 5 / 50_000**0.5
        assert abs(normal.std() - 1) < 0.02
    rain = random.bernoulli(key, 0.3, 50_000).compute()
    assert rain.dtype == numpy.bool
    assert abs(rain.mean() - 0.3) < 5 * (0.21 / 50_000) ** 0.5
    assert not random.bernoulli(key, 0, 99).compute().any()
    assert random.bernoulli(key, 1.0, 99).compute().all()


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint16", "uint64"])
def test_integers_are_in_their_range_and_all_come(dtype: str) -> None:
    low = 0 if dtype[0] == "u" else -3
    found = random.randint(random.key(1), low, 5, (4_000,), dtype=dtype).compute()
    assert found.dtype == dtype
    assert set(found.tolist()) == set(range(low, 5))
    counts = numpy.bincount(found.astype(int) - low)
    expected = 4_000 / counts.size
    assert abs(counts - expected).max() < 6 * expected**0.5


def test_the_widest_ranges_of_integers() -> None:
    key = random.key(9)
    whole = random.randint(key, -(2**62), 2**62, (2_000,)).compute()
    assert whole.min() < -(2**61)
    assert whole.max() > 2**61
    top = random.randint(key, 2**64 - 4, 2**64, (99,), dtype="uint64").compute()
    assert set(top.tolist()) == {2**64 - 4, 2**64 - 3, 2**64 - 2, 2**64 - 1}


def test_permutations_of_numbers_and_of_slices() -> None:
    key = random.key(4)
    order = random.permutation(key, 50).compute()
    assert sorted(order.tolist()) == list(range(50))
    assert order.tolist() != list(range(50))
    x = numpy.arange(150).reshape(3, 50)
    found = random.permutation(key, local.array(x), axis=1).compute()
    numpy.testing.assert_array_equal(found, x[:, order])
    assert random.permutation(key, 0).compute().shape == (0,)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda key: random.key(-1), "from 0 to"),
        (lambda key: random.key(2**128), "from 0 to"),
        (lambda key: random.key("seed"), "integer"),
        (lambda key: random.bits(7, 3), "A key is"),
        (lambda key: random.bits(xp.zeros(2), 3), "A key is"),
        (lambda key: random.bits(key, -1), "negative"),
        (lambda key: random.bits(key, 3, offset=-1), "offset=-1"),
        (lambda key: random.bits(key, 3, offset=2**63), "offset="),
        (lambda key: random.bits(key, 3, offset=xp.zeros(2, dtype=xp.int64)), "one integer"),
        (lambda key: random.fold_in(key, -1), "number=-1"),
        (lambda key: random.fold_in(key, xp.asarray(1.0)), "integers"),
        (lambda key: random.split(key, 0), "1 to 65,536"),
        (lambda key: random.uniform(key, 3, dtype="float16"), "astype"),
        (lambda key: random.normal(key, 3, dtype="int8"), "float32 or float64"),
        (lambda key: random.bernoulli(key, 1.5, 3), "probability"),
        (lambda key: random.bernoulli(key, numpy.nan, 3), "probability"),
        (lambda key: random.randint(key, 3, 3), "no int64"),
        (lambda key: random.randint(key, 0, 200, dtype="int8"), "no int8"),
        (lambda key: random.randint(key, -(2**63), 2**63), "2\\^63"),
        (lambda key: random.randint(key, 0, 2, dtype="float32"), "integers"),
        (lambda key: random.permutation(key, -1), "no -1"),
        (lambda key: random.permutation(key, xp.asarray(3)), "axes"),
    ],
)
def test_arguments_that_do_not_fit(call: Any, said: str) -> None:
    with pytest.raises(errors.GoblinError, match=said):
        call(random.key(0))
