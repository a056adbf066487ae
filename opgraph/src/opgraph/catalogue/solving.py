"""Systems of linear equations.

The bounds are those of backward analysis, carried to the answer by the inverse, which is good as
long as the condition number is well below 1 / u: N. J. Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., theorems 8.5 (triangles), 9.4 (elimination) and 10.3 (Cholesky). The growth of
elements in elimination, which may be 2^(n - 1), is taken as 4, the most that matrices from practice
are known to need.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from math import prod
from typing import Any, cast

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, flag
from opgraph.catalogue.declaration import Call, ErrorRule, Operator, Types, Work
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.rules import same_dtype
from opgraph.errors import ComputationError, GraphError
from opgraph.tensors import FLOATS, Array, Shape, itemsize

_FAMILY = "linear_algebra"
_PANEL = 64
"""Columns that are worked on one by one; what they do to the others is one product."""

_LOWER = Attribute("lower", "boolean", "whether the matrix is the lower triangle, else the upper")
_TRANSPOSED = Attribute("transposed", "boolean", "whether the triangle is transposed first")


# --- shapes and counts ----------------------------------------------------------------------------
def _square(shape: Shape) -> Shape:
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise GraphError("wrong_shape", f"{list(shape)} is no square matrix.")
    return shape


def _cholesky_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    return (_square(shapes[0]),)


def _solution(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    matrix, right = _square(shapes[0]), shapes[1]
    if len(right) != len(matrix) or right[:-1] != matrix[:-1]:
        raise GraphError("wrong_shape", f"{list(right)} is no right side for {list(matrix)}.")
    return (right,)


def _rows(types: Types) -> int:
    return types[0].shape[-1]


def _matrices(types: Types) -> int:
    return prod(types[0].shape[:-2])


def _cholesky_flops(types: Types, _attributes: Attributes) -> int:
    return types[0].elements * _rows(types) // 3


def _triangular_flops(types: Types, _attributes: Attributes) -> int:
    return types[1].elements * _rows(types)


def _solve_flops(types: Types, attributes: Attributes) -> int:
    factors = 2 * types[0].elements * _rows(types) // 3
    return factors + 2 * _triangular_flops(types, attributes)


def _cholesky_bytes(types: Types, _attributes: Attributes) -> int:
    # The product, and a column of it.
    width = min(_PANEL, _rows(types)) + 2
    return _matrices(types) * _rows(types) * width * itemsize(types[0].dtype)


def _triangular_bytes(types: Types, _attributes: Attributes) -> int:
    height = min(_PANEL, _rows(types)) + 1
    columns = types[1].shape[-1]
    return _matrices(types) * height * columns * itemsize(types[0].dtype)


def _solve_bytes(types: Types, _attributes: Attributes) -> int:
    # numpy solves in float64: the answer, operands of another dtype, and one system for LAPACK.
    matrix, right = (8 * each.elements for each in types)
    widened = matrix + right if types[0].dtype == "float32" else 0
    return right + widened + (matrix + right) // max(1, _matrices(types))


# --- running --------------------------------------------------------------------------------------
def _panels(rows: int) -> Iterator[tuple[int, int]]:
    for start in range(0, rows, _PANEL):
        yield start, min(rows, start + _PANEL)


def _cholesky(call: Call) -> None:
    xp, result = call.xp, call.results[0]
    result[...] = call.operands[0]
    rows = result.shape[-1]
    for start, stop in _panels(rows):
        call.check()
        if start:
            above = result[..., start:stop, :start].swapaxes(-1, -2)
            result[..., start:, start:stop] -= xp.matmul(result[..., start:, :start], above)
        for column in range(start, stop):
            _one_column(xp, result, start, column)


def _one_column(xp: Any, result: Array, start: int, column: int) -> None:
    """Finish a column from which those before `start` were taken off."""
    below = result[..., column:, column]
    if column > start:
        line = result[..., column, start:column, None]
        below -= xp.matmul(result[..., column:, start:column], line)[..., 0]
    if not bool((result[..., column, column] > 0).all()):
        raise ComputationError("not_positive_definite", "The matrix is not positive definite.")
    root = xp.sqrt(result[..., column, column])
    below /= root[..., None]
    result[..., column, column] = root
    result[..., column, column + 1 :] = 0


def _solve_triangular(call: Call) -> None:
    xp, (matrix, right), result = call.xp, call.operands, call.results[0]
    lower = flag(call.attributes, "lower")
    if bool((xp.diagonal(matrix, axis1=-2, axis2=-1) == 0).any()):
        raise ComputationError("singular", "There is a 0 on the diagonal of the triangle.")
    if flag(call.attributes, "transposed"):
        matrix, lower = matrix.swapaxes(-1, -2), not lower
    if result is not right:
        result[...] = right
    rows = result.shape[-2]
    panels = list(_panels(rows))
    for start, stop in panels if lower else reversed(panels):
        call.check()
        block, known = slice(start, stop), slice(0, start) if lower else slice(stop, rows)
        if known.start < known.stop:
            result[..., block, :] -= xp.matmul(matrix[..., block, known], result[..., known, :])
        for row in range(start, stop) if lower else reversed(range(start, stop)):
            near = slice(start, row) if lower else slice(row + 1, stop)
            _one_row(xp, matrix, result, row, near)


def _one_row(xp: Any, matrix: Array, result: Array, row: int, near: slice) -> None:
    """Finish a row whose unknowns are known but for its own and those `near`, done just before."""
    line = result[..., row : row + 1, :]
    if near.start < near.stop:
        line -= xp.matmul(matrix[..., row : row + 1, near], result[..., near, :])
    line /= matrix[..., row : row + 1, row, None]


def _solve(call: Call) -> None:
    matrix, right = call.operands
    try:
        with _raising(call.xp):
            call.results[0][...] = call.xp.linalg.solve(matrix, right)
    except numpy.linalg.LinAlgError:
        raise ComputationError("singular", "The matrix is singular.") from None


def _raising(xp: Any) -> AbstractContextManager[Any]:
    # cupy tells of singular matrices only where it is asked to, and with the error of numpy.
    if not hasattr(xp, "cuda"):
        return nullcontext()
    return cast("AbstractContextManager[Any]", import_module("cupyx").errstate(linalg="raise"))


# --- how far it may be off ------------------------------------------------------------------------
def _turned(matrix: Array) -> Array:
    return matrix.swapaxes(-1, -2)


def _cholesky_scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
    """|L| lower(|L^-1| |L| |L'| |L'^-1|): R.-C. Li's and Sun's bound, by components."""
    lower = numpy.linalg.cholesky(operands[0])
    size, inverse = numpy.abs(lower), numpy.abs(numpy.linalg.inv(lower))
    spread = inverse @ size
    return size @ numpy.tril(spread @ _turned(spread))


def _triangle(matrix: Array, attributes: Attributes) -> Array:
    found = numpy.tril(matrix) if flag(attributes, "lower") else numpy.triu(matrix)
    return _turned(found) if flag(attributes, "transposed") else found


def _triangular_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    """|T^-1| |T| |x|."""
    triangle = _triangle(operands[0], attributes)
    inverse = numpy.linalg.inv(triangle)
    answer = numpy.abs(inverse @ operands[1])
    return numpy.abs(inverse) @ (numpy.abs(triangle) @ answer)


def _solve_scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
    """|A^-1| times max |A| sum |x|, the most of |L| |U| |x| but for growth."""
    matrix, right = operands
    inverse = numpy.linalg.inv(matrix)
    answer = numpy.sum(numpy.abs(inverse @ right), axis=-2, keepdims=True)
    largest = numpy.max(numpy.abs(matrix), axis=(-2, -1), keepdims=True, initial=0.0)
    return numpy.sum(numpy.abs(inverse), axis=-1, keepdims=True) * largest * answer


_MATRIX_DTYPES = same_dtype(2, FLOATS)

CHOLESKY = with_halves(
    Operator(
        name="cholesky",
        family=_FAMILY,
        summary="The lower triangle L with L L' = operand, a symmetric positive definite matrix in"
        " the last two axes; only its lower triangle is read.",
        operands=("operand",),
        dtypes=same_dtype(1, FLOATS),
        shapes=_cholesky_shapes,
        run=_cholesky,
        flops=Work(_cholesky_flops, "n^3 / 3"),
        temporaries=_cholesky_bytes,
        error=ErrorRule(
            _cholesky_scale,
            lambda types, _a: _rows(types) + 2.0,
            "(n + 2) u |L| lower(|L^-1| |L| |L'| |L'^-1|)",
        ),
        special_values="What is not positive definite is an error, NaN too.",
    )
)
SOLVE_TRIANGULAR = with_halves(
    Operator(
        name="solve_triangular",
        family=_FAMILY,
        summary="The x with matrix @ x = right, of a triangle in the last two axes; only that"
        " triangle is read.",
        operands=("matrix", "right"),
        attributes=(_LOWER, _TRANSPOSED),
        dtypes=_MATRIX_DTYPES,
        shapes=_solution,
        run=_solve_triangular,
        flops=Work(_triangular_flops, "n^2 for each column of `right`"),
        temporaries=_triangular_bytes,
        error=ErrorRule(
            _triangular_scale,
            lambda types, _a: _rows(types) + 2.0,
            "(n + 2) u |T^-1| |T| |x|",
        ),
        special_values="NaN and infinities as by multiplying, adding and dividing; a 0 on the"
        " diagonal is an error.",
    )
)
SOLVE = with_halves(
    Operator(
        name="solve",
        family=_FAMILY,
        summary="The x with matrix @ x = right, for square matrices in the last two axes.",
        operands=("matrix", "right"),
        dtypes=_MATRIX_DTYPES,
        shapes=_solution,
        run=_solve,
        flops=Work(_solve_flops, "2 n^3 / 3, and 2 n^2 for each column of `right`"),
        temporaries=_solve_bytes,
        error=ErrorRule(
            _solve_scale,
            lambda types, _a: 4.0 * _rows(types) + 2.0,
            "(4 n + 2) u |matrix^-1| max |matrix| sum |x|",
        ),
        special_values="A matrix whose elimination meets a pivot of 0 is an error.",
    )
)

OPERATORS = (CHOLESKY, SOLVE_TRIANGULAR, SOLVE)
