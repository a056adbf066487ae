"""Functions that compute each element by itself: those of the standard, and a few more."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import gpugoblin.array as core
from gpugoblin.arrays.building import (
    SCALARS,
    Operand,
    apply,
    array_of,
    arrays_of,
    called,
    constant,
    default_dtype,
    of_kind,
    paired,
    same_shape,
    same_type,
    scalar,
)
from gpugoblin.arrays.dtypes import ALL, BOOL, FLOATING, INTEGRAL, NUMERIC
from gpugoblin.errors import DtypeUnsupported, ShapeMismatch

One = Callable[["core.Array"], "core.Array"]
Two = Callable[[Operand, Operand], "core.Array"]


# Each function and the operator that it applies have one name.
def _one(name: str, kinds: frozenset[str], words: str) -> One:
    def function(x: core.Array, /) -> core.Array:
        return apply(name, of_kind(name, array_of(x), kinds))

    return _named(function, name, words)


def _whole(name: str, words: str) -> One:
    """For floats the operator; integers are what they are."""

    def function(x: core.Array, /) -> core.Array:
        array = of_kind(name, array_of(x), NUMERIC)
        return apply(name, array) if array.type.dtype in FLOATING else array

    return _named(function, name, words)


def _tested(name: str, for_integers: bool, words: str) -> One:
    """For floats the operator; of integers the answer is known."""

    def function(x: core.Array, /) -> core.Array:
        array = of_kind(name, array_of(x), NUMERIC)
        if array.type.dtype in FLOATING:
            return apply(name, array)
        return constant(for_integers, "bool", array.shape)

    return _named(function, name, words)


def _two(name: str, kinds: frozenset[str], words: str) -> Two:
    def function(x1: Operand, x2: Operand, /) -> core.Array:
        left, right = paired(name, x1, x2)
        return apply(name, of_kind(name, left, kinds), right)

    return _named(function, name, words)


def _named(function: Callable[..., core.Array], name: str, words: str) -> Callable[..., core.Array]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = words
    return function


_BITS = INTEGRAL | BOOL

abs = _one("abs", NUMERIC, "|x|.")  # noqa: A001
negative = _one("negative", NUMERIC, "-x; integers wrap.")
sign = _one("sign", NUMERIC, "-1, 0 or 1; NaN gives NaN.")
square = _one("square", NUMERIC, "x * x; integers wrap.")
reciprocal = _one("reciprocal", FLOATING, "1 / x.")
sqrt = _one("sqrt", FLOATING, "Square root; below 0 it is NaN.")
rsqrt = _one("rsqrt", FLOATING, "1 / sqrt(x).")
cbrt = _one("cbrt", FLOATING, "Cube root.")
exp = _one("exp", FLOATING, "e to the power of x.")
exp2 = _one("exp2", FLOATING, "2 to the power of x.")
expm1 = _one("expm1", FLOATING, "exp(x) - 1, accurate near 0.")
log = _one("log", FLOATING, "Natural logarithm; of 0 -infinity, below it NaN.")
log1p = _one("log1p", FLOATING, "log(1 + x), accurate near 0.")
log2 = _one("log2", FLOATING, "Logarithm to base 2.")
log10 = _one("log10", FLOATING, "Logarithm to base 10.")
sin = _one("sin", FLOATING, "Sine of radians.")
cos = _one("cos", FLOATING, "Cosine of radians.")
tan = _one("tan", FLOATING, "Tangent of radians.")
asin = _one("asin", FLOATING, "Arc sine in radians; NaN outside of [-1, 1].")
acos = _one("acos", FLOATING, "Arc cosine in radians; NaN outside of [-1, 1].")
atan = _one("atan", FLOATING, "Arc tangent in radians.")
sinh = _one("sinh", FLOATING, "Hyperbolic sine.")
cosh = _one("cosh", FLOATING, "Hyperbolic cosine.")
tanh = _one("tanh", FLOATING, "Hyperbolic tangent.")
asinh = _one("asinh", FLOATING, "Inverse hyperbolic sine.")
acosh = _one("acosh", FLOATING, "Inverse hyperbolic cosine; NaN below 1.")
atanh = _one("atanh", FLOATING, "Inverse hyperbolic tangent; NaN beyond 1.")
erf = _one("erf", FLOATING, "The error function.")
signbit = _one("signbit", FLOATING, "Whether the sign is negative; of -0 it is.")
logical_not = _one("logical_not", BOOL, "Whether x is false.")
bitwise_invert = _one("bitwise_invert", _BITS, "Every bit turned around.")
count_bits = _one("count_bits", INTEGRAL, "How many bits are set.")

floor = _whole("floor", "The largest whole number not above x.")
ceil = _whole("ceil", "The smallest whole number not below x.")
trunc = _whole("trunc", "The whole part of x.")
round = _whole("round", "The nearest whole number; of two the even one.")  # noqa: A001

isnan = _tested("isnan", False, "Whether x is NaN.")
isinf = _tested("isinf", False, "Whether x is an infinity.")
isfinite = _tested("isfinite", True, "Whether x is neither NaN nor an infinity.")

add = _two("add", NUMERIC, "x1 + x2; integers wrap.")
subtract = _two("subtract", NUMERIC, "x1 - x2; integers wrap.")
multiply = _two("multiply", NUMERIC, "x1 * x2; integers wrap.")
divide = _two("divide", FLOATING, "x1 / x2.")
floor_divide = _two(
    "floor_divide", NUMERIC,
    "The largest whole number not above x1 / x2; an integer by 0 fails when it is computed.",
)  # fmt: skip
remainder = _two(
    "remainder", NUMERIC,
    "x1 - x2 * floor(x1 / x2); an integer by 0 fails when it is computed.",
)  # fmt: skip
fmod = _two("fmod", NUMERIC, "x1 - x2 * trunc(x1 / x2).")
atan2 = _two("atan2", FLOATING, "The angle of the point (x2, x1), in radians.")
hypot = _two("hypot", FLOATING, "sqrt(x1^2 + x2^2) without overflow on the way.")
copysign = _two("copysign", FLOATING, "|x1| with the sign of x2.")
logaddexp = _two("logaddexp", FLOATING, "log(exp(x1) + exp(x2)).")
maximum = _two("maximum", NUMERIC, "The larger of two; NaN with anything is NaN.")
minimum = _two("minimum", NUMERIC, "The smaller of two; NaN with anything is NaN.")
gcd = _two("gcd", INTEGRAL, "The greatest common divisor.")

equal = _two("equal", ALL, "Whether x1 = x2; NaN equals nothing.")
not_equal = _two("not_equal", ALL, "Whether x1 is not equal to x2.")
less = _two("less", NUMERIC, "Whether x1 < x2.")
less_equal = _two("less_equal", NUMERIC, "Whether x1 <= x2.")
greater = _two("greater", NUMERIC, "Whether x1 > x2.")
greater_equal = _two("greater_equal", NUMERIC, "Whether x1 >= x2.")
logical_and = _two("logical_and", BOOL, "Whether both are true.")
logical_or = _two("logical_or", BOOL, "Whether one is true.")
logical_xor = _two("logical_xor", BOOL, "Whether just one is true.")
bitwise_and = _two("bitwise_and", _BITS, "Bits that are set in both.")
bitwise_or = _two("bitwise_or", _BITS, "Bits that are set in one.")
bitwise_xor = _two("bitwise_xor", _BITS, "Bits that are set in just one.")
bitwise_left_shift = _two(
    "bitwise_left_shift", INTEGRAL,
    "x1 times 2^x2, modulo 2^w; by less than 0 fails when it is computed.",
)  # fmt: skip
bitwise_right_shift = _two(
    "bitwise_right_shift", INTEGRAL,
    "floor(x1 / 2^x2); by less than 0 fails when it is computed.",
)  # fmt: skip


def pow(x1: Operand, x2: Operand, /) -> core.Array:  # noqa: A001
    """x1 to the power of x2; integers wrap, and a negative exponent of theirs fails."""
    if type(x2) is int and x2 == 2 and isinstance(x1, core.Array):
        return apply("square", of_kind("pow", x1, NUMERIC))
    left, right = paired("pow", x1, x2)
    of_kind("pow", left, NUMERIC)
    return apply("pow" if left.type.dtype in FLOATING else "integer_power", left, right)


class _Format(NamedTuple):
    roundoff: float
    smallest: float
    normal: float
    largest: float
    upwards: float


_FORMATS = {
    "float32": _Format(2.0**-24, 2.0**-149, 2.0**-126, float.fromhex("0x1.fffffep127"), 2.0**48),
    "float64": _Format(2.0**-53, 2.0**-1074, 2.0**-1022, sys.float_info.max, 2.0**110),
}


def nextafter(x1: Operand, x2: Operand, /) -> core.Array:
    """The float next to x1 in the direction of x2, which is itself the answer where they are equal.

    float32 numbers below 2^-126 may read as 0 on some machines of the network.
    """
    x, towards = paired("nextafter", x1, x2)
    form = _FORMATS[of_kind("nextafter", x, frozenset(_FORMATS)).type.dtype]
    size, up = abs(x), towards > x
    # Below twice the smallest normal number floats are equally far apart.
    near = where(up, x + form.smallest, x - form.smallest)
    near = where(near == 0, copysign(near, x), near)
    found = where(size < 2 * form.normal, near, _neighbour(x, size, up, form))
    # The way back from an infinity is the largest float: distances from there are infinite.
    found = where(isinf(x), copysign(constant(form.largest, x.type.dtype, x.shape), x), found)
    found = where(x == towards, towards, found)
    return where(isnan(x) | isnan(towards), x + towards, found)


def _neighbour(x: core.Array, size: core.Array, up: core.Array, form: _Format) -> core.Array:
    """S. M. Rump, P. Zimmermann, S. Boldo, G. Melquiond: Computing predecessor and successor in
    rounding to nearest, BIT 49 (2009), algorithm 1; small numbers are scaled up for it.
    """
    small = size < form.normal * form.upwards
    scaled = where(small, x * form.upwards, x)
    apart = abs(scaled) * (form.roundoff * (1 + 2 * form.roundoff))
    moved = where(up, scaled + apart, scaled - apart)
    return where(small, moved * (1 / form.upwards), moved)


def positive(x: core.Array, /) -> core.Array:
    """The numbers themselves."""
    array = of_kind("positive", array_of(x), NUMERIC)
    return core.of_value(array.home, array.value)


def real(x: core.Array, /) -> core.Array:
    """The numbers themselves: there are no complex element types."""
    return positive(x)


def conj(x: core.Array, /) -> core.Array:
    """The numbers themselves: there are no complex element types."""
    return positive(x)


def imag(x: core.Array, /) -> core.Array:
    """Zeros: there are no complex element types."""
    array = of_kind("imag", array_of(x), NUMERIC)
    return constant(0, array.type.dtype, array.shape)


def clip(
    x: core.Array, /, min: Operand | None = None, max: Operand | None = None  # noqa: A002
) -> core.Array:  # fmt: skip
    """min(max(x, `min`), `max`); bounds broadcast to `x`, None is no bound. Keeps x's dtype."""
    array = of_kind("clip", array_of(x), NUMERIC)
    given = [each for each in (min, max) if each is not None]
    low_or_high = [_bound(each, array) for each in given]
    if len(given) == 2:
        return apply("clip", *same_shape(array, *low_or_high))
    if not given:
        return positive(array)
    operator = "maximum" if max is None else "minimum"
    return apply(operator, *same_shape(array, *low_or_high))


