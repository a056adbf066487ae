"""Operators that move elements and leave them as they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from opgraph.catalogue.attributes import Attribute, Attributes, integers
from opgraph.catalogue.declaration import Call, Operator
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT, same_dtype
from opgraph.errors import GraphError
from opgraph.tensors import DTYPES, Array, Shape

_UNCHANGED = "Every bit is kept, those of NaN too."


def _permuted(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    axes = integers(attributes, "axes")
    if sorted(axes) != list(range(len(shapes[0]))):
        raise GraphError("wrong_shape", f"{list(axes)} do not permute the axes of {shapes[0]}.")
    return (tuple(shapes[0][axis] for axis in axes),)


def _reshaped(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    shape = integers(attributes, "shape")
    if min(shape, default=0) < 0 or prod(shape) != prod(shapes[0]):
        raise GraphError("wrong_shape", f"{list(shapes[0])} has no form {list(shape)}.")
    return (shape,)


def _sliced(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    starts, stops = integers(attributes, "starts"), integers(attributes, "stops")
    bounds = list(zip(starts, stops, shapes[0], strict=False))
    fits = all(0 <= start <= stop <= size for start, stop, size in bounds)
    if not fits or {len(starts), len(stops)} != {len(shapes[0])}:
        raise GraphError(
            "wrong_shape", f"{list(starts)} to {list(stops)} is no part of {list(shapes[0])}."
        )
    return (tuple(stop - start for start, stop, _ in bounds),)


def _permute_view(operand: Array, attributes: Attributes) -> Array:
    return operand.transpose(integers(attributes, "axes"))


def _reshape_view(operand: Array, attributes: Attributes) -> Array:
    return operand.reshape(integers(attributes, "shape"))


def _slice_view(operand: Array, attributes: Attributes) -> Array:
    pairs = zip(integers(attributes, "starts"), integers(attributes, "stops"), strict=True)
    # The ellipsis keeps a part of rank 0 an array.
    return operand[(*(slice(start, stop) for start, stop in pairs), ...)]


def _copy(call: Call) -> None:
    operand = call.operands[0]
    call.results[0].reshape(operand.shape)[...] = operand


PERMUTE_DIMS = Operator(
    name="permute_dims",
    family="shaping",
    summary="The axes in another order.",
    operands=("operand",),
    attributes=(Attribute("axes", "integers", "which axis of the operand comes at each place"),),
    dtypes=same_dtype(1, DTYPES),
    shapes=_permuted,
    run=_copy,
    view=_permute_view,
    flops=ONE_PER_ELEMENT,
    error=EXACT,
    special_values=_UNCHANGED,
)
RESHAPE = Operator(
    name="reshape",
    family="shaping",
    summary="The same elements, in row-major order, in another shape.",
    operands=("operand",),
    attributes=(Attribute("shape", "integers", "the new shape"),),
    dtypes=same_dtype(1, DTYPES),
    shapes=_reshaped,
    run=_copy,
    view=_reshape_view,
    needs_contiguous=True,
    # It may have to copy, so it is counted: work must not be free.
    flops=ONE_PER_ELEMENT,
    error=EXACT,
    special_values=_UNCHANGED,
)
SLICE = Operator(
    name="slice",
    family="shaping",
    summary="A box of elements: starts <= index < stops.",
    operands=("operand",),
    attributes=(
        Attribute("starts", "integers", "first index along each axis"),
        Attribute("stops", "integers", "index after the last along each axis"),
    ),
    dtypes=same_dtype(1, DTYPES),
    shapes=_sliced,
    run=_copy,
    view=_slice_view,
    flops=ONE_PER_ELEMENT,
    error=EXACT,
    special_values=_UNCHANGED,
)

OPERATORS = (PERMUTE_DIMS, RESHAPE, SLICE)
