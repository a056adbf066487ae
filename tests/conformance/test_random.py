"""The statistical tests on few draws (`make conformance` makes 10^7), and generators that are bad,
each of which a test must see.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from tests.conformance import random_tests
from tests.conformance.p_values import of_chi_square, of_distribution, of_normal
from tests.conformance.random_part import LEVEL, rows, too_small
from tests.conformance.random_tests import PValues

FEW = 30_000


def generator() -> numpy.random.Generator:
    return numpy.random.default_rng(5)


def test_p_values_are_those_of_the_tables() -> None:
    """Abramowitz and Stegun, tables 26.7 and 26.8; Kolmogorov's limit at 1.3581 is 0.05."""
    assert of_normal(1.959964) == pytest.approx(0.05, rel=1e-5)
    assert of_chi_square(18.3070, 10) == pytest.approx(2 * 0.05, rel=1e-4)
    assert of_chi_square(3.84146, 1) == pytest.approx(2 * 0.05, rel=1e-4)
    assert of_chi_square(70.0649, 100) == pytest.approx(2 * 0.01, rel=1e-3)
    even = (numpy.arange(10_000) + 0.5) / 10_000
    assert of_distribution(even) == 0.0
    assert of_distribution(even * (1 - 0.013531)) == pytest.approx(2 * 0.05, rel=0.02)


def test_the_catalogues_random_numbers_pass() -> None:
    found = list(rows(FEW))
    assert [row for row in found if row.wrong] == []
    assert 100 < sum(row.ran for row in found) < 200


def randu() -> Any:
    """x -> 65539 x mod 2^31: IBM's, whose triples lie on 15 planes."""
    found, word = numpy.empty(FEW), 1
    for place in range(FEW):
        word = word * 65539 % 2**31
        found[place] = word / 2**31
    return found


def weyl() -> Any:
    return numpy.arange(FEW) * ((5**0.5 - 1) / 2) % 1


def twelve() -> Any:
    """The sum of twelve uniform numbers, less 6: tails too thin."""
    return generator().random((10 * FEW, 12)).sum(axis=1) - 6


def naive_shuffles() -> Any:
    """Each place changed with any place: the well-known mistake."""
    random, found = generator(), numpy.tile(numpy.arange(5), (FEW, 1))
    for place in range(5):
        other = random.integers(0, 5, FEW)
        every = numpy.arange(FEW)
        found[every, place], found[every, other] = found[every, other], found[every, place].copy()
    return found


def words() -> Any:
    return generator().integers(0, 2**64, FEW, dtype=numpy.uint64)


def sticky() -> Any:
    """True as often as it should be, but in runs."""
    return numpy.repeat(generator().random(FEW // 2) < 0.3, 2)


BAD: dict[str, Callable[[], PValues]] = {
    "a bit that is always 0": lambda: random_tests.of_words(words() & ~numpy.uint64(1 << 17)),
    "words that count": lambda: random_tests.of_words(numpy.arange(FEW, dtype=numpy.uint64)),
    "RANDU": lambda: random_tests.of_uniform(randu()),
    "a sequence that is too even": lambda: random_tests.of_uniform(weyl()),
    "uniform, but squared": lambda: random_tests.of_uniform(generator().random(FEW) ** 1.05),
    "up to 0.99 only": lambda: random_tests.of_uniform(generator().random(FEW) * 0.99),
    "each twice": lambda: random_tests.of_uniform(numpy.repeat(generator().random(FEW // 2), 2)),
    "sums of twelve": lambda: random_tests.of_normal_numbers(twelve()),
    "normal, a little wide": lambda: random_tests.of_normal_numbers(
        generator().standard_normal(FEW) * 1.03
    ),
    "a coin that is off": lambda: random_tests.of_bernoulli(generator().random(FEW) < 0.32, 0.3),
    "a coin that sticks": lambda: random_tests.of_bernoulli(sticky(), 0.3),
    "no permutation": lambda: random_tests.of_permutation(generator().integers(0, FEW, FEW)),
    "the identity": lambda: random_tests.of_permutation(numpy.arange(FEW)),
    "a rotation": lambda: random_tests.of_permutation(numpy.roll(numpy.arange(FEW), 777)),
    "shuffled in halves": lambda: random_tests.of_permutation(
        numpy.concatenate([generator().permutation(FEW // 2) + at for at in (0, FEW // 2)])
    ),
    "naive shuffles": lambda: random_tests.of_short_permutations(naive_shuffles()),
    "one stream twice": lambda: random_tests.of_two_streams(words(), words()),
    "a stream and its complement": lambda: random_tests.of_two_streams(words(), ~words()),
    "a stream one step on": lambda: random_tests.of_two_streams(words(), numpy.roll(words(), 1)),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_generator_fails(name: str) -> None:
    assert too_small(BAD[name]())


def test_a_good_one_of_numpy_passes_the_same_tests() -> None:
    random = generator()
    shuffles = random.permuted(numpy.tile(numpy.arange(5), (FEW, 1)), axis=1)
    found = [
        random_tests.of_words(words()),
        random_tests.of_uniform(random.random(FEW)),
        random_tests.of_normal_numbers(random.standard_normal(FEW)),
        random_tests.of_bernoulli(random.random(FEW) < 0.3, 0.3),
        random_tests.of_permutation(random.permutation(FEW)),
        random_tests.of_short_permutations(shuffles),
        random_tests.of_two_streams(words(), random.integers(0, 2**64, FEW, dtype=numpy.uint64)),
    ]
    assert [too_small(each) for each in found] == [[]] * len(found)
    assert all(0 <= p <= 1 for each in found for p in each.values())


def test_nan_is_no_pass() -> None:
    found = {"a": float("nan"), "b": LEVEL, "c": LEVEL / 2}
    assert too_small(found) == ["a: p = nan", f"c: p = {LEVEL / 2:.2g}"]
