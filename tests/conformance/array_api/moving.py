"""Questions about moving and picking elements: manipulation, sorting, searching."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.conformance.array_api import values
from tests.conformance.array_api.question import Call, Question
from tests.conformance.array_api.values import ALL, NUMBERS, SHAPES, Draw

_SOME = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=values.SIDE)


def _concat(draw: Draw) -> Call:
    dtypes = values.promoting(draw, NUMBERS)
    shape = draw(values.AXES_SHAPES)
    axis = draw(st.none() | st.integers(-len(shape), len(shape) - 1))
    parts = []
    for dtype in dtypes:
        sides = list(shape)
        sides[axis or 0] = draw(st.integers(0, 3))
        parts.append(values.of_shape(draw, dtype, tuple(sides)))
    return Call((parts,), {"axis": axis})


def _stack(draw: Draw) -> Call:
    dtypes, shape = values.promoting(draw, ALL), draw(SHAPES)
    parts = [values.of_shape(draw, dtype, shape) for dtype in dtypes]
    return Call((parts,), {"axis": draw(st.integers(-len(shape) - 1, len(shape)))})


def _along(shapes: Any = values.AXES_SHAPES, dtypes: Any = ALL) -> Question:
    def make(draw: Draw) -> Call:
        x = values.array(draw, dtypes, shapes)
        return Call((x,), {"axis": values.axis_of(draw, x.shape)})

    return Question(make)


def _expand(draw: Draw) -> Call:
    x = values.array(draw)
    return Call((x,), {"axis": draw(st.integers(-x.ndim - 1, x.ndim))})


def _squeeze(draw: Draw) -> Call:
    shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=1, max_side=2)
    x = values.array(draw, ALL, shapes)
    ones = [axis for axis, length in enumerate(x.shape) if length == 1]
    if not ones:
        return Call((x, ()))
    chosen = draw(st.sampled_from((ones[0], ones[0] - x.ndim, tuple(ones))))
    return Call((x,), {"axis": chosen})


def _flip(draw: Draw) -> Call:
    x = values.array(draw)
    return Call((x,), {"axis": values.axes_of(draw, x.shape)})


def _permute(draw: Draw) -> Call:
    x = values.array(draw)
    return Call((x, tuple(draw(st.permutations(range(x.ndim))))))


def _moveaxis(draw: Draw) -> Call:
    x = values.array(draw, ALL, values.AXES_SHAPES)
    count = draw(st.integers(1, x.ndim))
    ends = [tuple(draw(st.permutations(range(x.ndim)))[:count]) for _ in range(2)]
    return Call((x, *ends) if count > 1 else (x, ends[0][0], ends[1][0]))


def _reshape(draw: Draw) -> Call:
    x = values.array(draw, ALL, _SOME)
    forms = [
        (x.size,), (1, x.size), (x.size, 1, 1), (-1,), x.shape[::-1], (x.shape[0], -1),
        (*x.shape[:-1], 1, x.shape[-1]),
    ]  # fmt: skip
    return Call((x, draw(st.sampled_from(forms))))


def _roll(draw: Draw) -> Call:
    x = values.array(draw)
    if not x.ndim or draw(st.booleans()):
        return Call((x, draw(st.integers(-9, 9))))
    axes = tuple(draw(st.permutations(range(x.ndim))))[: draw(st.integers(1, x.ndim))]
    shifts = tuple(draw(st.integers(-9, 9)) for _ in axes)
    return Call((x, shifts), {"axis": axes})


def _repeat(draw: Draw) -> Call:
    x = values.array(draw)
    axis = draw(st.none() | st.integers(-x.ndim, x.ndim - 1)) if x.ndim else None
    return Call((x, draw(st.integers(0, 3))), {"axis": axis})


def _tile(draw: Draw) -> Call:
    return Call((values.array(draw), draw(st.lists(st.integers(0, 2), max_size=3).map(tuple))))


def _take(draw: Draw) -> Call:
    x = values.array(draw, ALL, _SOME)
    axis = values.axis_of(draw, x.shape)
    length = x.shape[axis]
    dtype = draw(st.sampled_from(("int8", "int32", "int64", "uint8")))
    low = 0 if dtype[0] == "u" else -length
    places = values.of_shape(draw, dtype, (draw(st.integers(0, 4)),), low, length - 1)
    return Call((x, places), {"axis": axis})


def _take_along(draw: Draw) -> Call:
    x = values.array(draw, ALL, _SOME)
    axis = values.axis_of(draw, x.shape)
    shape = list(x.shape)
    shape[axis] = draw(st.integers(0, 3))
    length = x.shape[axis]
    places = values.of_shape(draw, "int64", tuple(shape), -length, length - 1)
    return Call((x, places), {"axis": axis})


def _sorted(descending: bool, dtypes: Any = NUMBERS) -> Any:
    def make(draw: Draw) -> Call:
        x = values.array(draw, dtypes, values.AXES_SHAPES)
        if x.dtype.kind == "f":
            # Where NaN goes the standard leaves open: we put it above all numbers.
            x = numpy.where(numpy.isnan(x), x.dtype.type(7), x)
        turned = {"descending": True} if descending and draw(st.booleans()) else {}
        return Call((x,), {"axis": values.axis_of(draw, x.shape), **turned})

    return make


def _position(draw: Draw) -> Call:
    x = values.array(draw, NUMBERS, values.FULL_SHAPES)
    axis = draw(st.none() | st.integers(-x.ndim, x.ndim - 1)) if x.ndim else None
    return Call((x,), {"axis": axis, "keepdims": draw(st.booleans())})


def _search(draw: Draw) -> Call:
    dtype = draw(st.sampled_from(NUMBERS))
    x = values.of_shape(draw, dtype, (draw(st.integers(0, 5)),), -9, 9)
    sought = values.of_shape(draw, dtype, draw(SHAPES), -9, 9)
    kwargs: dict[str, Any] = {"side": draw(st.sampled_from(("left", "right")))}
    if draw(st.booleans()):
        return Call((x, sought), {**kwargs, "sorter": numpy.argsort(x, stable=True)})
    return Call((numpy.sort(x), sought), kwargs)


QUESTIONS: Mapping[str, Question] = {
    "concat": Question(_concat),
    "stack": Question(_stack),
    "unstack": _along(),
    "expand_dims": Question(_expand),
    "squeeze": Question(_squeeze),
    "flip": Question(_flip),
    "permute_dims": Question(_permute),
    "moveaxis": Question(_moveaxis),
    "reshape": Question(_reshape),
    "roll": Question(_roll),
    "repeat": Question(_repeat),
    "tile": Question(_tile),
    "take": Question(_take),
    "take_along_axis": Question(_take_along),
    "sort": Question(_sorted(True)),
    "argsort": Question(_sorted(True)),
    "argmax": Question(_position),
    "argmin": Question(_position),
    "searchsorted": Question(_search),
}
