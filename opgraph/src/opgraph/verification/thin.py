"""Large matrices times a few vectors, summed as exactly as a check needs.

float32 operands are multiplied in float32, 256 terms at a time, and these sums are added in
float64: half the memory traffic of float64 and none of its conversions. What rounding that leaves
is part of the scale, see `precision.relative_scale`."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from opgraph.verification.precision import BLOCK, Array, Floats

_ROWS, _COLUMNS = 64, 2048
_MOST_ROWS = 256
_DOUBLE_COLUMNS = 512


def strips(shape: tuple[int, int]) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of a matrix in pieces that stay in the processor's cache."""
    height = min(_MOST_ROWS, max(_ROWS, _ROWS * _COLUMNS // max(1, shape[1])))
    for r0 in range(0, shape[0], height):
        rows = slice(r0, min(r0 + height, shape[0]))
        for c0 in range(0, shape[1], _COLUMNS):
            yield rows, slice(c0, min(c0 + _COLUMNS, shape[1]))


def add_product(values: Array, vectors: Array, into: Floats) -> None:
    """into += values @ vectors; both of one dtype, and at most `strips` of them at a time."""
    if values.dtype == np.float64:
        for c0 in range(0, values.shape[1], _DOUBLE_COLUMNS):
            part = slice(c0, c0 + _DOUBLE_COLUMNS)
            into += values[:, part] @ vectors[part]
        return
    whole = values.shape[1] // BLOCK * BLOCK
    if whole:
        blocks = values[:, :whole].reshape(len(values), -1, BLOCK).swapaxes(0, 1)
        sums = np.matmul(blocks, vectors[:whole].reshape(-1, BLOCK, vectors.shape[1]))
        into += np.add.reduce(sums, axis=0, dtype=np.float64)
    if whole < values.shape[1]:
        into += values[:, whole:] @ vectors[whole:]
