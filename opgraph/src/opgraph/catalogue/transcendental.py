"""Elementary functions: roots, exponentials, logarithms, circular and hyperbolic functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from opgraph.catalogue.declaration import Call, Implementation, Operator
from opgraph.catalogue.elementwise import ULPS, of_floats, ufunc, within_ulps
from opgraph.catalogue.erf import erf, erf_bytes

_FAMILY = "transcendental"
_AS_C99 = "As C99, annex F: NaN gives NaN"


def _function(
    name: str,
    summary: str,
    special: str,
    *,
    numpy_name: str = "",
    ulps: float = ULPS,
    exact: Callable[..., Any] | None = None,
    run: Implementation | None = None,
    operands: tuple[str, ...] = ("operand",),
) -> Operator:
    function = exact or getattr(numpy, numpy_name or name)
    return of_floats(
        name,
        _FAMILY,
        summary,
        within_ulps(function, ulps),
        f"{_AS_C99}; {special}",
        operands=operands,
        run=run or ufunc(numpy_name or name),
    )


def _rsqrt(call: Call) -> None:
    result = call.results[0]
    call.xp.sqrt(call.operands[0], out=result)
    call.xp.divide(1, result, out=result)


SQRT = _function("sqrt", "Square root.", "below 0 gives NaN, -0 gives -0.", ulps=0.5)
RSQRT = _function(
    "rsqrt",
    "1 / sqrt(operand).",
    "below 0 gives NaN, 0 gives infinity, -0 gives -infinity, infinity gives 0.",
    exact=lambda x: 1 / numpy.sqrt(x),
    run=_rsqrt,
)
CBRT = _function("cbrt", "Cube root.", "infinities and signed zeros stay.")
EXP = _function("exp", "e to the power of the operand.", "-infinity gives 0.")
EXP2 = _function("exp2", "2 to the power of the operand.", "-infinity gives 0.")
EXPM1 = _function("expm1", "exp(operand) - 1, accurate near 0.", "-infinity gives -1, -0 stays.")
LOG = _function("log", "Natural logarithm.", "0 gives -infinity, below 0 gives NaN.")
LOG2 = _function("log2", "Logarithm to base 2.", "0 gives -infinity, below 0 gives NaN.")
LOG10 = _function("log10", "Logarithm to base 10.", "0 gives -infinity, below 0 gives NaN.")
LOG1P = _function(
    "log1p", "log(1 + operand), accurate near 0.", "-1 gives -infinity, below gives NaN, -0 stays."
)
SIN = _function("sin", "Sine of radians.", "infinities give NaN, -0 stays.")
COS = _function("cos", "Cosine of radians.", "infinities give NaN.")
TAN = _function("tan", "Tangent of radians.", "infinities give NaN, -0 stays.")
ASIN = _function(
    "asin", "Arc sine, in radians.", "outside of [-1, 1] gives NaN, -0 stays.", numpy_name="arcsin"
)
ACOS = _function(
    "acos", "Arc cosine, in radians.", "outside of [-1, 1] gives NaN.", numpy_name="arccos"
)
ATAN = _function("atan", "Arc tangent, in radians.", "-0 stays.", numpy_name="arctan")
ATAN2 = _function(
    "atan2",
    "The angle of the point (right, left), in radians from -pi to pi.",
    "signed zeros and infinities choose the quadrant.",
    numpy_name="arctan2",
    operands=("left", "right"),
)
SINH = _function("sinh", "Hyperbolic sine.", "infinities and -0 stay.")
COSH = _function("cosh", "Hyperbolic cosine.", "infinities give infinity.")
TANH = _function("tanh", "Hyperbolic tangent.", "infinities give 1 and -1, -0 stays.")
ASINH = _function(
    "asinh", "Inverse hyperbolic sine.", "infinities and -0 stay.", numpy_name="arcsinh"
)
ACOSH = _function("acosh", "Inverse hyperbolic cosine.", "below 1 gives NaN.", numpy_name="arccosh")
ATANH = _function(
    "atanh",
    "Inverse hyperbolic tangent.",
    "1 gives infinity, -1 gives -infinity, beyond gives NaN, -0 stays.",
    numpy_name="arctanh",
)
HYPOT = _function(
    "hypot",
    "sqrt(left^2 + right^2) without overflow on the way.",
    "an infinity gives infinity, with NaN too.",
    operands=("left", "right"),
)
POW = _function(
    "pow",
    "left to the power of right.",
    "anything to 0 gives 1, 1 to anything gives 1; below 0 only whole exponents.",
    numpy_name="power",
    ulps=8,
    operands=("left", "right"),
)
LOGADDEXP = _function(
    "logaddexp",
    "log(exp(left) + exp(right)) without overflow on the way.",
    "-infinity with -infinity gives -infinity.",
    ulps=8,
    exact=lambda a, b: numpy.maximum(numpy.abs(a), numpy.abs(b)) + 1,
    operands=("left", "right"),
)

ERF = of_floats(
    "erf",
    _FAMILY,
    "The error function.",
    within_ulps(lambda x: numpy.minimum(2 / numpy.sqrt(numpy.pi) * numpy.abs(x), 1.0)),
    f"{_AS_C99}; infinities give 1 and -1, -0 stays.",
    run=erf,
    temporaries=erf_bytes,
    contiguous=True,
)

OPERATORS = (
    SQRT, RSQRT, CBRT, EXP, EXP2, EXPM1, LOG, LOG2, LOG10, LOG1P, SIN, COS, TAN, ASIN, ACOS, ATAN,
    ATAN2, SINH, COSH, TANH, ASINH, ACOSH, ATANH, HYPOT, POW, LOGADDEXP, ERF,
)  # fmt: skip
