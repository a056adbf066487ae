"""Operands on which honest machines differ most, and on which a careless check fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Generator = np.random.Generator
Pair = tuple[Array, Array]
Shape = tuple[int, int, int]

_SMALL = {"float32": 1e-40, "float64": 1e-310}
_LARGE = {"float32": 1e19, "float64": 1e154}


@dataclass(frozen=True)
class Case:
    """One product: kind of data, shape (M, K, N), dtype."""

    kind: str
    shape: Shape
    dtype: str

    @property
    def name(self) -> str:
        m, k, n = self.shape
        return f"{self.kind}-{m}x{k}x{n}-{self.dtype}"

    @property
    def slice_cuts(self) -> list[int]:
        """K cut as the planner cuts it."""
        return [*range(0, self.shape[1], 2048), self.shape[1]]

    def operands(self, seed: int = 0) -> Pair:
        """A and B; the same for the same case and seed."""
        rng = np.random.default_rng([seed, *self.shape, *self.kind.encode()])
        with np.errstate(over="ignore", under="ignore"):
            a, b = KINDS[self.kind](rng, self.shape, self.dtype)
            return a.astype(self.dtype), b.astype(self.dtype)


def product(a: Array, b: Array, slice_cuts: list[int]) -> Array:
    """What a client computes: slices of K, chained by additions."""
    with np.errstate(all="ignore"):
        out: Array = a[:, : slice_cuts[1]] @ b[: slice_cuts[1]]
        for start, end in pairwise(slice_cuts[1:]):
            out += a[:, start:end] @ b[start:end]
    return out


def _normal(rng: Generator, shape: Shape, _dtype: str) -> Pair:
    m, k, n = shape
    return rng.standard_normal((m, k)), rng.standard_normal((k, n))


def _one_signed(rng: Generator, shape: Shape, _dtype: str) -> Pair:
    m, k, n = shape
    return rng.random((m, k)), rng.random((k, n))


def _constant(_rng: Generator, shape: Shape, _dtype: str) -> Pair:
    m, k, n = shape
    return np.full((m, k), 0.1), np.full((k, n), 0.3)


def _badly_scaled(rng: Generator, shape: Shape, dtype: str) -> Pair:
    """Rows and columns over sixteen orders of magnitude, and one column of B times 1e8 more."""
    a, b = _normal(rng, shape, dtype)
    a *= 10.0 ** rng.uniform(-8, 8, (a.shape[0], 1))
    b *= 10.0 ** rng.uniform(-8, 8, (1, b.shape[1]))
    b[:, b.shape[1] // 3] *= 1e8
    return a, b


def _one_large_column(rng: Generator, shape: Shape, dtype: str) -> Pair:
    a, b = _normal(rng, shape, dtype)
    b[:, b.shape[1] // 3] *= 1e8
    return a, b


def _cancelling(rng: Generator, shape: Shape, dtype: str) -> Pair:
    """Each term has a twin of the other sign, 1e-4 smaller."""
    a, b = _normal(rng, shape, dtype)
    half = shape[1] // 2
    a[:, half : 2 * half] = -a[:, :half] * (1 - 1e-4)
    b[half : 2 * half] = b[:half]
    return a, b


def _heavy_tailed(rng: Generator, shape: Shape, _dtype: str) -> Pair:
    m, k, n = shape
    return rng.lognormal(0, 3, (m, k)), rng.lognormal(0, 3, (k, n)) * rng.choice([-1, 1], (k, n))


def _subnormal(rng: Generator, shape: Shape, dtype: str) -> Pair:
    a, b = _normal(rng, shape, dtype)
    return a * _SMALL[dtype], b


def _subnormal_products(rng: Generator, shape: Shape, dtype: str) -> Pair:
    """Normal operands whose products are subnormal."""
    a, b = _normal(rng, shape, dtype)
    root = _SMALL[dtype] ** 0.5
    return a * root, b * root


def _overflowing(rng: Generator, shape: Shape, dtype: str) -> Pair:
    """Products about the largest number: some entries overflow, some do not."""
    a, b = _normal(rng, shape, dtype)
    return a * _LARGE[dtype], b * (_LARGE[dtype] / shape[1] ** 0.5)


def _non_finite(rng: Generator, shape: Shape, dtype: str) -> Pair:
    a, b = _normal(rng, shape, dtype)
    a[a.shape[0] // 2, 0], a[0, -1] = np.nan, np.inf
    b[0, b.shape[1] // 2], b[-1, 0] = np.inf, -np.inf
    return a, b


def _sparse(rng: Generator, shape: Shape, dtype: str) -> Pair:
    """Nine of ten entries zero, whole rows and columns among them."""
    a, b = _normal(rng, shape, dtype)
    a[rng.random(a.shape) < 0.9] = 0
    a[::3] = 0
    b[:, ::4] = 0
    return a, b


KINDS: dict[str, Callable[[Generator, Shape, str], Pair]] = {
    "normal": _normal,
    "one-signed": _one_signed,
    "constant": _constant,
    "badly-scaled": _badly_scaled,
    "one-large-column": _one_large_column,
    "cancelling": _cancelling,
    "heavy-tailed": _heavy_tailed,
    "subnormal": _subnormal,
    "subnormal-products": _subnormal_products,
    "overflowing": _overflowing,
    "non-finite": _non_finite,
    "sparse": _sparse,
}
