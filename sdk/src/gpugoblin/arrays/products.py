"""Products of matrices and vectors, and transposes."""

from __future__ import annotations

import gpugoblin.array as core
from gpugoblin import operands
from gpugoblin.arrays.building import (
    apply,
    broadcast,
    broadcast_shape,
    called,
    common_home,
    of_kind,
    same_type,
)
from gpugoblin.arrays.dtypes import NUMERIC
from gpugoblin.arrays.values import Product
from gpugoblin.errors import DtypeUnsupported, ShapeMismatch


def product(left: core.Array, right: core.Array) -> core.Array:
    """`left @ right`: at a lab as one product for the network, here as any other operator."""
    home = common_home((left, right))
    if home.is_here:
        return matmul(left, right)
    dtype = operands.product_dtype(left.dtype, right.dtype)
    shape = operands.product_shape(left.shape, right.shape)
    # Both sides as they are now: setting items gives an array another value later.
    frozen = Product(core.of_value(home, left.value), core.of_value(home, right.value))
    return core.Array(home, shape, dtype, frozen)


def matmul(x1: core.Array, x2: core.Array, /) -> core.Array:
    """The product of the last two axes (..., m, k) @ (..., k, n) -> (..., m, n).

    The axes before broadcast; a vector is a row on the left and a column on the right. Integers
    wrap modulo 2^w. Raises `ShapeMismatch` and `DtypeUnsupported`.
    """
    try:
        left, right = same_type(of_kind("matmul", x1, NUMERIC), of_kind("matmul", x2, NUMERIC))
    except DtypeUnsupported as error:
        raise DtypeUnsupported(f"{called('matmul', (x1, x2))}: {error.detail}") from None
    _check_lengths(left.shape, right.shape)
    row, column = left.ndim == 1, right.ndim == 1
    if row:
        left = apply("reshape", left, shape=(1, *left.shape))
    if column:
        right = apply("reshape", right, shape=(*right.shape, 1))
    stack = broadcast_shape(left.shape[:-2], right.shape[:-2])
    made = apply(
        "matmul",
        broadcast(left, (*stack, *left.shape[-2:])),
        broadcast(right, (*stack, *right.shape[-2:])),
    )
    shape = (*stack, *left.shape[-2:-1][row:], *right.shape[-1:][column:])
    return apply("reshape", made, shape=shape) if row or column else made


def _check_lengths(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    if not left or not right:
        raise ShapeMismatch(f"{left} @ {right}: a number is no matrix; write x * y.")
    inner = right[-2] if len(right) > 1 else right[0]
    if left[-1] != inner:
        raise ShapeMismatch(
            f"{left} @ {right}: the inner lengths {left[-1]} and {inner} differ; the last axis of"
            " the left array must be as long as the"
            f" {'last but one' if len(right) > 2 else 'first'} axis of the right one."
        )


def matrix_transpose(x: core.Array, /) -> core.Array:
    """The last two axes exchanged. Raises `ShapeMismatch` below two axes."""
    if x.ndim < 2:
        raise ShapeMismatch(f"{x.shape}: only matrices are transposed, of two axes or more.")
    return apply("permute_dims", x, axes=(*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def transpose(x: core.Array) -> core.Array:
    """The transpose of a matrix. Raises `ShapeMismatch` for other numbers of axes."""
    if x.ndim != 2:
        raise ShapeMismatch(
            f"{x.shape}: .T is of two axes; write .mT, or gpugoblin.xp.permute_dims(x, axes)."
        )
    return matrix_transpose(x)


__all__ = ["matmul", "matrix_transpose"]
