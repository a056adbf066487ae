"""Rows along the last axis, some at a time: what softmax, losses and norms share."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, prod
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attributes, integer
from opgraph.catalogue.declaration import Count, Types
from opgraph.catalogue.elementwise import BLOCK, block_of
from opgraph.tensors import Array, Shape, itemsize

NEAR_ZERO = 30.0
"""exp of numbers up to this is far from overflow, and sums above exp of minus it from underflow."""


def shifted_into(xp: Any, operand: Array, axis: int, result: Array) -> None:
    """The operand minus its largest along an axis; where all are -infinity, they stay."""
    if not operand.size:
        return  # there is no largest of nothing
    highest = xp.max(operand, axis=axis, keepdims=True)
    xp.copyto(highest, operand.dtype.type(0), where=xp.isneginf(highest))
    xp.subtract(operand, highest, out=result)


def row_sums(xp: Any, rows: Array, ones: Array) -> Array:
    """The sum of each row of a matrix; a product with ones takes a third of the time."""
    return xp.matmul(rows, ones)


def row_dots(xp: Any, left: Array, right: Array) -> Array:
    """The sum of products of each row of two matrices."""
    return xp.vecdot(left, right) if xp is numpy else xp.einsum("ij,ij->i", left, right)


def raised_into(xp: Any, rows: Array, result: Array, ones: Array) -> Array | None:
    """exp of rows without taking anything off, and their sums; None where that is not precise.

    Most rows are near 0, and neither looking for each largest nor taking it off is needed then.
    """
    if not rows.size or not float(xp.max(rows)) <= NEAR_ZERO:
        return None
    xp.exp(rows, out=result)
    total = row_sums(xp, result, ones)
    return total if float(xp.min(total)) >= exp(-NEAR_ZERO) else None


def row_blocks(xp: Any, *arrays: Array) -> Iterator[list[Array]]:
    """Some rows along the last axis at a time, as matrices; arrays are C-contiguous."""
    length = arrays[0].shape[-1]
    matrices = [each.reshape(prod(each.shape[:-1]), length) for each in arrays]
    size = max(1, block_of(xp, arrays[0].size) // length) if length else len(matrices[0]) or 1
    for start in range(0, len(matrices[0]), size):
        yield [each[start : start + size] for each in matrices]


def rows_at_once(shape: Shape) -> int:
    """Rows of a block on a processor."""
    rows, length = prod(shape[:-1]), shape[-1]
    return max(1, min(rows, BLOCK // length)) if length else rows


def block_bytes(types: Types, blocks: int, rows: int, vectors: int = 0) -> int:
    """Of so many blocks of rows, of numbers for each of their rows, and of vectors along one."""
    together, length = rows_at_once(types[0].shape), types[0].shape[-1]
    elements = (blocks * together + vectors) * length + rows * together
    return elements * itemsize(types[0].dtype)


def line_bytes(whole: int, lines: int, blocks: int, vectors: int = 0) -> Count:
    """Along the last axis a block at a time, else the whole at once, with numbers for each line."""

    def count(types: Types, attributes: Attributes) -> int:
        axis = integer(attributes, "axis")
        if axis == types[0].rank - 1:
            return block_bytes(types, blocks, lines, vectors)
        each_line = types[0].nbytes // max(1, types[0].shape[axis])
        return whole * types[0].nbytes + lines * each_line

    return count
