"""Questions about the array object: operators, and what stands between brackets."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from gpugoblin import local
from tests.conformance.array_api import elementwise, values
from tests.conformance.array_api.comparison import EXACT, ROUNDED, difference
from tests.conformance.array_api.values import ALL, Draw

OPERATORS: Mapping[str, tuple[str, Callable[..., Any]]] = {
    "+": ("add", operator.add),
    "-": ("subtract", operator.sub),
    "*": ("multiply", operator.mul),
    "/": ("divide", operator.truediv),
    "//": ("floor_divide", operator.floordiv),
    "%": ("remainder", operator.mod),
    "**": ("pow", operator.pow),
    "<": ("less", operator.lt),
    "<=": ("less_equal", operator.le),
    ">": ("greater", operator.gt),
    ">=": ("greater_equal", operator.ge),
    "==": ("equal", operator.eq),
    "!=": ("not_equal", operator.ne),
    "&": ("bitwise_and", operator.and_),
    "|": ("bitwise_or", operator.or_),
    "^": ("bitwise_xor", operator.xor),
    "<<": ("bitwise_left_shift", operator.lshift),
    ">>": ("bitwise_right_shift", operator.rshift),
    "-x": ("negative", operator.neg),
    "+x": ("positive", operator.pos),
    "abs": ("abs", operator.abs),
    "~": ("bitwise_invert", operator.invert),
}
"""Each operator of the array object, the function of the standard that it is, and Python's."""


def operators(draw: Draw) -> str:
    """What is wrong with one of the operators on some operands, or nothing."""
    sign = draw(st.sampled_from(sorted(OPERATORS)))
    name, function = OPERATORS[sign]
    arguments = elementwise.QUESTIONS[name].make(draw).args
    with numpy.errstate(all="ignore"):
        theirs = numpy.asarray(function(*arguments))
    ours = function(*(_ours(each) for each in arguments)).compute()
    tolerance = ROUNDED if sign == "**" else EXACT
    fault = difference(ours, theirs, tolerance, arguments)
    return f"{sign} of {arguments}: {fault}" if fault else ""


def parts(draw: Draw) -> str:
    """What is wrong with `x[key]` for one key, or nothing."""
    x = values.array(draw, ALL)
    key = draw(hnp.basic_indices(x.shape, allow_newaxis=True) | _of_arrays(x.shape))
    theirs, ours = numpy.asarray(x[key]), local.array(x)[key].compute()
    fault = difference(ours, theirs, EXACT, (x,))
    return f"{x!r}[{key}]: {fault}" if fault else ""


def settings_of_items(draw: Draw) -> str:
    """What is wrong with `x[key] = value` for one key, or nothing."""
    x = values.array(draw, ALL)
    key = draw(hnp.basic_indices(x.shape) | _masks(x.shape))
    masked = isinstance(key, numpy.ndarray)
    shape = () if masked else numpy.asarray(x[key]).shape
    value = values.of_shape(draw, str(x.dtype), shape)
    theirs, ours = x.copy(), local.array(x.copy())
    before = ours[...]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs[key] = value
    ours[key] = local.array(value)
    fault = difference(ours.compute(), theirs, EXACT, (x,))
    kept = difference(before.compute(), x, EXACT, (x,))
    return f"{x!r}[{key}] = {value!r}: {fault or kept}" if fault or kept else ""


def _of_arrays(shape: tuple[int, ...]) -> Any:
    """Index arrays; where an axis is empty there is nothing that they could name."""
    if not shape or 0 in shape:
        return hnp.basic_indices(shape, allow_newaxis=True)
    return hnp.integer_array_indices(
        shape, result_shape=hnp.array_shapes(min_dims=1, max_dims=2, min_side=0, max_side=3)
    )


def _masks(shape: tuple[int, ...]) -> Any:
    return hnp.arrays("bool", shape)


def _ours(argument: Any) -> Any:
    return local.array(argument) if isinstance(argument, numpy.ndarray) else argument


ASPECTS: Mapping[str, Callable[[Draw], str]] = {
    "operators": operators,
    "x[key]": parts,
    "x[key] = value": settings_of_items,
}
