"""Matrix products."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opgraph.catalogue import integer_products
from opgraph.catalogue.declaration import Attributes, Call, ErrorRule, Operator, Types, Work
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.rules import same_dtype
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, INTEGERS, Array, Shape, itemsize

SCRATCH_BYTES = 8 << 20
"""A partial product of about this size is still in cache when it is added (measured best of
0.5-16 MiB: 8 MiB, where the additions cost 0-2 % of a product of depth 2048)."""

SCRATCH_ROWS = 512
"""BLAS packs the right operand anew for each block of rows; below this many rows it shows."""


def rows_per_block(m: int, n: int, dtype: str) -> int:
    """Rows of an m x n product that `matmul_add` computes and adds at a time."""
    return min(m, max(SCRATCH_ROWS, SCRATCH_BYTES // max(1, n * itemsize(dtype))))


def accumulation_scratch(m: int, k: int, n: int, dtype: str) -> int:
    """Bytes that `matmul_add` wants lent for an m x n accumulator and k terms."""
    if _by_digits(m, k, n, dtype):
        return integer_products.product_scratch(m, k, n)
    return rows_per_block(m, n, dtype) * n * itemsize(dtype)


def most_product_scratch(m: int, k: int, n: int, slices: int, dtype: str) -> int:
    """A bound on what a product of so many slices of at most k terms wants lent; it grows with
    m and n."""
    row = n * itemsize(dtype)
    added = min(m * row, max(SCRATCH_ROWS * row, SCRATCH_BYTES)) if slices > 1 else 0
    return max(added, integer_products.product_scratch(m, k, n) if dtype in INTEGERS else 0)


def _by_digits(m: int, k: int, n: int, dtype: str) -> bool:
    return dtype in INTEGERS and integer_products.is_worth_it(m, k, n)


def _product_shape(left: Shape, right: Shape) -> Shape:
    if min(len(left), len(right)) < 2 or left[:-2] != right[:-2] or left[-1] != right[-2]:
        raise GraphError("wrong_shape", f"{list(left)} and {list(right)} cannot be multiplied.")
    return (*left[:-1], right[-1])


def _matmul_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    return (_product_shape(shapes[0], shapes[1]),)


def _matmul_add_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    accumulator, left, right = shapes
    if len(left) != 2 or _product_shape(left, right) != accumulator:
        raise GraphError(
            "wrong_shape",
            f"{list(left)} times {list(right)} cannot be added to {list(accumulator)}.",
        )
    return (accumulator,)


def _matmul(call: Call) -> None:
    left, right = call.operands
    result = call.results[0]
    if not _digits_are_used(call, left, right):
        call.xp.matmul(left, right, out=result)
        return
    result[...] = 0
    for place in numpy.ndindex(result.shape[:-2]):
        integer_products.add_product(
            result[place], left[place], right[place], call.scratch, call.check
        )


def _matmul_add(call: Call) -> None:
    accumulator, left, right = call.operands
    result = call.results[0]
    if result is not accumulator:
        result[...] = accumulator
    if _digits_are_used(call, left, right):
        integer_products.add_product(result, left, right, call.scratch, call.check)
    else:
        _add_in_blocks(call, result, left, right)


def _digits_are_used(call: Call, left: Array, right: Array) -> bool:
    """Whether integers go through BLAS; cupy has its own kernels for them."""
    m, k = left.shape[-2:]
    dtype = call.types[0].dtype
    return _by_digits(m, k, right.shape[-1], dtype) and not hasattr(call.xp, "cuda")


def _add_in_blocks(call: Call, result: Array, left: Array, right: Array) -> None:
    m, n = result.shape
    rows = rows_per_block(m, n, call.types[0].dtype)
    partial = call.scratch.view(result.dtype).reshape(rows, n)
    for start in range(0, m, max(1, rows)):
        stop = min(m, start + rows)
        block = partial[: stop - start]
        call.xp.matmul(left[start:stop], right, out=block)
        call.xp.add(result[start:stop], block, out=result[start:stop])


def _matmul_flops(types: Types, _attributes: Attributes) -> int:
    return 2 * types[0].elements * types[1].shape[-1]


def _matmul_add_flops(types: Types, _attributes: Attributes) -> int:
    return types[0].elements * (1 + 2 * types[1].shape[1])


def _batch_copies(types: Types, _attributes: Attributes) -> int:
    # An operand whose strides BLAS cannot take is copied by numpy, a matrix at a time.
    left, right = types
    m, k = left.shape[-2:]
    n = right.shape[-1]
    return (m * k + k * n + m * n) * itemsize(left.dtype) if left.rank > 2 else 0


def _matmul_scratch(types: Types, _attributes: Attributes) -> int:
    (m, k), n = types[0].shape[-2:], types[1].shape[-1]
    by_digits = _by_digits(m, k, n, types[0].dtype)
    return integer_products.product_scratch(m, k, n) if by_digits else 0


def _scratch(types: Types, _attributes: Attributes) -> int:
    m, n = types[0].shape
    return accumulation_scratch(m, types[1].shape[1], n, types[0].dtype)


def _product_scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
    left, right = operands[-2:]
    product = abs(left) @ abs(right)
    return product if len(operands) == 2 else abs(operands[0]) + product


def _summands(types: Types, _attributes: Attributes) -> float:
    return types[-1].shape[-2] + 1.0


_NUMBERS = FLOATS + INTEGERS

MATMUL = with_halves(
    Operator(
        name="matmul",
        family="linear_algebra",
        summary="Matrix product of the last two axes; leading axes are equal.",
        operands=("left", "right"),
        dtypes=same_dtype(2, _NUMBERS),
        shapes=_matmul_shapes,
        run=_matmul,
        flops=Work(_matmul_flops, "2 m k n"),
        temporaries=_batch_copies,
        scratch=_matmul_scratch,
        error=ErrorRule(_product_scale, _summands, "(k + 1) u |left| |right|"),
        special_values="NaN, infinities as by multiplying, adding; integers wrap; k = 0 gives 0.",
    )
)

MATMUL_ADD = with_halves(
    Operator(
        name="matmul_add",
        family="linear_algebra",
        summary="accumulator + left @ right of matrices; the product is rounded, then added.",
        operands=("accumulator", "left", "right"),
        dtypes=same_dtype(3, _NUMBERS),
        shapes=_matmul_add_shapes,
        run=_matmul_add,
        flops=Work(_matmul_add_flops, "2 m k n + m n"),
        scratch=_scratch,
        in_place=(0,),
        error=ErrorRule(_product_scale, _summands, "(k + 1) u (|accumulator| + |left| |right|)"),
        special_values="NaN and infinities as by multiplying and adding; integers wrap.",
    )
)

OPERATORS = (MATMUL, MATMUL_ADD)
