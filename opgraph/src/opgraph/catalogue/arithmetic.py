"""Elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opgraph.catalogue.declaration import Attributes, Call, Implementation, Operator
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT, rounded_once, same_dtype, same_shape
from opgraph.tensors import FLOATS, INTEGERS, Array

_IEEE = "IEEE 754 for NaN, infinities and signed zeros; integers wrap modulo 2^w."


def _ufunc(name: str) -> Implementation:
    def run(call: Call) -> None:
        getattr(call.xp, name)(*call.operands, out=call.results[0])

    return run


def _binary(name: str, exact: Callable[[Array, Array], Array], summary: str) -> Operator:
    def scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
        return abs(exact(operands[0], operands[1]))

    return Operator(
        name=name,
        family="arithmetic",
        summary=summary,
        operands=("left", "right"),
        dtypes=same_dtype(2, FLOATS + INTEGERS),
        shapes=same_shape,
        run=_ufunc(name),
        flops=ONE_PER_ELEMENT,
        error=rounded_once(scale, "u |result|"),
        special_values=_IEEE,
        in_place=(0, 1),
    )


ADD = _binary("add", lambda left, right: left + right, "left + right.")
SUBTRACT = _binary("subtract", lambda left, right: left - right, "left - right.")
MULTIPLY = _binary("multiply", lambda left, right: left * right, "left * right.")
NEGATIVE = Operator(
    name="negative",
    family="arithmetic",
    summary="-operand.",
    operands=("operand",),
    dtypes=same_dtype(1, FLOATS + INTEGERS),
    shapes=same_shape,
    run=_ufunc("negative"),
    flops=ONE_PER_ELEMENT,
    error=EXACT,
    special_values=_IEEE,
    in_place=(0,),
)

OPERATORS = (ADD, SUBTRACT, MULTIPLY, NEGATIVE)
