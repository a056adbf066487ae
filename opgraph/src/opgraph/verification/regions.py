"""Which rows of A and columns of B the secret vectors cover, and which need a look by entry."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opgraph.verification.precision import Floats, Precision, gamma

REGULAR, ZERO, DIRECT = 0, 1, 2
"""Covered by the vectors; all zero, so C must be zero there; compared entry by entry."""

Kinds = NDArray[np.uint8]

_RANGE = 400.0
"""Norms within 2^+-400 keep every product of squares inside float64's range."""
_FLUSH_MARGIN = 26.0
"""Rows and columns with a norm, and columns whose largest |a_i| |b_j| is, below 2^26 K times the
smallest normal are compared by entry: elsewhere flushing to zero changes less than rounding."""
_SLACK = 1e-6


@dataclass(frozen=True)
class Regions:
    """The kind of every row of A and of every column of one block of B."""

    rows: Kinds
    columns: Kinds


def regions(log2_a: Floats, log2_b: Floats, terms: int, precision: Precision) -> Regions:
    """Sort rows and columns by the logarithms of their norms over `terms` entries."""
    near_subnormal = _flush_level(terms, precision)
    rows, columns = _by_range(log2_a), _by_range(log2_b)
    for kinds, norms in ((rows, log2_a), (columns, log2_b)):
        kinds[(kinds == REGULAR) & (norms < near_subnormal)] = DIRECT
    _cover_overflow(rows, columns, log2_a, log2_b, _overflow_level(terms, precision))
    columns[(columns == REGULAR) & (log2_b < _tiny_level(rows, log2_a, terms, precision))] = DIRECT
    return Regions(rows, columns)


def columns_before_a(log2_b: Floats) -> Kinds:
    """The kinds of columns as far as B alone shows them."""
    return _by_range(log2_b)


def _by_range(norms: Floats) -> Kinds:
    kinds = np.where(np.abs(norms) <= _RANGE, REGULAR, DIRECT).astype(np.uint8)
    kinds[norms == -np.inf] = ZERO
    return kinds


def _overflow_level(terms: int, precision: Precision) -> float:
    """log2(|a_i| |b_j|) below which no order of summation of entry (i, j) can overflow."""
    growth = math.log2(1 + gamma(terms, precision.unit)) if terms * precision.unit < 1 else 1.0
    return math.log2(precision.largest) - growth - _SLACK


def _tiny_level(rows: Kinds, log2_a: Floats, terms: int, precision: Precision) -> float:
    regular = log2_a[rows == REGULAR]
    if not regular.size:
        return -math.inf
    return _flush_level(terms, precision) - float(regular.max())


def _flush_level(terms: int, precision: Precision) -> float:
    return math.log2(precision.tiny) + _FLUSH_MARGIN + math.log2(terms)


def _cover_overflow(
    rows: Kinds, columns: Kinds, log2_a: Floats, log2_b: Floats, level: float
) -> None:
    """Mark rows and columns DIRECT, as few as a cut by norm allows, until no entry can overflow."""
    high = np.sort(log2_a[rows == REGULAR])[::-1]
    wide = np.sort(log2_b[columns == REGULAR])
    if not (high.size and wide.size) or high[0] + wide[-1] < level:
        return
    # With the `cut` largest rows taken out, the columns that still overflow with the next row.
    cuts = np.arange(len(high) + 1)
    remaining = np.append(high, -np.inf)
    needed = len(wide) - np.searchsorted(wide, level - remaining)
    best = int(np.argmin(cuts / len(rows) + needed / len(columns)))
    rows[(rows == REGULAR) & (log2_a > remaining[best])] = DIRECT
    left = log2_a[rows == REGULAR].max(initial=-np.inf)
    columns[(columns == REGULAR) & (log2_b >= level - left)] = DIRECT
