"""Tensors out of nothing but attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from opgraph.catalogue.attributes import Attribute, Attributes, integer, integers, number, word
from opgraph.catalogue.declaration import Call, Implementation, Operator, ShapeRule, Work
from opgraph.catalogue.halves import round_into
from opgraph.catalogue.rules import EXACT_FROM_ATTRIBUTES
from opgraph.errors import GraphError
from opgraph.tensors import DTYPES, FLOATS, HALVES, INTEGERS, Shape

_FAMILY = "shaping"
_DTYPE = Attribute("dtype", "dtype", "the dtype of the result")
_SHAPE = Attribute("shape", "integers", "the shape of the result")
_NONE = "There are no special values."


def _shape(_shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    shape = integers(attributes, "shape")
    if min(shape, default=0) < 0:
        raise GraphError("wrong_shape", f"{list(shape)} has a negative size.")
    return (shape,)


def _made(
    name: str,
    summary: str,
    attributes: tuple[Attribute, ...],
    dtypes: Sequence[str],
    shapes: ShapeRule,
    run: Implementation,
    elements: Callable[[Attributes], int],
    special: str = _NONE,
) -> Operator:
    return Operator(
        name=name,
        family=_FAMILY,
        summary=summary,
        operands=(),
        attributes=(*attributes, _DTYPE),
        dtypes={(dtype,): (dtype,) for dtype in dtypes},
        shapes=shapes,
        run=run,
        flops=Work(lambda _types, given: elements(given), "1 for each made"),
        error=EXACT_FROM_ATTRIBUTES,
        special_values=special,
    )


def _full(call: Call) -> None:
    xp, result = call.xp, call.results[0]
    dtype, value = word(call.attributes, "dtype"), number(call.attributes, "value")
    if dtype in HALVES:
        bits = xp.empty((1,), result.dtype)
        round_into(xp, bits, xp.full((1,), value, xp.float32), dtype)
        result[...] = bits[0]
    else:
        result.fill(value)


def _full_integers(call: Call) -> None:
    result, value = call.results[0], integer(call.attributes, "value")
    # Modulo 2^w, so that one attribute does for every width.
    bits = value % 2 ** (8 * result.dtype.itemsize)
    result.view(f"uint{8 * result.dtype.itemsize}").fill(bits)


def _arange_shape(_shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    length = integer(attributes, "length")
    if length < 0:
        raise GraphError("wrong_shape", f"{length} is no length.")
    return ((length,),)


def _arange(call: Call) -> None:
    xp, result = call.xp, call.results[0]
    unsigned = xp.dtype(f"uint{8 * result.dtype.itemsize}")
    width = 2 ** (8 * unsigned.itemsize)
    numbers = result.view(unsigned)
    numbers[...] = 1
    if len(numbers):
        numbers[0] = 0
    xp.cumsum(numbers, dtype=unsigned, out=numbers)
    numbers *= unsigned.type(integer(call.attributes, "step") % width)
    numbers += unsigned.type(integer(call.attributes, "start") % width)


def _eye_shape(_shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    sides = integer(attributes, "rows"), integer(attributes, "columns")
    if min(sides) < 0:
        raise GraphError("wrong_shape", f"{list(sides)} has a negative size.")
    return (sides,)


def _eye(call: Call) -> None:
    result, offset = call.results[0], integer(call.attributes, "offset")
    one = {"float16": 0x3C00, "bfloat16": 0x3F80}.get(word(call.attributes, "dtype"))
    result.fill(0)
    rows, columns = result.shape
    first_row, first_column = max(0, -offset), max(0, offset)
    count = min(rows - first_row, columns - first_column)
    if count > 0:
        flat = result if one is None else result.view(call.xp.uint16)
        start = first_row * columns + first_column
        stop = start + (count - 1) * (columns + 1) + 1
        flat.reshape(-1)[start : stop : columns + 1] = 1 if one is None else one


FULL = _made(
    "full",
    "One float everywhere.",
    (_SHAPE, Attribute("value", "float", "the number, rounded to the dtype")),
    (*FLOATS, *HALVES),
    _shape,
    _full,
    lambda given: prod(integers(given, "shape")),
    "NaN, infinities and -0 may be the number.",
)
FULL_INTEGERS = _made(
    "full_integers",
    "One whole number everywhere.",
    (_SHAPE, Attribute("value", "integer", "the number, modulo 2^w")),
    INTEGERS,
    _shape,
    _full_integers,
    lambda given: prod(integers(given, "shape")),
)
ARANGE = _made(
    "arange",
    "start, start + step, and so on, modulo 2^w.",
    (
        Attribute("start", "integer", "the first number"),
        Attribute("step", "integer", "from one number to the next"),
        Attribute("length", "integer", "how many"),
    ),
    INTEGERS,
    _arange_shape,
    _arange,
    lambda given: integer(given, "length"),
)
EYE = _made(
    "eye",
    "Ones on a diagonal, zeros elsewhere.",
    (
        Attribute("rows", "integer", "how many rows"),
        Attribute("columns", "integer", "how many columns"),
        Attribute("offset", "integer", "column minus row of the ones"),
    ),
    DTYPES,
    _eye_shape,
    _eye,
    lambda given: integer(given, "rows") * integer(given, "columns"),
)

OPERATORS = (FULL, FULL_INTEGERS, ARANGE, EYE)
