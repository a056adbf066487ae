"""Elements by index. An index is checked before it is used; none counts from the end.

Where several updates go to one place the last one, in row-major order of the indices, stays; what
is added up is added by a stable sort of the indices and sums of the segments, never by atomics, so
the same call gives the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, integer, integers
from opgraph.catalogue.declaration import Call, ErrorRule, Operator, Types, Work
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.rules import EXACT, EXACT_FROM_ATTRIBUTES, ONE_PER_ELEMENT
from opgraph.catalogue.shaping import sliced_shape
from opgraph.errors import ComputationError, GraphError
from opgraph.tensors import DTYPES, FLOATS, INTEGERS, Array, Shape, itemsize

_FAMILY = "indexing"
_AXIS = Attribute("axis", "integer", "the axis that the indices are of")
_OUTSIDE = "An index below 0, or not below the size, is an error."
_INDICES = ("int32", "int64")


def require_indices(indices: Array, size: int) -> None:
    """Raise ComputationError unless all are from 0 to size - 1."""
    if not indices.size:
        return
    low, high = int(indices.min()), int(indices.max())
    if low < 0 or high >= size:
        wrong = low if low < 0 else high
        raise ComputationError("index_out_of_range", f"Index {wrong} is not from 0 to {size - 1}.")


def _require_axis(shape: Shape, attributes: Attributes) -> int:
    axis = integer(attributes, "axis")
    if not 0 <= axis < len(shape):
        raise GraphError("wrong_shape", f"{list(shape)} has no axis {axis}.")
    return axis


# --- take -----------------------------------------------------------------------------------------
def _taken(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    shape, indices = shapes
    axis = _require_axis(shape, attributes)
    return ((*shape[:axis], *indices, *shape[axis + 1 :]),)


def _take(call: Call) -> None:
    operand, indices = call.operands
    axis = integer(call.attributes, "axis")
    require_indices(indices, operand.shape[axis])
    if call.results[0].size:
        call.xp.take(operand, indices, axis=axis, out=call.results[0], **unchecked(call.xp))


def unchecked(xp: Any) -> dict[str, str]:
    """How `take` is told that its indices were looked at."""
    # numpy writes through a buffer where it has to check; cupy knows no modes.
    return {"mode": "clip"} if xp is numpy else {}


TAKE = Operator(
    name="take",
    family=_FAMILY,
    summary="Slices along an axis, by their indices: rows of a table.",
    operands=("operand", "indices"),
    attributes=(_AXIS,),
    dtypes={(dtype, index): (dtype,) for dtype in DTYPES for index in _INDICES},
    shapes=_taken,
    run=_take,
    flops=Work(
        lambda types, attributes: prod(_taken([t.shape for t in types], attributes)[0]),
        "1 for each made",
    ),
    temporaries=lambda types, _a: 8 * types[1].elements if types[1].dtype != "int64" else 0,
    contiguous=True,
    error=EXACT_FROM_ATTRIBUTES,
    special_values=_OUTSIDE,
)


# --- along an axis --------------------------------------------------------------------------------
def _same_but_axis(shapes: Sequence[Shape], attributes: Attributes) -> int:
    shape, indices = shapes[:2]
    axis = _require_axis(shape, attributes)
    if len(indices) != len(shape) or any(
        each != axis and one != other
        for each, (one, other) in enumerate(zip(shape, indices, strict=True))
    ):
        raise GraphError(
            "wrong_shape", f"{list(indices)} differs from {list(shape)} not only along {axis}."
        )
    return axis


def _gathered(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    _same_but_axis(shapes, attributes)
    return (shapes[1],)


def _scattered(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    _same_but_axis(shapes, attributes)
    if shapes[1] != shapes[2]:
        raise GraphError("wrong_shape", "There is one update for each index.")
    return (shapes[0],)


def _gather(call: Call) -> None:
    operand, indices = call.operands
    axis = integer(call.attributes, "axis")
    require_indices(indices, operand.shape[axis])
    call.results[0][...] = call.xp.take_along_axis(operand, indices, axis)


def _rows(xp: Any, array: Array, axis: int) -> Array:
    """The axis last, all others in one: a view where it can be one."""
    moved = xp.moveaxis(array, axis, -1)
    return moved.reshape(-1, array.shape[axis]) if array.size else moved.reshape(0, 0)


def _places(xp: Any, indices: Array, axis: int, size: int) -> Array:
    """Flat indices into rows of `size`, in row-major order of `_rows`."""
    lines = _rows(xp, indices, axis)
    starts = xp.arange(len(lines), dtype=xp.int64) * size
    return (lines + starts[:, None]).reshape(-1)


def last_of_each(xp: Any, places: Array) -> tuple[Array, Array]:
    """Distinct places, rising, and where in the list each comes last."""
    order = xp.argsort(places, kind="stable")
    rising = places[order]
    ends = xp.flatnonzero(xp.concatenate([rising[1:] != rising[:-1], xp.ones(1, bool)]))
    return rising[ends], order[ends]


def segments(xp: Any, places: Array, updates: Array) -> tuple[Array, Array]:
    """Distinct places, rising, and the sum of the updates (along axis 0) of each."""
    order = xp.argsort(places, kind="stable")
    rising = places[order]
    firsts = xp.flatnonzero(xp.concatenate([xp.ones(1, bool), rising[1:] != rising[:-1]]))
    return rising[firsts], xp.add.reduceat(updates[order], firsts, axis=0)


def _scatter(call: Call) -> None:
    operand, indices, updates = call.operands
    xp, result, axis = call.xp, call.results[0], integer(call.attributes, "axis")
    require_indices(indices, operand.shape[axis])
    if result is not operand:
        result[...] = operand
    if not indices.size:
        return
    places, last = last_of_each(xp, _places(xp, indices, axis, operand.shape[axis]))
    lines = xp.ascontiguousarray(xp.moveaxis(result, axis, -1))
    lines.reshape(-1)[places] = _rows(xp, updates, axis).reshape(-1)[last]
    xp.moveaxis(result, axis, -1)[...] = lines


def _scatter_add(call: Call) -> None:
    operand, indices, updates = call.operands
    xp, result, axis = call.xp, call.results[0], integer(call.attributes, "axis")
    require_indices(indices, operand.shape[axis])
    if result is not operand:
        result[...] = operand
    if not indices.size:
        return
    flat = _rows(xp, updates, axis).reshape(-1)
    places, sums = segments(xp, _places(xp, indices, axis, operand.shape[axis]), flat)
    lines = xp.ascontiguousarray(xp.moveaxis(result, axis, -1))
    lines.reshape(-1)[places] += sums
    xp.moveaxis(result, axis, -1)[...] = lines


def _lines_bytes(types: Types, attributes: Attributes) -> int:
    # Places and their order, 8 bytes each, updates in that order, and where the axis is not the
    # last the whole result once more.
    operand, indices, updates = types
    copied = operand.nbytes if integer(attributes, "axis") != operand.rank - 1 else 0
    return 34 * indices.elements + 3 * updates.nbytes + copied


def _scatter_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    operand, indices, updates = operands
    found = numpy.abs(operand)
    axis = integer(attributes, "axis")
    total = numpy.moveaxis(found, axis, -1)
    lines = numpy.ascontiguousarray(total).reshape(-1, max(1, operand.shape[axis]))
    if indices.size:
        places = _places(numpy, indices.astype("int64"), axis, operand.shape[axis])
        numpy.add.at(lines.reshape(-1), places, _rows(numpy, numpy.abs(updates), axis).reshape(-1))
    return numpy.moveaxis(lines.reshape(total.shape), -1, axis)


def _updates_along(types: Types, attributes: Attributes) -> float:
    return 1.0 + types[1].shape[integer(attributes, "axis")]


GATHER = Operator(
    name="take_along_axis",
    family=_FAMILY,
    summary="From each line along an axis the elements that the line of indices names.",
    operands=("operand", "indices"),
    attributes=(_AXIS,),
    dtypes={(dtype, index): (dtype,) for dtype in DTYPES for index in _INDICES},
    shapes=_gathered,
    run=_gather,
    flops=Work(lambda types, _attributes: types[1].elements, "1 for each made"),
    temporaries=lambda types, _a: types[1].elements * itemsize(types[0].dtype),
    error=EXACT_FROM_ATTRIBUTES,
    special_values=_OUTSIDE,
)
SCATTER = Operator(
    name="put_along_axis",
    family=_FAMILY,
    summary="In each line along an axis the elements that the line of indices names, replaced.",
    operands=("operand", "indices", "updates"),
    attributes=(_AXIS,),
    dtypes={(d, index, d): (d,) for d in DTYPES for index in _INDICES},
    shapes=_scattered,
    run=_scatter,
    flops=Work(lambda types, _a: types[0].elements + types[1].elements, "1 for each, and update"),
    temporaries=_lines_bytes,
    contiguous=True,
    error=EXACT,
    special_values=f"Of several updates of one place the last stays. {_OUTSIDE}",
    in_place=(0,),
)
SCATTER_ADD = with_halves(
    Operator(
        name="add_along_axis",
        family=_FAMILY,
        summary="In each line along an axis the updates added to the elements that are named.",
        operands=("operand", "indices", "updates"),
        attributes=(_AXIS,),
        dtypes={(d, i, d): (d,) for d in (*FLOATS, *INTEGERS) for i in _INDICES},
        shapes=_scattered,
        run=_scatter_add,
        flops=Work(
            lambda types, _a: types[0].elements + types[1].elements, "1 for each, and update"
        ),
        temporaries=_lines_bytes,
        contiguous=True,
        error=ErrorRule(_scatter_scale, _updates_along, "n u (|operand| + sum of |updates|)"),
        special_values=f"NaN and infinities as by adding; integers wrap. {_OUTSIDE}",
        in_place=(0,),
    )
)


# --- rows -----------------------------------------------------------------------------------------
def _rows_added(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    operand, indices, updates = shapes
    if not operand or len(indices) != 1 or updates != (*indices, *operand[1:]):
        raise GraphError("wrong_shape", "There is one row of updates for each index.")
    return (operand,)


def _add_rows(call: Call) -> None:
    operand, indices, updates = call.operands
    require_indices(indices, operand.shape[0])
    if call.results[0] is not operand:
        call.results[0][...] = operand
    if indices.size:
        rows, sums = segments(call.xp, indices, updates)
        call.results[0][rows] += sums


def _add_rows_scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
    found = numpy.abs(operands[0])
    numpy.add.at(found, operands[1].astype("int64"), numpy.abs(operands[2]))
    return found


def _add_rows_bytes(types: Types, _attributes: Attributes) -> int:
    operand, indices, updates = types
    return 18 * indices.elements + updates.nbytes + min(updates.nbytes, operand.nbytes)


ADD_ROWS = with_halves(
    Operator(
        name="add_rows",
        family=_FAMILY,
        summary="Rows of updates added to the rows that the indices name: the gradient of `take`.",
        operands=("operand", "indices", "updates"),
        dtypes={(d, i, d): (d,) for d in (*FLOATS, *INTEGERS) for i in _INDICES},
        shapes=_rows_added,
        run=_add_rows,
        flops=Work(
            lambda types, _a: types[0].elements + types[2].elements, "1 for each, and update"
        ),
        temporaries=_add_rows_bytes,
        error=ErrorRule(
            _add_rows_scale,
            lambda types, _a: 1.0 + types[1].elements,
            "n u (|operand| + sum of |updates|)",
        ),
        special_values=f"NaN and infinities as by adding; integers wrap. {_OUTSIDE}",
        in_place=(0,),
    )
)


# --- a box ----------------------------------------------------------------------------------------
def _box_set(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    shape, update = shapes
    starts, steps = integers(attributes, "starts"), integers(attributes, "steps")
    stops = tuple(
        min(size, start + (count - 1) * step + 1) if count else start
        for start, step, count, size in zip(starts, steps, update, shape, strict=False)
    )
    if len(update) != len(shape) or sliced_shape(shape, starts, stops, steps) != update:
        raise GraphError("wrong_shape", f"{list(update)} is no such part of {list(shape)}.")
    return (shape,)


def _set_slice(call: Call) -> None:
    operand, update = call.operands
    if call.results[0] is not operand:
        call.results[0][...] = operand
    starts, steps = (integers(call.attributes, name) for name in ("starts", "steps"))
    ranges = zip(starts, steps, update.shape, strict=True)
    box = (slice(start, start + step * count, step) for start, step, count in ranges)
    call.results[0][(*box, ...)] = update


SET_SLICE = Operator(
    name="set_slice",
    family=_FAMILY,
    summary="The operand with a box of elements replaced.",
    operands=("operand", "update"),
    attributes=(
        Attribute("starts", "integers", "first index along each axis"),
        Attribute("steps", "integers", "from one index to the next along each axis, above 0"),
    ),
    dtypes={(dtype, dtype): (dtype,) for dtype in DTYPES},
    shapes=_box_set,
    run=_set_slice,
    flops=ONE_PER_ELEMENT,
    error=EXACT,
    special_values="Every bit is kept, those of NaN too.",
    in_place=(0,),
)


# --- one hot --------------------------------------------------------------------------------------
def _one_hot_shape(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    depth = integer(attributes, "depth")
    if depth < 0:
        raise GraphError("wrong_shape", f"{depth} is no depth.")
    return ((*shapes[0], depth),)


def _one_hot(call: Call) -> None:
    indices, result = call.operands[0], call.results[0]
    depth = integer(call.attributes, "depth")
    require_indices(indices, depth)
    positions = call.xp.arange(depth, dtype=indices.dtype)
    call.xp.equal(indices[..., None], positions, out=result)


ONE_HOT = Operator(
    name="one_hot",
    family=_FAMILY,
    summary="For each index a line that is true there and false elsewhere.",
    operands=("indices",),
    attributes=(Attribute("depth", "integer", "the length of a line"),),
    dtypes={(index,): ("bool",) for index in _INDICES},
    shapes=_one_hot_shape,
    run=_one_hot,
    flops=Work(
        lambda types, attributes: types[0].elements * integer(attributes, "depth"),
        "1 for each made",
    ),
    temporaries=lambda types, a: itemsize(types[0].dtype) * integer(a, "depth"),
    error=EXACT_FROM_ATTRIBUTES,
    special_values=_OUTSIDE,
)

OPERATORS = (TAKE, GATHER, SCATTER, SCATTER_ADD, ADD_ROWS, SET_SLICE, ONE_HOT)
