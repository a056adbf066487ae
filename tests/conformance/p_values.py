"""How likely a perfect generator is to be at least this far from what is expected: p-values, from
the formulas in Knuth, The Art of Computer Programming 2, section 3.3.1, and Abramowitz and Stegun,
Handbook of Mathematical Functions, chapter 26.
"""

from __future__ import annotations

import math
from typing import Any

import numpy


def of_normal(z: float) -> float:
    """Of a standard normal number, on either side."""
    return math.erfc(abs(z) / math.sqrt(2))


def of_mean(values: Any, mean: float, variance: float) -> float:
    """Of the mean of independent values."""
    return of_normal((float(numpy.mean(values)) - mean) * math.sqrt(values.size / variance))


def of_chi_square(statistic: float, freedom: int) -> float:
    """On either side: counts that are too even speak against a generator, too."""
    upper = _gamma_above(freedom, statistic / 2)
    return min(1.0, 2 * min(upper, 1 - upper))


def of_counts(counts: Any, probabilities: Any, freedom: int | None = None) -> float:
    """Pearson's test: of counts whose probabilities are known. At least 5 are expected of each."""
    wanted = probabilities * counts.sum()
    assert wanted.min() >= 5
    statistic = float((((counts - wanted) ** 2) / wanted).sum())
    return of_chi_square(statistic, counts.size - 1 if freedom is None else freedom)


def of_even_counts(counts: Any, freedom: int | None = None) -> float:
    """The same where all are equally likely."""
    return of_counts(counts, numpy.full(counts.shape, 1 / counts.size), freedom)


def of_distribution(probabilities: Any) -> float:
    """Kolmogorov and Smirnov: of values that were mapped by their own distribution function, so
    that they are uniform. The limit for many values, good from a thousand on."""
    ordered = numpy.sort(probabilities)
    count = ordered.size
    places = numpy.arange(count) / count
    farthest = float(max((ordered - places).max(), (places + 1 / count - ordered).max()))
    lam = farthest * math.sqrt(count)
    if lam < 0.2:  # nearer than any generator but one that counts; the series needs many terms
        return 0.0
    terms = ((-1.0) ** (k - 1) * math.exp(-2 * k * k * lam * lam) for k in range(1, 101))
    upper = min(1.0, max(0.0, 2 * math.fsum(terms)))
    return 2 * min(upper, 1 - upper)


def of_correlation(left: Any, right: Any, mean: float, variance: float) -> float:
    """Of the product of pairs that are independent, with known mean and variance each."""
    product = float(numpy.dot(left - mean, right - mean)) / left.size
    return of_normal(product / variance * math.sqrt(left.size))


def _gamma_above(freedom: int, x: float) -> float:
    """Q(freedom / 2, x), by the recurrence down to Q(1/2, x) or Q(1, x)."""
    if x <= 0:
        return 1.0
    start = 0.0 if freedom % 2 == 0 else math.erfc(math.sqrt(x))
    powers = numpy.arange(freedom // 2) + (freedom % 2) / 2
    logs = [power * math.log(x) - x - math.lgamma(power + 1) for power in powers.tolist()]
    return min(1.0, start + math.fsum(map(math.exp, logs)))
