"""Operators that put elements elsewhere and so make a new tensor of them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from opgraph.catalogue.attributes import Attribute, Attributes, integer, integers, word
from opgraph.catalogue.declaration import Call, Implementation, Operator, ShapeRule, Types, Work
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT
from opgraph.errors import GraphError
from opgraph.tensors import DTYPES, Shape

_FAMILY = "shaping"
_UNCHANGED = "Every bit is kept, those of NaN too."
_AXIS = Attribute("axis", "integer", "the axis along which it goes")


def _moving(
    name: str,
    summary: str,
    attributes: tuple[Attribute, ...],
    shapes: ShapeRule,
    run: Implementation,
    flops: Work = ONE_PER_ELEMENT,
    **more: Any,
) -> Operator:
    return Operator(
        name=name,
        family=_FAMILY,
        summary=summary,
        operands=("parts",) if more.get("variadic") else ("operand",),
        attributes=attributes,
        dtypes={(dtype,): (dtype,) for dtype in DTYPES},
        shapes=shapes,
        run=run,
        flops=flops,
        error=EXACT,
        special_values=_UNCHANGED,
        **more,
    )


def _of_results(shapes: ShapeRule) -> Work:
    def count(types: Types, attributes: Attributes) -> int:
        return prod(shapes([each.shape for each in types], attributes)[0])

    return Work(count, "1 for each made")


def _require_axis(shape: Shape, axis: int) -> None:
    if not 0 <= axis < len(shape):
        raise GraphError("wrong_shape", f"{list(shape)} has no axis {axis}.")


def along(axis: int, part: slice) -> tuple[slice, ...]:
    """The index of a part along one axis."""
    return (*(slice(None),) * axis, part)


# --- concat ---------------------------------------------------------------------------------------
def _joined(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    axis, first = integer(attributes, "axis"), shapes[0]
    _require_axis(first, axis)
    if any((*each[:axis], *each[axis + 1 :]) != (*first[:axis], *first[axis + 1 :])
           or len(each) != len(first) for each in shapes):  # fmt: skip
        raise GraphError("wrong_shape", f"{list(shapes)} do not join along axis {axis}.")
    return ((*first[:axis], sum(each[axis] for each in shapes), *first[axis + 1 :]),)


def _concat(call: Call) -> None:
    axis, start = integer(call.attributes, "axis"), 0
    for part in call.operands:
        stop = start + part.shape[axis]
        call.results[0][along(axis, slice(start, stop))] = part
        start = stop


# --- roll -----------------------------------------------------------------------------------------
def _rolled(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    if len(integers(attributes, "shifts")) != len(shapes[0]):
        raise GraphError("wrong_shape", f"{list(shapes[0])} wants one shift for each axis.")
    return (shapes[0],)


def _roll(call: Call) -> None:
    operand, result = call.operands[0], call.results[0]
    shifts = integers(call.attributes, "shifts")
    cuts = [shift % max(1, size) for shift, size in zip(shifts, operand.shape, strict=True)]
    _roll_from(result, operand, cuts, 0)


def _roll_from(result: Any, operand: Any, cuts: list[int], axis: int) -> None:
    """Copy in blocks: what stays together along each axis."""
    if axis == operand.ndim:
        result[...] = operand
        return
    size, cut = operand.shape[axis], cuts[axis]
    for source, target in (
        (slice(0, size - cut), slice(cut, size)),
        (slice(size - cut, size), slice(0, cut)),
    ):
        if source.start < source.stop:
            _roll_from(result[along(axis, target)], operand[along(axis, source)], cuts, axis + 1)


# --- pad ------------------------------------------------------------------------------------------
_MODES = ("zero", "edge", "reflect", "wrap")


def _padded(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    before, after = integers(attributes, "before"), integers(attributes, "after")
    shape, mode = shapes[0], word(attributes, "mode")
    if not len(before) == len(after) == len(shape) or min((*before, *after), default=0) < 0:
        raise GraphError("wrong_shape", f"{list(shape)} is padded before and after each axis.")
    for size, *widths in zip(shape, before, after, strict=True):
        # As numpy: reflecting leaves the edge out and goes around at most once.
        most = {"edge": size and max(widths), "reflect": max(size - 1, 0), "wrap": size}
        if max(widths) > most.get(mode, max(widths)):
            raise GraphError("wrong_shape", f"An axis of {size} has too little to {mode}.")
    return (tuple(a + b + c for a, b, c in zip(before, shape, after, strict=True)),)


def _pad(call: Call) -> None:
    operand, result = call.operands[0], call.results[0]
    before, after = integers(call.attributes, "before"), integers(call.attributes, "after")
    inside = tuple(slice(b, b + size) for b, size in zip(before, operand.shape, strict=True))
    mode = word(call.attributes, "mode")
    if mode == "zero":
        result.fill(0)
    result[(*inside, ...)] = operand
    if mode != "zero":
        for axis, size in enumerate(operand.shape):
            _pad_axis(result, axis, before[axis], after[axis], size, mode)


def _pad_axis(result: Any, axis: int, before: int, after: int, size: int, mode: str) -> None:
    """Fill what is before and after along an axis from what is there; earlier axes are whole."""
    first, last = before, before + size - 1

    def part(start: int, stop: int) -> Any:
        return result[along(axis, slice(start, stop))]

    if before:
        part(0, before)[...] = {
            "edge": lambda: part(first, first + 1),
            "reflect": lambda: _turned(part(first + 1, first + 1 + before), axis),
            "wrap": lambda: part(last + 1 - before, last + 1),
        }[mode]()
    if after:
        part(last + 1, last + 1 + after)[...] = {
            "edge": lambda: part(last, last + 1),
            "reflect": lambda: _turned(part(last - after, last), axis),
            "wrap": lambda: part(first, first + after),
        }[mode]()


def _turned(array: Any, axis: int) -> Any:
    return array[along(axis, slice(None, None, -1))]


# --- repetition and triangles ---------------------------------------------------------------------
def _tiled(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    counts = integers(attributes, "counts")
    if len(counts) != len(shapes[0]) or min(counts, default=0) < 0:
        raise GraphError("wrong_shape", f"{list(shapes[0])} wants one count for each axis.")
    return (tuple(size * count for size, count in zip(shapes[0], counts, strict=True)),)


def _tile(call: Call) -> None:
    operand, result = call.operands[0], call.results[0]
    counts = integers(call.attributes, "counts")
    # Nothing, ever so often, has no shape that numpy could name.
    if not result.size:
        return
    split = [each for pair in zip(counts, operand.shape, strict=True) for each in pair]
    spread = [each for size in operand.shape for each in (1, size)]
    result.reshape(split)[...] = operand.reshape(spread)


def _repeated(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    axis, count, shape = integer(attributes, "axis"), integer(attributes, "count"), shapes[0]
    _require_axis(shape, axis)
    if count < 0:
        raise GraphError("wrong_shape", f"{count} is no count.")
    return ((*shape[:axis], shape[axis] * count, *shape[axis + 1 :]),)


def _repeat(call: Call) -> None:
    operand, result = call.operands[0], call.results[0]
    axis, count = integer(call.attributes, "axis") + 1, integer(call.attributes, "count")
    shape = operand.shape
    if not result.size:
        return
    split = (*shape[:axis], count, *shape[axis:])
    result.reshape(split)[...] = operand.reshape((*shape[:axis], 1, *shape[axis:]))


def _square_axes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    if len(shapes[0]) < 2:
        raise GraphError("wrong_shape", "A triangle or diagonal is of the last two axes.")
    return (shapes[0],)


def _triangle(call: Call, lower: bool) -> None:
    operand, result = call.operands[0], call.results[0]
    offset = integer(call.attributes, "offset")
    rows, columns = operand.shape[-2:]
    result.fill(0)
    for row in range(rows):
        edge = min(max(row + offset + lower, 0), columns)
        part = (..., row, slice(0, edge) if lower else slice(edge, columns))
        result[part] = operand[part]


def _diagonal_shape(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    _square_axes(shapes, attributes)
    offset = integer(attributes, "offset")
    rows, columns = shapes[0][-2:]
    length = min(rows + min(offset, 0), columns - max(offset, 0))
    return ((*shapes[0][:-2], max(0, length)),)


def _diagonal(call: Call) -> None:
    offset = integer(call.attributes, "offset")
    if call.results[0].size:
        call.results[0][...] = call.operands[0].diagonal(offset, -2, -1)


_OFFSET = Attribute("offset", "integer", "column minus row of the diagonal")

CONCAT = _moving(
    "concat", "Parts one after the other along an axis.", (_AXIS,), _joined, _concat,
    _of_results(_joined), variadic=True,
)  # fmt: skip
ROLL = _moving(
    "roll", "Elements moved on along each axis; what goes out at the end comes in at the front.",
    (Attribute("shifts", "integers", "by how much along each axis"),), _rolled, _roll,
)  # fmt: skip
PAD = _moving(
    "pad", "Elements added before and after along each axis.",
    (
        Attribute("before", "integers", "how many before, along each axis"),
        Attribute("after", "integers", "how many after, along each axis"),
        Attribute("mode", "choice", "what they are", choices=_MODES),
    ),
    _padded, _pad, _of_results(_padded),
)  # fmt: skip
TILE = _moving(
    "tile", "The whole repeated along each axis.",
    (Attribute("counts", "integers", "how often along each axis"),), _tiled, _tile,
    _of_results(_tiled),
)  # fmt: skip
REPEAT_ELEMENTS = _moving(
    "repeat_elements", "Each element repeated along an axis.",
    (_AXIS, Attribute("count", "integer", "how often")), _repeated, _repeat, _of_results(_repeated),
)  # fmt: skip
TRIL = _moving(
    "tril", "What is on and below a diagonal of the last two axes; 0 elsewhere.", (_OFFSET,),
    _square_axes, lambda call: _triangle(call, lower=True),
)  # fmt: skip
TRIU = _moving(
    "triu", "What is on and above a diagonal of the last two axes; 0 elsewhere.", (_OFFSET,),
    _square_axes, lambda call: _triangle(call, lower=False),
)  # fmt: skip
DIAGONAL = _moving(
    "diagonal", "A diagonal of the last two axes, as the last axis.", (_OFFSET,), _diagonal_shape,
    _diagonal, _of_results(_diagonal_shape),
)  # fmt: skip

OPERATORS = (CONCAT, ROLL, PAD, TILE, REPEAT_ELEMENTS, TRIL, TRIU, DIAGONAL)
