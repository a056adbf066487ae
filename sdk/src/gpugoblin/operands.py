"""Which arrays a lab multiplies: numpy's rules for one and two axes, one element type."""

from __future__ import annotations

from typing import Any

import numpy

from gpugoblin.errors import DtypeUnsupported, ShapeMismatch, UnsupportedComputation
from opgraph.partition.product import PRODUCT_DTYPES

Shape = tuple[int, ...]
AnyDtype = numpy.dtype[Any]


def product_shape(left: Shape, right: Shape) -> Shape:
    """The shape of `left @ right` for one or two axes each.

    Raises `ShapeMismatch`, or `UnsupportedComputation` for other numbers of axes.
    """
    for shape in (left, right):
        if len(shape) not in (1, 2):
            raise UnsupportedComputation(
                f"{left} @ {right}: matrices and vectors can be multiplied, not {len(shape)} axes."
                + (" Multiply the stacked matrices one by one." if len(shape) > 2 else "")
            )
    inner = right[0]
    if left[-1] != inner:
        raise ShapeMismatch(
            f"{left} @ {right}: the inner lengths {left[-1]} and {inner} differ; the last axis of"
            " the left array must be as long as the first axis of the right one."
        )
    return left[:-1] + right[1:]


def product_dtype(left: AnyDtype, right: AnyDtype) -> AnyDtype:
    """The element type of `left @ right`: that of both; integers wrap modulo 2^w.

    Raises `DtypeUnsupported`.
    """
    check_dtype(left)
    check_dtype(right)
    if left != right:
        raise DtypeUnsupported(
            f"The left array is {left} and the right one {right}; nothing is converted silently."
            f" Cast one first: x.astype(numpy.{right}) on the left, or x.astype(numpy.{left})"
            " on the right."
        )
    return left


def check_dtype(dtype: AnyDtype) -> AnyDtype:
    """The element type in native byte order. Raises `DtypeUnsupported` with the way out."""
    if dtype.name in PRODUCT_DTYPES:
        return dtype.newbyteorder("=")
    raise DtypeUnsupported(f"Arrays of {dtype} are not multiplied here. {_way_out(dtype)}")


def _way_out(dtype: AnyDtype) -> str:
    if dtype.kind == "b":
        return "Cast first: x.astype(numpy.float32), or numpy.int32 to count exactly."
    if dtype.kind == "f":
        return "Cast first: x.astype(numpy.float32), or numpy.float64."
    if dtype.kind == "c":
        return "Multiply real and imaginary parts: x.real, x.imag."
    return f"These are: {', '.join(PRODUCT_DTYPES)}."
