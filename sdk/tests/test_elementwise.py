"""Elementwise functions and Python's operators on lazy arrays, against numpy."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import gpugoblin
from gpugoblin import errors, local, xp

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = ("float32", "float64")
NUMBERS = (*INTEGERS, *FLOATS)
TOLERANCE = {"float32": 2e-6, "float64": 1e-14}

NUMPY_NAMES = {
    "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert", "pow": "power",
    "bitwise_left_shift": "left_shift", "bitwise_right_shift": "right_shift",
}  # fmt: skip
OF_FLOATS = (
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "exp", "exp2",
    "expm1", "log", "log10", "log1p", "log2", "reciprocal", "signbit", "sin", "sinh", "sqrt",
    "tan", "tanh", "round",
)  # fmt: skip
OF_NUMBERS = (
    "abs", "ceil", "floor", "isfinite", "isinf", "isnan", "negative", "positive", "sign", "square",
    "trunc",
)  # fmt: skip
OF_TWO_FLOATS = ("atan2", "copysign", "divide", "hypot", "logaddexp", "nextafter")
OF_TWO_NUMBERS = ("add", "floor_divide", "fmod", "maximum", "minimum", "multiply", "pow",
                  "remainder", "subtract")  # fmt: skip
COMPARISONS = ("equal", "greater", "greater_equal", "less", "less_equal", "not_equal")
OF_BITS = ("bitwise_and", "bitwise_or", "bitwise_xor")
SHIFTS = ("bitwise_left_shift", "bitwise_right_shift")


def drawn(dtype: str, seed: int = 0, shape: tuple[int, ...] = (3, 4)) -> Any:
    random = numpy.random.default_rng(seed)
    if dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if dtype in FLOATS:
        return random.uniform(0.1, 0.9, shape).astype(dtype)
    return random.integers(1, 6, shape).astype(dtype)


def agrees(lazy: Any, wanted: Any) -> None:
    assert (lazy.shape, lazy.dtype) == (wanted.shape, wanted.dtype)
    made = lazy.compute()
    if wanted.dtype.kind == "f":
        allowed = TOLERANCE[str(wanted.dtype)]
        assert numpy.allclose(made, wanted, rtol=allowed, atol=allowed, equal_nan=True)
    else:
        assert numpy.array_equal(made, wanted)


def numpys(name: str) -> Any:
    return getattr(numpy, NUMPY_NAMES.get(name, name))


ONES = dict.fromkeys(OF_FLOATS, FLOATS)
ONES |= dict.fromkeys(OF_NUMBERS, NUMBERS)
ONES |= {"bitwise_invert": (*INTEGERS, "bool"), "logical_not": ("bool",)}
TWOS = dict.fromkeys(OF_TWO_FLOATS, FLOATS)
TWOS |= dict.fromkeys((*OF_TWO_NUMBERS, *COMPARISONS), NUMBERS)
TWOS |= dict.fromkeys(OF_BITS, (*INTEGERS, "bool"))
TWOS |= dict.fromkeys(SHIFTS, INTEGERS)
TWOS |= dict.fromkeys(("logical_and", "logical_or", "logical_xor"), ("bool",))


@pytest.mark.parametrize("name", ONES)
def test_functions_of_one_array_are_numpys(name: str) -> None:
    for dtype in ONES[name]:
        plain = (drawn(dtype) + (1 if name == "acosh" else 0)).astype(dtype)
        agrees(getattr(xp, name)(local.array(plain)), numpys(name)(plain))


@pytest.mark.parametrize("name", TWOS)
def test_functions_of_two_arrays_are_numpys_and_broadcast(name: str) -> None:
    for dtype in TWOS[name]:
        left, right = drawn(dtype, 1, (3, 1)), drawn(dtype, 2, (2, 1, 4))
        lazy = getattr(xp, name)(local.array(left), local.array(right))
        agrees(lazy, numpys(name)(left, right))


OPERATORS: list[tuple[Callable[[Any, Any], Any], tuple[str, ...]]] = [
    (operator.add, NUMBERS), (operator.sub, NUMBERS), (operator.mul, NUMBERS),
    (operator.truediv, FLOATS), (operator.floordiv, NUMBERS), (operator.mod, NUMBERS),
    (operator.pow, NUMBERS), (operator.and_, INTEGERS), (operator.or_, INTEGERS),
    (operator.xor, INTEGERS), (operator.lshift, INTEGERS), (operator.rshift, INTEGERS),
    (operator.lt, NUMBERS), (operator.le, NUMBERS), (operator.gt, NUMBERS), (operator.ge, NUMBERS),
    (operator.eq, NUMBERS), (operator.ne, NUMBERS),
]  # fmt: skip


@pytest.mark.parametrize(("function", "dtypes"), OPERATORS)
def test_operators_take_numbers_and_numpy_arrays_on_both_sides(
    function: Callable[[Any, Any], Any], dtypes: tuple[str, ...]
) -> None:
    for dtype in dtypes:
        plain = drawn(dtype)
        lazy, number = local.array(plain), 2
        agrees(function(lazy, number), function(plain, number))
        agrees(function(number, lazy), function(number, plain))
        agrees(function(lazy, plain[:1]), function(plain, plain[:1]))
        agrees(function(plain[:1], lazy), function(plain[:1], plain))


IN_PLACE = [
    operator.iadd, operator.isub, operator.imul, operator.ifloordiv, operator.imod, operator.ipow,
    operator.iand, operator.ior, operator.ixor, operator.ilshift, operator.irshift,
]  # fmt: skip


@pytest.mark.parametrize("function", IN_PLACE)
def test_operators_in_place_change_the_array_and_nothing_else(
    function: Callable[[Any, Any], Any],
) -> None:
    plain = drawn("int32")
    lazy = local.array(plain.copy())
    before, same = lazy + 0, lazy
    lazy = function(lazy, 2)
    assert lazy is same
    agrees(lazy, function(plain.copy(), 2))
    agrees(before, plain)
    with pytest.raises(errors.DtypeUnsupported, match="stays int32"):
        function(lazy, xp.asarray(2, dtype=xp.int64))
    with pytest.raises(errors.ShapeMismatch, match="stays int32"):
        function(lazy, xp.ones((2, 1, 1), dtype=xp.int32))


def test_bool_operators_and_unary_ones() -> None:
    yes = local.array(numpy.array([True, False]))
    agrees(~yes, numpy.array([False, True]))
    agrees(yes & True, numpy.array([True, False]))
    agrees(-xp.asarray([1, -2]), numpy.array([-1, 2]))
    agrees(abs(+xp.asarray([1.0, -2.0])), numpy.array([1.0, 2.0]))


def standard(left: str, right: str) -> str | None:
    """The table of the standard, written down once more: what two dtypes promote to."""
    kinds = {name[0] for name in (left, right)}
    if left == right:
        return left
    if kinds == {"f"}:
        return "float64"
    if "f" in kinds or "b" in kinds:
        return None
    found = numpy.result_type(left, right).name
    return None if found.startswith("float") else found


@pytest.mark.parametrize("left", [*NUMBERS, "bool"])
def test_promotion_is_the_standards(left: str) -> None:
    for right in (*NUMBERS, "bool"):
        a, b = xp.ones((), dtype=left), xp.ones((), dtype=right)
        wanted = standard(left, right)
        if wanted is None:
            for function in (xp.equal, xp.result_type):
                with pytest.raises(errors.DtypeUnsupported, match="Cast one first"):
                    function(a, b)
            assert not xp.can_cast(left, right)
            continue
        assert xp.result_type(a, b) == wanted
        assert xp.can_cast(left, right) == (wanted == right)
        assert left == "bool" or (a + b).dtype == wanted


def test_sixteen_bits_promote_to_more_and_not_to_one_another() -> None:
    half, brain = xp.ones(2, dtype=xp.float16), xp.ones(2, dtype=xp.bfloat16)
    for each in (half, brain):
        assert (each + each).dtype == each.dtype
        assert (each + xp.ones(2)).dtype == xp.float64
        assert (each + xp.ones(2, dtype=xp.float32)).dtype == xp.float32
        assert (each * 2).dtype == each.dtype
    with pytest.raises(errors.DtypeUnsupported, match="bfloat16"):
        half + brain


@pytest.mark.parametrize(
    ("dtype", "number", "kind"),
    [
        ("int32", 1.0, errors.DtypeUnsupported),
        ("int8", 128, errors.BadArgument),
        ("uint8", -1, errors.BadArgument),
        ("bool", 1, errors.DtypeUnsupported),
        ("float32", True, errors.DtypeUnsupported),
        ("float64", 1j, errors.DtypeUnsupported),
        ("float64", 10**400, errors.BadArgument),
    ],
)
def test_numbers_that_do_not_go_with_an_array(dtype: str, number: Any, kind: type) -> None:
    with pytest.raises(kind):
        xp.ones(2, dtype=dtype) + number


X, Y = xp.ones(2, dtype=xp.float32), xp.ones(3, dtype=xp.int8)
APART: list[tuple[Callable[[], Any], type, str]] = [
    (lambda: X + Y, TypeError, "add(float32[2], int8[3])"),
    (lambda: X[None, :1] * xp.ones((1, 3), dtype="float32") > X, ValueError,
     "greater(float32[1, 3], float32[2])"),
    (lambda: 0.5 * Y, TypeError, "multiply(0.5, int8[3])"),
    (lambda: Y + 1000, ValueError, "add(int8[3], 1000)"),
    (lambda: X + numpy.array([1, 2]), TypeError, "add(float32[2], numpy int64[2])"),
    (lambda: xp.where(Y > 0, X, 1.0), ValueError, "where(bool[3], float32[2], 1.0)"),
    (lambda: X @ Y, TypeError, "matmul(float32[2], int8[3])"),
    (lambda: xp.concat([X, X[None]]), ValueError, "concat(float32[2], float32[1, 2])"),
]  # fmt: skip


@pytest.mark.parametrize(("use", "kind", "call"), APART)
def test_what_does_not_go_together_is_refused_with_the_call_and_its_line(
    use: Callable[[], Any], kind: type[Exception], call: str
) -> None:
    with pytest.raises(kind, match=rf"^{re.escape(call)}, at .*test_elementwise\.py:\d+: "):
        use()


def test_functions_name_themselves_and_what_they_take() -> None:
    with pytest.raises(errors.DtypeUnsupported, match=r"sin\(\) takes floats, not int64"):
        xp.sin(xp.asarray([1]))
    with pytest.raises(errors.DtypeUnsupported, match=r"add\(\) takes numbers, not bool"):
        xp.asarray([True]) + xp.asarray([True])
    with pytest.raises(errors.BadArgument, match=r"asarray\(x\)"):
        xp.sin([1.0])  # type: ignore[arg-type]
    with pytest.raises(errors.BadArgument, match="all are Python numbers"):
        xp.add(1, 2)
    with pytest.raises(errors.ShapeMismatch, match=r"\(2,\) and \(3,\) do not broadcast.*2 and 3"):
        xp.ones(2) + xp.ones(3)
    with pytest.raises(TypeError):
        xp.ones(2) + "a"
    with pytest.raises(errors.NotComputed, match=r"numpy\.sin.*gpugoblin\.xp"):
        numpy.sin(xp.ones(2))


def test_where_and_clip_are_numpys() -> None:
    plain = drawn("float64")
    x = local.array(plain)
    agrees(xp.where(x > 0.5, x, -1.0), numpy.where(plain > 0.5, plain, -1.0))
    agrees(xp.where(x > 0.5, 1, x[0]), numpy.where(plain > 0.5, 1, plain[0]))
    agrees(xp.clip(x, 0.3, local.array(plain[:1])), numpy.clip(plain, 0.3, plain[:1]))
    agrees(xp.clip(x, min=0.3), numpy.clip(plain, 0.3, None))
    agrees(xp.clip(x, max=0.3), numpy.clip(plain, None, 0.3))
    agrees(xp.clip(x), plain)
    with pytest.raises(errors.DtypeUnsupported, match="bool"):
        xp.where(x, x, x)
    with pytest.raises(errors.DtypeUnsupported, match="bound of float64"):
        xp.clip(xp.ones(2, dtype=xp.float32), min=xp.ones(2))


EDGES = (0.0, -0.0, 1.0, -1.0, 5e-324, 2.0**-1022, -(2.0**-1021), 2.0**-1021 + 2.0**-1073, 1e-300,
         1.7976931348623157e308, numpy.inf, -numpy.inf, numpy.nan)  # fmt: skip


@pytest.mark.parametrize("dtype", FLOATS)
def test_the_next_float_is_numpys_to_the_bit(dtype: str) -> None:
    scale = 1.0 if dtype == "float64" else 2.0**896
    with numpy.errstate(over="ignore"):
        edges = numpy.array([number * scale for number in EDGES]).astype(dtype)
    random = numpy.random.default_rng(3)
    bits = random.integers(0, 2**63, 500, dtype=numpy.uint64).view(dtype)
    x, y = numpy.meshgrid(numpy.concatenate([edges, bits[:60]]), numpy.concatenate([edges, bits]))
    with numpy.errstate(all="ignore"):
        wanted = numpy.nextafter(x, y)
    made = xp.nextafter(local.array(x), local.array(y)).compute()
    assert numpy.array_equal(made, wanted, equal_nan=True)
    assert numpy.array_equal(numpy.signbit(made)[wanted == 0], numpy.signbit(wanted)[wanted == 0])


def test_parts_of_complex_numbers_are_those_of_real_ones() -> None:
    x = xp.asarray([1.0, -2.0])
    agrees(xp.real(x), numpy.array([1.0, -2.0]))
    agrees(xp.conj(x), numpy.array([1.0, -2.0]))
    agrees(xp.imag(x), numpy.zeros(2))


def test_errors_of_numbers_name_the_operator_and_the_line() -> None:
    ones = xp.asarray([1, 1], dtype=xp.int32)
    made = {
        "division_by_zero": ones // xp.asarray([1, 0], dtype=xp.int32),
        "negative_shift": ones << xp.asarray([1, -1], dtype=xp.int32),
        "negative_exponent": ones ** xp.asarray([1, -1], dtype=xp.int32),
    }
    for reason, lazy in made.items():
        wanted = r"^\w+\(int32\[2\], int32\[2\]\), at .*test_elementwise\.py:\d+: \w"
        with pytest.raises(errors.ComputationFailed, match=wanted) as caught:
            (xp.where(lazy > 0, lazy, 0) + 1).compute()
        assert caught.value.facts["reason"] == reason
        assert isinstance(caught.value, ArithmeticError)


def test_any_operator_of_the_catalogue_by_its_name() -> None:
    from gpugoblin import operators
    from opgraph.catalogue import OPERATORS

    assert set(dir(operators)) == set(OPERATORS)
    x = xp.asarray([[1.0, -2.0]])
    agrees(operators.relu(x), numpy.array([[1.0, 0.0]]))
    values, places = operators.topk(x, axis=1, k=1, descending=False)
    assert [each.item() for each in local.compute(values, places)] == [-2.0, 1]
    assert operators.leaky_relu(x, slope=1).type == x.type
    full = operators.full(shape=[2], value=1, dtype=xp.float32)
    agrees(full, numpy.ones(2, numpy.float32))
    with pytest.raises(errors.BadArgument, match="takes the attributes axis"):
        operators.softmax(x)
    with pytest.raises(errors.BadArgument, match="axis must be an integer of 64 bits"):
        operators.softmax(x, axis=1.0)
    with pytest.raises(errors.ShapeMismatch, match="softmax"):
        operators.softmax(x, axis=7)
    with pytest.raises(AttributeError, match="no operator 'evaluate'"):
        operators.evaluate  # noqa: B018
    assert gpugoblin.operators is operators


def test_a_choice_between_two_numbers_has_their_default_type() -> None:
    x = xp.asarray([True, False])
    agrees(xp.where(x, 1, 2), numpy.array([1, 2]))
    agrees(xp.where(x, 1, 0.5), numpy.array([1.0, 0.5]))
    agrees(xp.where(x, False, True), numpy.array([False, True]))
    with pytest.raises(errors.DtypeUnsupported):
        xp.where(x, False, 1)
