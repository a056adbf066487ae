"""Statistical tests of random numbers: arrays -> name of the test -> p-value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist
from typing import Any, TypeAlias

import numpy

from tests.conformance.p_values import (
    of_correlation,
    of_counts,
    of_distribution,
    of_even_counts,
    of_mean,
    of_normal,
)

PValues: TypeAlias = dict[str, float]
LAGS = (1, 2, 3, 4, 7, 64)
_SIDE = 31
"""Cells along each side of a grid of pairs."""


def of_words(words: Any) -> PValues:
    """Of uint64: each bit is set in half of them, bytes are even, neighbours differ in 32 bits."""
    places = words.view(numpy.uint8).reshape(-1, 8).T
    counts = numpy.array([numpy.bincount(each, minlength=256) for each in places], numpy.int64)
    ones = counts @ numpy.unpackbits(numpy.arange(256, dtype=numpy.uint8)[:, None], axis=1)
    z = (ones.ravel() - words.size / 2) / math.sqrt(words.size / 4)
    changed = numpy.bitwise_count(words[1:] ^ words[:-1])
    return {
        "each bit": _worst(of_normal(float(each)) for each in z),
        "bytes": of_even_counts(counts.sum(axis=0)),
        "bits that change": of_mean(changed, 32, 16),
    }


def of_uniform(values: Any) -> PValues:
    """Of floats in [0, 1)."""
    wide = values.astype(numpy.float64)
    triples = wide[: wide.size // 3 * 3].reshape(-1, 3)
    return {
        "bins": of_even_counts(numpy.bincount((wide * 1001).astype(numpy.int64), minlength=1001)),
        "distribution": of_distribution(wide),
        "mean": of_mean(wide, 1 / 2, 1 / 12),
        "square": of_mean(wide**2, 1 / 3, 4 / 45),
        "gaps": _gaps(wide < 0.1, 0.1),
        "pairs": _grid(wide[0::2], wide[1::2]),
        "triples": _cube(triples),
        "order of three": _order(triples),
        **_lags(wide, 1 / 2, 1 / 12),
    }


def of_normal_numbers(values: Any) -> PValues:
    """Of standard normals."""
    wide = values.astype(numpy.float64)
    edges = numpy.array([NormalDist().inv_cdf(each / 1001) for each in range(1, 1001)])
    probabilities = 0.5 * (1 + _erf(wide / math.sqrt(2)))
    far = [float((abs(wide) > bound).sum()) for bound in (2, 3)]
    chance = [math.erfc(bound / math.sqrt(2)) for bound in (2, 3)]
    return {
        "bins": of_even_counts(numpy.bincount(numpy.searchsorted(edges, wide), minlength=1001)),
        "distribution": of_distribution(probabilities),
        "mean": of_mean(wide, 0, 1),
        "square": of_mean(wide**2, 1, 2),
        "third power": of_mean(wide**3, 0, 15),
        "fourth power": of_mean(wide**4, 3, 96),
        "tails": _worst(
            of_normal((count - p * wide.size) / math.sqrt(p * (1 - p) * wide.size))
            for count, p in zip(far, chance, strict=True)
        ),
        "pairs": _grid(probabilities[0::2], probabilities[1::2]),
        "pairs of squares": of_correlation(wide[:-1] ** 2, wide[1:] ** 2, 1, 2),
        **_lags(wide, 0, 1),
    }


def of_bernoulli(values: Any, probability: float) -> PValues:
    """Of booleans that are true with that probability."""
    wide = values.astype(numpy.float64)
    variance = probability * (1 - probability)
    return {
        "mean": of_mean(wide, probability, variance),
        "gaps": _gaps(values, probability),
        **_lags(wide, probability, variance),
    }


def of_permutation(values: Any) -> PValues:
    """Of one long permutation of 0, 1, ..."""
    count = values.size
    if not numpy.array_equal(numpy.sort(values), numpy.arange(count)):
        return {"each once": 0.0}
    rises = int((values[1:] > values[:-1]).sum())
    here = numpy.arange(count)
    # Rows and columns have fixed sums, so as many degrees of freedom fewer.
    cells = _cells(here / count, values / count)
    return {
        "each once": 1.0,
        "rises": of_normal((rises - (count - 1) / 2) / math.sqrt((count + 1) / 12)),
        "place and value": of_even_counts(cells, (_SIDE - 1) ** 2),
        "order of three": _order(values[: count // 3 * 3].reshape(-1, 3)),
        "values that stay": _poisson_of_one(int((values == here).sum())),
    }


def of_short_permutations(values: Any) -> PValues:
    """Of many permutations of five: each of the 120 as often."""
    assert values.shape[1] == 5
    return {"all 120": of_even_counts(_ranks(values))}


def of_two_streams(left: Any, right: Any) -> PValues:
    """Of words (uint64) at the same places of two streams."""
    one, other = (_as_uniform(each) for each in (left, right))
    different = left ^ right
    return {
        **{f"both: {name}": p for name, p in of_words(different).items()},
        "grid": _grid(one, other),
        "correlation": of_correlation(one, other, 1 / 2, 1 / 12),
        "one ahead": of_correlation(one[1:], other[:-1], 1 / 2, 1 / 12),
        "one behind": of_correlation(one[:-1], other[1:], 1 / 2, 1 / 12),
        "distance": of_mean(numpy.bitwise_count(different), 32, 16),
    }


def _as_uniform(words: Any) -> Any:
    return (words >> numpy.uint64(11)) * 2.0**-53


def _worst(p_values: Iterable[float]) -> float:
    """The smallest of several, times their number (Bonferroni)."""
    found = list(p_values)
    return min(1.0, min(found) * len(found))


def _lags(values: Any, mean: float, variance: float) -> PValues:
    return {
        f"lag {lag}": of_correlation(values[:-lag], values[lag:], mean, variance) for lag in LAGS
    }


def _cells(left: Any, right: Any) -> Any:
    places = (left * _SIDE).astype(numpy.int64) * _SIDE + (right * _SIDE).astype(numpy.int64)
    return numpy.bincount(numpy.minimum(places, _SIDE**2 - 1), minlength=_SIDE**2)


def _grid(left: Any, right: Any) -> float:
    """Pairs of uniform numbers fill the square evenly."""
    pairs = min(left.size, right.size)
    return of_even_counts(_cells(left[:pairs], right[:pairs]))


def _cube(triples: Any) -> float:
    """Triples of uniform numbers fill the cube evenly."""
    places = (triples * 12).astype(numpy.int64) @ numpy.array([144, 12, 1])
    return of_even_counts(numpy.bincount(places, minlength=12**3))


def _gaps(hits: Any, probability: float) -> float:
    """Knuth's gap test: how many misses lie between two hits."""
    gaps = numpy.diff(numpy.flatnonzero(hits)) - 1
    # The last class holds all longer ones; each of them expects 5 or more.
    most = 1
    while most < 60 and gaps.size * probability * (1 - probability) ** most >= 5:
        most += 1
    counts = numpy.bincount(numpy.minimum(gaps, most), minlength=most + 1)
    chances = probability * (1 - probability) ** numpy.arange(most)
    return of_counts(counts, numpy.append(chances, (1 - probability) ** most))


def _order(rows: Any) -> float:
    """Each order of the numbers of a row is as likely."""
    return of_even_counts(_ranks(rows))


def _ranks(rows: Any) -> Any:
    """How often each order of the numbers of a row occurs: the count of smaller ones to the right
    of each is a digit of its number."""
    width = rows.shape[1]
    number = numpy.zeros(len(rows), numpy.int64)
    for place in range(width):
        smaller = (rows[:, place + 1 :] < rows[:, place : place + 1]).sum(axis=1)
        number = number * (width - place) + smaller
    return numpy.bincount(number, minlength=math.factorial(width))


def _poisson_of_one(count: int) -> float:
    """Of a number that is Poisson with mean 1: so many or more (20 are as unlikely as more)."""
    few = range(min(count, 20))
    return 1 - math.fsum(math.exp(-1) / math.factorial(each) for each in few)


def _erf(values: Any) -> Any:
    return numpy.fromiter(map(math.erf, values.tolist()), numpy.float64, values.size)
