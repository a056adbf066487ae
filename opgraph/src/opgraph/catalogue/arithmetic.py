"""Elementwise arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attributes
from opgraph.catalogue.declaration import Call, Count, ErrorRule, Implementation, Operator, Types
from opgraph.catalogue.elementwise import IEEE, bytes_per_element, of_floats, ufunc, within_ulps
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT, rounded_once, same_dtype, same_shape
from opgraph.errors import ComputationError
from opgraph.tensors import FLOATS, INTEGERS, Array

_WRAP = "integers wrap modulo 2^w"
_NUMBERS = FLOATS + INTEGERS


def _arithmetic(
    name: str,
    summary: str,
    error: ErrorRule,
    special: str,
    *,
    arity: int = 2,
    run: Implementation | None = None,
    run_cupy: Implementation | None = None,
    temporaries: Count | None = None,
) -> Operator:
    names = {1: ("operand",), 2: ("left", "right")}.get(arity, ("operand", "low", "high"))
    return with_halves(
        Operator(
            name=name,
            family="arithmetic",
            summary=summary,
            operands=names,
            dtypes=same_dtype(arity, _NUMBERS),
            shapes=same_shape,
            run=run or ufunc(name),
            run_cupy=run_cupy,
            flops=ONE_PER_ELEMENT,
            error=error,
            special_values=special,
            temporaries=temporaries or bytes_per_element(0),
            in_place=tuple(range(arity)),
        )
    )


def _once(exact: Callable[..., Any]) -> ErrorRule:
    def scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
        return abs(exact(*operands))

    return rounded_once(scale, "u |result|")


def _nonzero(divisor: Array) -> None:
    if divisor.dtype.kind in "iu" and not divisor.all():
        raise ComputationError("division_by_zero", "An integer is divided by 0.")


def _floor_divide(call: Call) -> None:
    _nonzero(call.operands[1])
    call.xp.floor_divide(*call.operands, out=call.results[0])


def _remainder(call: Call) -> None:
    _nonzero(call.operands[1])
    call.xp.remainder(*call.operands, out=call.results[0])


def _fmod(call: Call) -> None:
    _nonzero(call.operands[1])
    call.xp.fmod(*call.operands, out=call.results[0])


def _exact_remainder(xp: Any, left: Array, right: Array) -> Array:
    """numpy's rule: exact, with the sign of the divisor (cupy multiplies back and rounds)."""
    found = xp.fmod(left, right)
    found += right * ((found != 0) & ((found < 0) != (right < 0)))
    return xp.where(found == 0, xp.copysign(found, right), found)


def _remainder_cupy(call: Call) -> None:
    left, right = call.operands
    _nonzero(right)
    if left.dtype.kind in "iu":
        call.results[0][...] = call.xp.remainder(left, right)
    else:
        call.results[0][...] = _exact_remainder(call.xp, left, right)


def _floor_divide_cupy(call: Call) -> None:
    left, right = call.operands
    _nonzero(right)
    xp = call.xp
    if left.dtype.kind in "iu":
        call.results[0][...] = xp.floor_divide(left, right)
        return
    quotient = (left - _exact_remainder(xp, left, right)) / right
    floor = xp.floor(quotient)
    floor += quotient - floor > 0.5
    plain = left / right
    floor = xp.where(quotient == 0, xp.copysign(quotient, plain), floor)
    call.results[0][...] = xp.where(right == 0, plain, floor)


def _nan_mask(types: Types, _attributes: Attributes) -> int:
    return types[0].elements if types[0].dtype in FLOATS else 0


def _sign(call: Call) -> None:
    operand, result = call.operands[0], call.results[0]
    xp = call.xp
    if operand.dtype.kind != "f":
        xp.sign(operand, out=result)
        return
    # numpy and cupy differ on NaN.
    unordered = xp.isnan(operand)
    xp.sign(operand, out=result)
    xp.copyto(result, result.dtype.type(numpy.nan), where=unordered)
    result += 0


