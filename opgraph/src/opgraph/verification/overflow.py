"""Infinities where the product itself is finite: which an order of summation may give.

The partial sums of entry (i, j) lie between -N and P, the sums of its negative and its positive
terms. Where P reaches the largest number some order gives +inf; where N does, -inf; NaN takes both.
How likely an order that does not look at the data is to do so follows from the law of a random
walk that must end at the product: exp(-2 L (L - ref) / spread^2) passes L on its way."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from opgraph.verification.entries import Entries
from opgraph.verification.precision import OWN_UNIT, Array, Floats, Precision, gamma

Flags = NDArray[np.bool_]

LEAST_CHANCE = 1e-7
"""Below this chance an infinity in one entry is not taken for an accident of the order."""


@dataclass(frozen=True)
class Overflow:
    """Per entry whether a partial sum can pass the largest number upwards and downwards, and how
    likely it is to."""

    up: Flags
    down: Flags
    chance_up: Floats
    chance_down: Floats

    def possible(self, got: Array) -> Flags:
        """Where `got` is an infinity or NaN that some order of summation gives."""
        return _select(got, self.up, self.down, self.up & self.down)

    def chance(self, got: Array) -> Floats:
        """How likely the infinity or NaN in `got` is; 0 where it is a number."""
        return _select(
            got, self.chance_up, self.chance_down, np.minimum(self.chance_up, self.chance_down)
        )

    @property
    def either(self) -> Floats:
        """How likely an infinity of either sign is."""
        return np.minimum(self.chance_up + self.chance_down, 1.0)


def overflow(entries: Entries, roundings: int, terms: int, precision: Precision) -> Overflow:
    """`roundings`: those that a term meets, k + K/k; `terms`: K.

    Entries of non-finite data never overflow."""
    up, down = (_reaches(entries, sign, roundings, terms, precision) for sign in (1, -1))
    chances = [_chance(entries, sign, precision.largest) for sign in (1, -1)]
    return Overflow(up, down, np.where(up, chances[0], 0.0), np.where(down, chances[1], 0.0))


def plausible_count(expected: float) -> float:
    """So many infinities are no more than chance gives when `expected` are."""
    return expected + 6 * math.sqrt(expected) + 1


def _reaches(
    entries: Entries, sign: int, roundings: int, terms: int, precision: Precision
) -> Flags:
    """Where the terms of one sign reach the largest number, rounding on both sides included."""
    growth = 1 + gamma(roundings, precision.unit)
    same_sign = growth * (entries.magnitude / 2 + sign * entries.values / 2)
    own = gamma(terms, OWN_UNIT) * entries.magnitude
    known = np.isfinite(entries.values) & ~np.isnan(entries.magnitude)
    return known & (same_sign + own >= precision.largest)


def _chance(entries: Entries, sign: int, largest: float) -> Floats:
    """The law for many small steps; where one term alone may pass the largest number, anything."""
    room = np.maximum(largest - sign * entries.values, 0)
    exponent = -2 * (largest / entries.spread) * (room / entries.spread)
    chance = np.exp(exponent).astype(np.float64)
    return np.where(entries.largest_term >= largest, 1.0, chance)


def _select(got: Array, up: Array, down: Array, both: Array) -> Array:
    none = np.zeros_like(both)
    infinite = np.where(got == np.inf, up, np.where(got == -np.inf, down, none))
    return np.where(np.isnan(got), both, infinite)
