"""The figures of a floating-point format that the check's bounds are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]

OWN_UNIT = 2.0**-53
"""Unit roundoff of the float64 in which the check itself computes."""
BLOCK = 256
"""So many terms the check may sum in float32 before it goes on in float64."""

SINGLE_RANGE = 2.0**40
"""Weights within this and its inverse leave float32 room for every product with them."""


@dataclass(frozen=True)
class Precision:
    """A format: unit roundoff, smallest normal, smallest subnormal and largest number."""

    dtype: np.dtype[Any]
    unit: float
    tiny: float
    least: float
    largest: float

    @staticmethod
    @cache
    def of(dtype: np.dtype[Any]) -> Precision:
        """The figures of float32 or float64, in native byte order. ValueError for another dtype."""
        native = np.dtype(dtype).newbyteorder("=")
        if native not in (np.dtype(np.float32), np.dtype(np.float64)):
            raise ValueError(f"Products of {dtype} can't be checked; float32 and float64 can.")
        info = np.finfo(native)
        return Precision(
            native,
            unit=float(info.eps) / 2,
            tiny=float(info.smallest_normal),
            least=float(info.smallest_subnormal),
            largest=float(info.max),
        )


def gamma(terms: int, unit: float) -> float:
    """Higham's gamma_n = n u / (1 - n u): bounds the relative error of a sum of n products."""
    product = terms * unit
    return product / (1 - product) if product < 1 else math.inf


def summation_terms(slice_cuts: Sequence[int]) -> int:
    """k + K/k: roundings that one term meets when K is summed in slices that are then added."""
    longest = max(end - start for start, end in pairwise(slice_cuts))
    return longest + len(slice_cuts) - 1


def sums_in_single(slice_cuts: Sequence[int], precision: Precision) -> bool:
    """Whether the check may sum blocks of float32 terms in float32: where their rounding is small
    beside that of the product."""
    return precision.unit > OWN_UNIT and summation_terms(slice_cuts) > 2 * BLOCK


def relative_scale(slice_cuts: Sequence[int], columns: int, precision: Precision) -> float:
    """u sqrt(K), widened by what the check's own sums over K and N can add.

    Where K is cut, k + K/k - 1 stands for K: that many roundings a term meets, and the smaller
    scale keeps inputs of lower precision visible on one-signed data. Blocks of n terms in float32
    count as n/6 roundings in each of B X, A (B X) and C X. What float64 adds is 1e-9 of the whole
    for float32; for float64 it is as large."""
    roundings = summation_terms(slice_cuts) - 1
    blocks = BLOCK / 2 if sums_in_single(slice_cuts, precision) else 0.0
    own = OWN_UNIT * (math.sqrt(slice_cuts[-1]) + math.sqrt(columns))
    return precision.unit * math.sqrt(roundings + blocks) + own