def _clip(call: Call) -> None:
    operand, low, high = call.operands
    xp, result = call.xp, call.results[0]
    if result is high:
        high = high.copy()
    xp.maximum(operand, low, out=result)
    xp.minimum(result, high, out=result)


def _reciprocal(call: Call) -> None:
    call.xp.divide(1, call.operands[0], out=call.results[0])


ADD = _arithmetic("add", "left + right.", _once(lambda a, b: a + b), f"{IEEE}; {_WRAP}.")
SUBTRACT = _arithmetic("subtract", "left - right.", _once(lambda a, b: a - b), f"{IEEE}; {_WRAP}.")
MULTIPLY = _arithmetic("multiply", "left * right.", _once(lambda a, b: a * b), f"{IEEE}; {_WRAP}.")
NEGATIVE = _arithmetic("negative", "-operand.", EXACT, f"{IEEE}; {_WRAP}.", arity=1)
ABS = _arithmetic(
    "abs", "|operand|.", EXACT, "NaN gives NaN; the smallest signed integer stays.", arity=1,
    run=ufunc("absolute"),
)  # fmt: skip
SQUARE = _arithmetic(
    "square", "operand * operand.", _once(lambda a: a * a), f"{IEEE}; {_WRAP}.", arity=1
)
SIGN = _arithmetic(
    "sign",
    "-1, 0 or 1.",
    EXACT,
    "NaN gives NaN, 0 and -0 give 0.",
    arity=1,
    run=_sign,
    temporaries=_nan_mask,
)
MAXIMUM = _arithmetic(
    "maximum", "The larger of two.", EXACT,
    "NaN with anything gives NaN; of 0 and -0 either may come.",
)  # fmt: skip
MINIMUM = _arithmetic(
    "minimum", "The smaller of two.", EXACT,
    "NaN with anything gives NaN; of 0 and -0 either may come.",
)  # fmt: skip
CLIP = _arithmetic(
    "clip", "min(max(operand, low), high).", EXACT,
    "NaN in any gives NaN; where low is above high it is high.", arity=3, run=_clip,
)  # fmt: skip
DIVIDE = of_floats(
    "divide", "arithmetic", "left / right.", _once(lambda a, b: a / b), f"{IEEE}.",
    operands=("left", "right"),
)  # fmt: skip
RECIPROCAL = of_floats(
    "reciprocal", "arithmetic", "1 / operand.", _once(lambda a: 1 / a), f"{IEEE}.",
    run=_reciprocal,
)  # fmt: skip
COPYSIGN = of_floats(
    "copysign", "arithmetic", "|left| with the sign of right.", EXACT,
    "The sign of NaN and of -0 counts too.", operands=("left", "right"),
)  # fmt: skip
FLOOR_DIVIDE = _arithmetic(
    "floor_divide", "The largest whole number not above left / right.",
    within_ulps(lambda a, b: abs(a / b) + 1, 1),
    "Floats by numpy's rule: a number by 0 gives an infinity, 0 by 0, an infinity by anything and"
    " NaN give NaN; an integer by 0 is an error; the smallest integer by -1 stays.",
    run=_floor_divide, run_cupy=_floor_divide_cupy,
)  # fmt: skip
REMAINDER = _arithmetic(
    "remainder", "left - right * floor(left / right), exact; the sign is that of right.",
    _once(lambda a, b: numpy.abs(numpy.remainder(a, b))),
    "Floats by numpy's rule: by 0, an infinity by anything and NaN give NaN; an integer by 0 is an"
    " error.",
    run=_remainder, run_cupy=_remainder_cupy,
)  # fmt: skip
FMOD = _arithmetic(
    "fmod", "left - right * trunc(left / right), exact; the sign is that of left.", EXACT,
    "By 0, an infinity by anything and NaN give NaN; an integer by 0 is an error.", run=_fmod,
)  # fmt: skip

OPERATORS = (
    ADD, SUBTRACT, MULTIPLY, NEGATIVE, ABS, SQUARE, SIGN, MAXIMUM, MINIMUM, CLIP, DIVIDE,
    RECIPROCAL, COPYSIGN, FLOOR_DIVIDE, REMAINDER, FMOD,
)  # fmt: skip
