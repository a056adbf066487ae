"""Operators that move elements and leave them as they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, integers
from opgraph.catalogue.declaration import Call, Operator, Work
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


def sliced_shape(shape: Shape, starts: Shape, stops: Shape, steps: Shape) -> Shape:
    """Sizes of the part start, start + step, ... below stop. Raises GraphError."""
    boxes = list(zip(starts, stops, steps, shape, strict=False))
    fits = all(0 <= start <= stop <= size and step > 0 for start, stop, step, size in boxes)
    if not fits or {len(starts), len(stops), len(steps)} != {len(shape)}:
        raise GraphError(
            "wrong_shape",
            f"{list(starts)} to {list(stops)} by {list(steps)} is no part of {list(shape)}.",
        )
    return tuple(-(-(stop - start) // step) for start, stop, step, _ in boxes)


def _sliced(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    box = (integers(attributes, name) for name in ("starts", "stops", "steps"))
    return (sliced_shape(shapes[0], *box),)


def _flipped(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    axes = integers(attributes, "axes")
    if len(set(axes)) != len(axes) or not all(0 <= axis < len(shapes[0]) for axis in axes):
        raise GraphError("wrong_shape", f"{list(axes)} are no axes of {list(shapes[0])}.")
    return (shapes[0],)


def _broadcast(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    shape = integers(attributes, "shape")
    pairs = zip(shapes[0], shape, strict=False)
    fits = all(old == new or (old == 1 and new >= 0) for old, new in pairs)
    if len(shape) != len(shapes[0]) or not fits:
        raise GraphError("wrong_shape", f"{list(shapes[0])} does not spread to {list(shape)}.")
    return (shape,)


def _permute_view(operand: Array, attributes: Attributes) -> Array:
    return operand.transpose(integers(attributes, "axes"))


def _reshape_view(operand: Array, attributes: Attributes) -> Array:
    return operand.reshape(integers(attributes, "shape"))


def _slice_view(operand: Array, attributes: Attributes) -> Array:
    box = (integers(attributes, name) for name in ("starts", "stops", "steps"))
    # The ellipsis keeps a part of rank 0 an array.
    return operand[(*map(slice, *box), ...)]


def _flip_view(operand: Array, attributes: Attributes) -> Array:
    axes = integers(attributes, "axes")
    turned = (slice(None, None, -1 if axis in axes else 1) for axis in range(operand.ndim))
    return operand[(*turned, ...)]


def _broadcast_view(operand: Array, attributes: Attributes) -> Array:
    shape = integers(attributes, "shape")
    if isinstance(operand, numpy.ndarray) and operand.flags.c_contiguous:
        # A tenth of the time that `broadcast_to` takes.
        pairs = zip(operand.strides, operand.shape, shape, strict=True)
        strides = tuple(0 if old != new else stride for stride, old, new in pairs)
        return numpy.ndarray(shape, operand.dtype, operand, 0, strides)
    # An array of cupy takes this over itself (NEP 18).
    return numpy.broadcast_to(operand, shape)


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
    summary="A box of elements: start, start + step, ... below stop.",
    operands=("operand",),
    attributes=(
        Attribute("starts", "integers", "first index along each axis"),
        Attribute("stops", "integers", "index after the last along each axis"),
        Attribute("steps", "integers", "from one index to the next along each axis, above 0"),
    ),
    dtypes=same_dtype(1, DTYPES),
    shapes=_sliced,
    run=_copy,
    view=_slice_view,
    flops=ONE_PER_ELEMENT,
    error=EXACT,
    special_values=_UNCHANGED,
)

FLIP = Operator(
    name="flip",
    family="shaping",
    summary="The elements along some axes the other way round.",
    operands=("operand",),
    attributes=(Attribute("axes", "integers", "the axes that are turned"),),
    dtypes=same_dtype(1, DTYPES),
    shapes=_flipped,
    run=_copy,
    view=_flip_view,
    flops=ONE_PER_ELEMENT,
    error=EXACT,
    special_values=_UNCHANGED,
)
BROADCAST_TO = Operator(
    name="broadcast_to",
    family="shaping",
    summary="Axes of size 1 repeated to the new size; the number of axes stays.",
    operands=("operand",),
    attributes=(Attribute("shape", "integers", "the new shape"),),
    dtypes=same_dtype(1, DTYPES),
    shapes=_broadcast,
    run=_copy,
    view=_broadcast_view,
    flops=Work(lambda _types, attributes: prod(integers(attributes, "shape")), "1 for each made"),
    error=EXACT,
    special_values=_UNCHANGED,
)

OPERATORS = (PERMUTE_DIMS, RESHAPE, SLICE, FLIP, BROADCAST_TO)