def _bound(bound: Operand, array: core.Array) -> core.Array:
    made = arrays_of(array, bound)[1]
    _, made = same_type(array, made)
    if made.type.dtype != array.type.dtype:
        raise DtypeUnsupported(
            f"A bound of {made.type.dtype} does not go with {array.type.dtype}, which the result"
            " keeps. Cast one of them first."
        )
    return made


_WIDER = ("bool", "int64", "float64")


def where(condition: core.Array, x1: Operand, x2: Operand, /) -> core.Array:
    """Elements of `x1` where the condition, of bool, is true, of `x2` elsewhere."""
    chosen = of_kind("where", array_of(condition, "condition"), BOOL)
    if isinstance(x1, SCALARS) and isinstance(x2, SCALARS):
        name = max((default_dtype(each) for each in (x1, x2)), key=_WIDER.index)
        left, right = scalar(x1, name), scalar(x2, name)
    else:
        left, right = paired("where", x1, x2)
    try:
        return apply("where", *same_shape(chosen, left, right))
    except ShapeMismatch as error:
        raise ShapeMismatch(f"{called('where', (chosen, x1, x2))}: {error.detail}") from None


__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitwise_and",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clip",
    "conj",
    "copysign",
    "cos",
    "cosh",
    "count_bits",
    "divide",
    "equal",
    "erf",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fmod",
    "gcd",
    "greater",
    "greater_equal",
    "hypot",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "less",
    "less_equal",
    "log",
    "log1p",
    "log2",
    "log10",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "nextafter",
    "not_equal",
    "positive",
    "pow",
    "real",
    "reciprocal",
    "remainder",
    "round",
    "rsqrt",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "subtract",
    "tan",
    "tanh",
    "trunc",
    "where",
]  # fmt: skip
