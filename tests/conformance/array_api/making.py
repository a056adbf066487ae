"""Questions about creation, element types and constants."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.conformance.array_api import values
from tests.conformance.array_api.comparison import ROUNDED, Tolerance
from tests.conformance.array_api.question import Call, Question, Type
from tests.conformance.array_api.values import ALL, FLOATS, INTEGERS, NUMBERS, Draw

_EVEN = Tolerance(
    8,
    "start + i step: one product and one sum, and the step itself, each rounded",
    lambda _result, arguments: max(map(abs, arguments[:2])),
)


def _dtype(draw: Draw, dtypes: Any = ALL) -> dict[str, Any]:
    """A dtype, or the default."""
    name = draw(st.none() | st.sampled_from(dtypes))
    return {} if name is None else {"dtype": Type(name)}


def _shape(draw: Draw) -> Any:
    shape = draw(values.SHAPES)
    return shape[0] if len(shape) == 1 and draw(st.booleans()) else shape


def _filled(draw: Draw) -> Call:
    return Call((_shape(draw),), _dtype(draw))


def _like(draw: Draw) -> Call:
    return Call((values.array(draw),), _dtype(draw))


def _full(draw: Draw) -> Call:
    dtype = draw(st.sampled_from(ALL))
    value = draw(values.elements(dtype))
    default = dtype in ("int64", "float64", "bool") and draw(st.booleans())
    return Call((_shape(draw), value), {} if default else {"dtype": Type(dtype)})


def _full_like(draw: Draw) -> Call:
    x = values.array(draw)
    return Call((x, draw(values.elements(str(x.dtype)))))


def _arange(draw: Draw) -> Call:
    step = draw(st.sampled_from((1, 2, 3, -1, -2)))
    start = draw(st.integers(-5, 20))
    if draw(st.booleans()):
        return Call((start, draw(st.integers(-5, 20)), step), _dtype(draw, ("int32", "float32")))
    return Call((start,) if start >= 0 else (start, 3), _dtype(draw, ("int64", "float64")))


def _linspace(draw: Draw) -> Call:
    ends = tuple(draw(st.integers(-100, 100)) / 4 for _ in range(2))
    return Call(
        (*ends, draw(st.integers(0, 7))),
        {"endpoint": draw(st.booleans()), **_dtype(draw, FLOATS)},
    )


def _eye(draw: Draw) -> Call:
    sides = (draw(st.integers(0, 4)), draw(st.none() | st.integers(0, 4)))
    return Call(sides, {"k": draw(st.integers(-5, 5)), **_dtype(draw)})


def _triangle(draw: Draw) -> Call:
    shapes = hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=values.SIDE)
    return Call((values.array(draw, ALL, shapes),), {"k": draw(st.integers(-5, 5))})


def _meshgrid(draw: Draw) -> Call:
    dtype = draw(st.sampled_from(NUMBERS))
    count = draw(st.integers(1, 3))
    lines = tuple(values.of_shape(draw, dtype, (draw(st.integers(0, 3)),)) for _ in range(count))
    return Call(lines, {"indexing": draw(st.sampled_from(("xy", "ij")))})


def _astype(draw: Draw) -> Call:
    """Only values that the other type has: what numpy makes of others is the processor's."""
    target = draw(st.sampled_from(ALL))
    low, high = (0, 100) if target[0] == "u" else (-100, 100)
    source = draw(st.sampled_from(ALL))
    if target in FLOATS:
        return Call(
            (values.array(draw, (source,), values.SHAPES, -(2.0**99), 2.0**99), Type(target))
        )
    return Call((values.array(draw, (source,), values.SHAPES, low, high), Type(target)))


def _asarray(draw: Draw) -> Call:
    x = values.array(draw)
    if draw(st.booleans()):
        return Call((x,))
    dtype = str(x.dtype)
    return Call((x.tolist(),), {"dtype": Type(dtype)})


def _spread(draw: Draw) -> Call:
    x = values.array(draw, ALL, values.FULL_SHAPES)
    more = draw(hnp.array_shapes(min_dims=0, max_dims=2, min_side=0, max_side=3))
    return Call((x, (*more, *x.shape)))


def _several(draw: Draw) -> Call:
    shapes = values.broadcasting(draw, draw(st.integers(1, 3)))
    return Call(tuple(values.of_shape(draw, draw(st.sampled_from(ALL)), each) for each in shapes))


def _types(draw: Draw) -> Call:
    first, second = values.promoting(draw, ALL)
    return Call((Type(first), values.of_shape(draw, second, (2,))))


def _can_cast(draw: Draw) -> Call:
    return Call(_types_alone(draw, 2))


def _types_alone(draw: Draw, count: int) -> tuple[Type, ...]:
    return tuple(Type(draw(st.sampled_from(ALL))) for _ in range(count))


def _isdtype(draw: Draw) -> Call:
    kinds = (
        "bool", "signed integer", "unsigned integer", "integral", "real floating", "numeric",
        "complex floating",
    )  # fmt: skip
    kind = draw(st.sampled_from(kinds) | st.tuples(*[st.sampled_from(kinds)] * 2))
    return Call((*_types_alone(draw, 1), kind))


QUESTIONS: Mapping[str, Question] = {
    "zeros": Question(_filled),
    "ones": Question(_filled),
    "empty": Question(_filled, values=False),
    "zeros_like": Question(_like),
    "ones_like": Question(_like),
    "empty_like": Question(_like, values=False),
    "full": Question(_full),
    "full_like": Question(_full_like),
    "arange": Question(_arange),
    "linspace": Question(_linspace, _EVEN),
    "eye": Question(_eye),
    "tril": Question(_triangle),
    "triu": Question(_triangle),
    "meshgrid": Question(_meshgrid),
    "asarray": Question(_asarray),
    "astype": Question(_astype, ROUNDED),
    "broadcast_to": Question(_spread),
    "broadcast_arrays": Question(_several),
    # numpy casts more than the standard promises.
    "can_cast": Question(_can_cast, references=("array-api-strict",)),
    "result_type": Question(_types),
    "isdtype": Question(_isdtype),
    "finfo": Question(lambda draw: Call((Type(draw(st.sampled_from(FLOATS))),))),
    "iinfo": Question(lambda draw: Call((Type(draw(st.sampled_from(INTEGERS))),))),
}
CONSTANTS = {name: getattr(numpy, name) for name in ("e", "inf", "nan", "newaxis", "pi")}
"""Names that stand for a value, and the value."""
