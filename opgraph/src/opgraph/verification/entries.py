"""Entries of the product computed by the check itself, and what may differ from them.

The reference is summed in float64 for float32 products, and in the platform's long double for
float64 products (5 ns per term, measured): its range has room for sums that overflow float64. Its
own rounding is part of every bound, so that on a platform whose long double is float64 the bounds
are the gammas of both sides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from opgraph.verification.precision import Array, Floats, Precision, gamma
from opgraph.verification.reader import MatrixReader, read_rows

LONG: Any = np.longdouble
_CHUNK_ELEMENTS = 1 << 20
_FEW, _GROUP, _LARGE_GROUP = 64, 16, 256


@dataclass(frozen=True)
class Entries:
    """A part of the product, rows x columns, with the sums that bound its rounding."""

    values: Array
    unit: float
    """Unit roundoff of `values`' summation."""
    magnitude: Floats
    """|A| |B|; not finite where an operand is not, or where it overflows."""
    spread: Array
    """sqrt((A*A) (B*B)): the standard deviation of a sum with random signs."""
    flushed: Floats
    """The part of |A| |B| that vanishes when subnormal operands are read as zero."""
    lost: Floats
    """The part of A B that vanishes then; `values - lost` is what such a machine sums."""
    largest_term: Floats
    """No |a_ik b_kj| is larger: the product of the row's and the column's largest number."""


@dataclass(frozen=True)
class Place:
    """Which entries: ascending row indices of A, ascending column indices of B."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


def compute_entries(a: MatrixReader, b: MatrixReader, place: Place) -> Entries:
    """Compute the entries at `place`; memory is a few megabytes beside the entries themselves."""
    precision = Precision.of(a.dtype)
    dtype = np.dtype(LONG if precision.dtype.itemsize > 4 else np.float64)
    sums = _Sums(place, dtype, precision)
    for a_part, b_part in _slabs(a, b, place):
        sums.add(a_part, b_part)
    return sums.entries()


def _slabs(a: MatrixReader, b: MatrixReader, place: Place) -> Iterator[tuple[Array, Array]]:
    """Both operands' parts along K, at most a few megabytes of each at a time."""
    first, last = int(place.columns[0]), int(place.columns[-1]) + 1
    step = max(1, _CHUNK_ELEMENTS // max(last - first, len(place.rows), _GROUP))
    for start in range(0, a.shape[1], step):
        end = min(start + step, a.shape[1])
        b_part = b.read(start, end, first, last)
        if last - first != len(place.columns):
            b_part = b_part[:, place.columns - first]
        yield read_rows(a, place.rows, start, end), b_part


class _Sums:
    def __init__(self, place: Place, dtype: np.dtype[Any], precision: Precision) -> None:
        shape = len(place.rows), len(place.columns)
        self._precision = precision
        self._values = np.zeros(shape, dtype=dtype)
        self._magnitude = np.zeros(shape)
        self._squares = np.zeros(shape, dtype=dtype)
        self._flushed = np.zeros(shape)
        self._lost = np.zeros(shape)
        self._largest = np.zeros((shape[0], 1)), np.zeros((1, shape[1]))

    def add(self, a_part: Array, b_part: Array) -> None:
        left, right = a_part.astype(np.float64), b_part.astype(np.float64)
        if self._values.dtype == np.float64:
            self._values += _by_groups(left, right)
            self._squares += _by_groups(np.square(left), np.square(right))
        else:
            wide_left, wide_right = left.astype(LONG), right.astype(LONG)
            self._values += _by_rows(wide_left, wide_right)
            self._squares += _by_rows(np.square(wide_left), np.square(wide_right))
        self._add_flushed(left, right)
        np.abs(left, out=left)
        np.abs(right, out=right)
        self._magnitude += _by_groups(left, right)
        for largest, part, axis in zip(self._largest, (left, right), (1, 0), strict=True):
            np.maximum(largest, part.max(axis=axis, keepdims=True), out=largest)

    def _add_flushed(self, left: Floats, right: Floats) -> None:
        small_left, small_right = self._subnormal(left), self._subnormal(right)
        if small_left is not None:
            self._add_lost(small_left, right)
            left = left - small_left
        if small_right is not None:
            self._add_lost(left, small_right)

    def _add_lost(self, left: Floats, right: Floats) -> None:
        self._lost += _by_groups(left, right)
        self._flushed += _by_groups(np.abs(left), np.abs(right))

    def _subnormal(self, values: Floats) -> Floats | None:
        small = np.abs(values) < self._precision.tiny
        if not small.any():
            return None
        part = np.where(small, values, 0.0)
        return part if part.any() else None

    def entries(self) -> Entries:
        unit = float(np.finfo(self._values.dtype).eps) / 2
        return Entries(
            values=self._values,
            unit=unit,
            magnitude=self._magnitude,
            spread=np.sqrt(self._squares),
            flushed=self._flushed,
            lost=self._lost,
            largest_term=self._largest[0] * self._largest[1],
        )


def _by_groups(left: Floats, right: Floats) -> Floats:
    """left @ right in groups of a fixed number of rows, padded with zeros.

    BLAS may sum in another order when the number of rows changes; this way a row that is repaired
    in a replay gets the same bits whatever other rows are repaired with it."""
    group = _GROUP if len(left) <= _FEW else _LARGE_GROUP
    padded = np.zeros((-(-len(left) // group) * group, left.shape[1]))
    padded[: len(left)] = left
    parts = [padded[at : at + group] @ right for at in range(0, len(padded), group)]
    return np.concatenate(parts)[: len(left)]


def _by_rows(left: Array, right: Array) -> Array:
    return np.stack([np.dot(row, right) for row in left])


def conviction_bound(entries: Entries, roundings: int, terms: int, precision: Precision) -> Array:
    """No honest machine is farther from the reference than this.

    gamma (|A||B|) + u |reference| + 2 K tiny, with both sides' gammas, and what subnormal
    operands read as zero can change. `roundings`: those that a term meets, k + K/k."""
    both = gamma(roundings, precision.unit) + gamma(terms, entries.unit)
    rounding = both * entries.magnitude + precision.unit * np.abs(entries.values)
    return rounding + 2 * terms * precision.tiny + entries.flushed
