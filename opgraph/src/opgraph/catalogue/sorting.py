"""Sorting, searching, and counting of whole numbers.

Order: rising, NaN last, equal ones in the order in which they came; falling is the same turned
around, so NaN comes first there and equal ones still keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from opgraph.catalogue.attributes import Attribute, Attributes, flag, integer, word
from opgraph.catalogue.declaration import Call, Operator, Types, Work
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT
from opgraph.catalogue.scans import same_along_axis
from opgraph.errors import ComputationError, GraphError
from opgraph.tensors import FLOATS, INTEGERS, Array, Shape, itemsize

_FAMILY = "sorting"
_NUMBERS = (*FLOATS, *INTEGERS, "bool")
_AXIS = Attribute("axis", "integer", "the axis along which is sorted")
_DESCENDING = Attribute("descending", "boolean", "whether the largest come first")
_ORDER = "NaN is above all numbers; -0 equals 0; equal ones keep their order."


def steps_of_search(length: int) -> int:
    """ceil(log2 length), at least 1."""
    return max(1, (length - 1).bit_length())


def _sorting_work(types: Types, attributes: Attributes) -> int:
    return types[0].elements * steps_of_search(types[0].shape[integer(attributes, "axis")])


SORTING = Work(_sorting_work, "ceil(log2 n) for each element")


def _order(call: Call) -> Array:
    """Indices (int64) that sort the first operand, stably."""
    axis = integer(call.attributes, "axis")
    operand = call.operands[0]
    if not flag(call.attributes, "descending"):
        return call.xp.argsort(operand, axis=axis, kind="stable")
    # Turned around before and after, so that equal ones stay in order.
    turned = call.xp.argsort(call.xp.flip(operand, axis), axis=axis, kind="stable")
    turned = call.xp.flip(turned, axis)
    return operand.shape[axis] - 1 - turned


def _argsort(call: Call) -> None:
    call.results[0][...] = _order(call)


def _sort(call: Call) -> None:
    axis, operand = integer(call.attributes, "axis"), call.operands[0]
    if call.types[0].dtype == "bool" or operand.dtype.kind != "f":
        found = call.xp.sort(operand, axis=axis)
        if flag(call.attributes, "descending"):
            found = call.xp.flip(found, axis)
        call.results[0][...] = found
        return
    # By indices: which of 0 and -0 comes first is seen in the result.
    call.results[0][...] = call.xp.take_along_axis(operand, _order(call), axis)


def _argsort_bytes(types: Types, attributes: Attributes) -> int:
    return (16 if flag(attributes, "descending") else 8) * types[0].elements


def _sort_bytes(types: Types, attributes: Attributes) -> int:
    if types[0].dtype not in FLOATS:
        return types[0].nbytes
    return _argsort_bytes(types, attributes) + types[0].nbytes


ARGSORT = with_halves(
    Operator(
        name="argsort",
        family=_FAMILY,
        summary="The indices that sort along an axis.",
        operands=("operand",),
        attributes=(_AXIS, _DESCENDING),
        dtypes={(dtype,): ("int64",) for dtype in _NUMBERS},
        shapes=same_along_axis,
        run=_argsort,
        flops=SORTING,
        temporaries=_argsort_bytes,
        error=EXACT,
        special_values=_ORDER,
    )
)
SORT = with_halves(
    Operator(
        name="sort",
        family=_FAMILY,
        summary="The elements in order along an axis.",
        operands=("operand",),
        attributes=(_AXIS, _DESCENDING),
        dtypes={(dtype,): (dtype,) for dtype in _NUMBERS},
        shapes=same_along_axis,
        run=_sort,
        flops=SORTING,
        temporaries=_sort_bytes,
        error=EXACT,
        special_values=_ORDER,
    )
)


# --- the k first ----------------------------------------------------------------------------------
def _topk_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    (shape,) = same_along_axis(shapes, attributes)
    axis, count = integer(attributes, "axis"), integer(attributes, "k")
    if not 0 <= count <= shape[axis]:
        raise GraphError("wrong_shape", f"There are no {count} elements in {shape[axis]}.")
    found = tuple(count if each == axis else size for each, size in enumerate(shape))
    return found, found


def _topk(call: Call) -> None:
    axis, count = integer(call.attributes, "axis"), integer(call.attributes, "k")
    part = (slice(None),) * axis + (slice(count),)
    call.results[1][...] = _order(call)[part]
    call.results[0][...] = call.xp.take_along_axis(call.operands[0], call.results[1], axis)


def _topk_bytes(types: Types, attributes: Attributes) -> int:
    shape = _topk_shapes([types[0].shape], attributes)[0]
    return _argsort_bytes(types, attributes) + itemsize(types[0].dtype) * prod(shape)


TOPK = with_halves(
    Operator(
        name="topk",
        family=_FAMILY,
        summary="The k first in order along an axis, and their indices.",
        operands=("operand",),
        attributes=(_AXIS, Attribute("k", "integer", "how many"), _DESCENDING),
        dtypes={(dtype,): (dtype, "int64") for dtype in _NUMBERS},
        shapes=_topk_shapes,
        run=_topk,
        flops=SORTING,
        temporaries=_topk_bytes,
        error=EXACT,
        special_values=_ORDER,
    )
)


# --- searching ------------------------------------------------------------------------------------
_SIDE = Attribute(
    "side", "choice", "before or behind elements that are equal", choices=("left", "right")
)


def _search_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    if len(shapes[0]) != 1:
        raise GraphError("wrong_shape", "What is searched has one axis.")
    return (shapes[1],)


def _require_sorted(xp: Any, array: Array) -> None:
    before, after = array[:-1], array[1:]
    falls = bool((after < before).any())
    if array.dtype.kind == "f":
        falls = falls or bool((xp.isnan(before) & ~xp.isnan(after)).any())
    if falls:
        raise ComputationError("not_sorted", "What is searched is not in rising order.")


def _search(call: Call) -> None:
    _require_sorted(call.xp, call.operands[0])
    found = call.xp.searchsorted(
        call.operands[0], call.operands[1], side=word(call.attributes, "side")
    )
    call.results[0][...] = found


SEARCHSORTED = with_halves(
    Operator(
        name="searchsorted",
        family=_FAMILY,
        summary="Where each of `values` would go into the rising `sorted`.",
        operands=("sorted", "values"),
        attributes=(_SIDE,),
        dtypes={(dtype, dtype): ("int64",) for dtype in (*FLOATS, *INTEGERS)},
        shapes=_search_shapes,
        run=_search,
        flops=Work(
            lambda types, _attributes: types[1].elements * steps_of_search(types[0].elements + 1),
            "ceil(log2(n + 1)) for each of `values`",
        ),
        temporaries=lambda types, _a: max(8 * types[1].elements, 3 * types[0].elements),
        contiguous=True,
        error=EXACT,
        special_values="NaN is above all numbers; what is not in rising order is an error.",
    )
)


def _bincount_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    length = integer(attributes, "length")
    if len(shapes[0]) != 1 or length < 0:
        raise GraphError("wrong_shape", "Numbers along one axis are counted, up to a length.")
    return ((length,),)


def _bincount(call: Call) -> None:
    operand, length = call.operands[0], integer(call.attributes, "length")
    if operand.size and not 0 <= int(operand.min()) <= int(operand.max()) < length:
        raise ComputationError("index_out_of_range", f"A number is not below {length}, or below 0.")
    call.results[0][...] = call.xp.bincount(operand, minlength=length)


def _bincount_bytes(types: Types, attributes: Attributes) -> int:
    copied = types[0].elements if types[0].dtype != "int64" else 0
    return 8 * (copied + integer(attributes, "length"))


BINCOUNT = Operator(
    name="bincount",
    family=_FAMILY,
    summary="How often each whole number from 0 to `length` - 1 is there.",
    operands=("operand",),
    attributes=(Attribute("length", "integer", "how many numbers are counted"),),
    dtypes={("int32",): ("int64",), ("int64",): ("int64",)},
    shapes=_bincount_shapes,
    run=_bincount,
    flops=ONE_PER_ELEMENT,
    temporaries=_bincount_bytes,
    error=EXACT,
    special_values="A number that is negative or not below `length` is an error.",
)

OPERATORS = (SORT, ARGSORT, TOPK, SEARCHSORTED, BINCOUNT)
