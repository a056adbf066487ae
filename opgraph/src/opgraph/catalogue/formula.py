"""An elementwise expression as a program for a stack, so that one pass over memory does.

The words of a program: `x0`, `x1`, ... push an operand, a hexadecimal float pushes a number, and
the name of a function takes its arguments off the stack and pushes its value. Text is parsed on the
researcher's side only; a program travels, is checked word by word, and is never evaluated as text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy

from opgraph.catalogue import erf as error_function
from opgraph.catalogue.attributes import Attribute, Attributes
from opgraph.catalogue.declaration import Call, ErrorRule, Operator, Types, Work
from opgraph.catalogue.halves import with_halves
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, Array, TensorType, itemsize

MOST_WORDS = 256
MOST_OPERANDS = 32
DEEPEST = 32
BLOCK = 1 << 15
"""Elements computed at a time: what lies on the stack stays in cache."""

_OPERAND = re.compile(r"x(0|[1-9][0-9]?)", re.ASCII)
_NUMBER = re.compile(r"-?0x[0-9a-f]\.[0-9a-f]{1,13}p[+-][0-9]{1,4}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Function:
    """What a word does. `takes` and `gives`: `f` for floats, `b` for booleans.

    `slopes` bounds the derivative by each argument, in float64; `c` is the expression in CUDA C++.
    """

    takes: str
    gives: str
    numpy: Callable[..., Any]
    slopes: Callable[..., tuple[Any, ...]]
    c: str


def _one(_x: Array) -> tuple[float]:
    return (1.0,)


def _erf(x: Array) -> Array:
    result = numpy.empty(x.shape, x.dtype)
    error_function.fill(numpy, x, result)
    return result


def _rsqrt(x: Array) -> Array:
    return 1 / numpy.sqrt(x)


def _even(_a: Array, _b: Array) -> tuple[float, float]:
    return 1.0, 1.0


def _flat(_a: Array, _b: Array) -> tuple[float, float]:
    return 0.0, 0.0


def _chosen(condition: Array, _a: Array, _b: Array) -> tuple[Any, Any, Any]:
    return 0.0, condition * 1.0, ~condition * 1.0


FUNCTIONS: Mapping[str, Function] = {
    "add": Function("ff", "f", numpy.add, _even, "({0} + {1})"),
    "subtract": Function("ff", "f", numpy.subtract, _even, "({0} - {1})"),
    "multiply": Function("ff", "f", numpy.multiply, lambda a, b: (b, a), "({0} * {1})"),
    "divide": Function("ff", "f", numpy.divide, lambda a, b: (1 / b, a / (b * b)), "({0} / {1})"),
    "pow": Function(
        "ff",
        "f",
        numpy.power,
        lambda a, b: (b * numpy.power(a, b - 1), numpy.power(a, b) * numpy.log(numpy.abs(a))),
        "pow({0}, {1})",
    ),
    "maximum": Function("ff", "f", numpy.maximum, _even, "({0} >= {1} || {0} != {0} ? {0} : {1})"),
    "minimum": Function("ff", "f", numpy.minimum, _even, "({0} <= {1} || {0} != {0} ? {0} : {1})"),
    "negative": Function("f", "f", numpy.negative, _one, "(-{0})"),
    "abs": Function("f", "f", numpy.absolute, _one, "abs({0})"),
    "square": Function("f", "f", numpy.square, lambda x: (2 * x,), "({0} * {0})"),
    "sqrt": Function("f", "f", numpy.sqrt, lambda x: (0.5 / numpy.sqrt(x),), "sqrt({0})"),
    "rsqrt": Function("f", "f", _rsqrt, lambda x: (0.5 / (x * numpy.sqrt(x)),), "(1 / sqrt({0}))"),
    "exp": Function("f", "f", numpy.exp, lambda x: (numpy.exp(x),), "exp({0})"),
    "expm1": Function("f", "f", numpy.expm1, lambda x: (numpy.exp(x),), "expm1({0})"),
    "log": Function("f", "f", numpy.log, lambda x: (1 / x,), "log({0})"),
    "log1p": Function("f", "f", numpy.log1p, lambda x: (1 / (1 + x),), "log1p({0})"),
    "sin": Function("f", "f", numpy.sin, _one, "sin({0})"),
    "cos": Function("f", "f", numpy.cos, _one, "cos({0})"),
    "tanh": Function("f", "f", numpy.tanh, _one, "tanh({0})"),
    "erf": Function("f", "f", _erf, lambda _x: (1.2,), "erf({0})"),
    "floor": Function("f", "f", numpy.floor, lambda _x: (0.0,), "floor({0})"),
    "less": Function("ff", "b", numpy.less, _flat, "({0} < {1})"),
    "less_equal": Function("ff", "b", numpy.less_equal, _flat, "({0} <= {1})"),
    "equal": Function("ff", "b", numpy.equal, _flat, "({0} == {1})"),
    "where": Function("bff", "f", numpy.where, _chosen, "({0} ? {1} : {2})"),
}


def words(attributes: Attributes) -> tuple[str, ...]:
    """The program of a node."""
    return cast("tuple[str, ...]", attributes["program"])


def check(program: Sequence[str], operands: int) -> int:
    """How deep its stack gets. Raises GraphError unless it leaves one float and is in bounds."""
    if not 0 < len(program) <= MOST_WORDS:
        raise GraphError("wrong_formula", f"A formula has 1 to {MOST_WORDS} words.")
    stack: list[str] = []
    deepest, used = 0, set()
    for word in program:
        if match := _OPERAND.fullmatch(word):
            used.add(int(match[1]))
            stack.append("f")
        elif _NUMBER.fullmatch(word) and _is_canonical(word):
            stack.append("f")
        else:
            _apply(word, stack)
        deepest = max(deepest, len(stack))
    if stack != ["f"] or deepest > DEEPEST:
        raise GraphError("wrong_formula", "A formula leaves one number, and nests in bounds.")
    if used != set(range(operands)):
        raise GraphError("wrong_formula", "A formula uses each of its operands and no other.")
    return deepest


def _is_canonical(word: str) -> bool:
    try:
        value = float.fromhex(word)
    except (ValueError, OverflowError):
        return False
    return math.isfinite(value) and value.hex() == word


def _apply(word: str, stack: list[str]) -> None:
    function = FUNCTIONS.get(word)
    if function is None:
        raise GraphError("wrong_formula", f"A formula has no word {word[:32]!r}.")
    count = len(function.takes)
    if "".join(stack[-count:]) != function.takes or len(stack) < count:
        raise GraphError("wrong_formula", f"{word} does not find what it takes.")
    del stack[-count:]
    stack.append(function.gives)


def _typing(types: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    first = types[0]
    if len(types) > MOST_OPERANDS or any(each != first for each in types):
        raise GraphError("wrong_shape", "Operands of a formula have one dtype and one shape.")
    if first.dtype not in (*FLOATS, "float16", "bfloat16"):
        raise GraphError("wrong_dtype", f"formula is not defined for {first.dtype}.")
    check(words(attributes), len(types))
    return (first,)


def _run(call: Call) -> None:
    result = call.results[0].reshape(-1)
    operands = [each.reshape(-1) for each in call.operands]
    for start in range(0, result.size, BLOCK):
        part = slice(start, start + BLOCK)
        block = [each[part] for each in operands]
        result[part] = evaluate(words(call.attributes), block, result.dtype.type)
        call.check()


def evaluate(program: Sequence[str], operands: Sequence[Array], kind: Callable[..., Any]) -> Array:
    """The value of a checked program for these arrays; `kind` makes its numbers."""
    stack: list[Any] = []
    for word in program:
        if word in FUNCTIONS:
            count = len(FUNCTIONS[word].takes)
            arguments = stack[-count:]
            del stack[-count:]
            stack.append(FUNCTIONS[word].numpy(*arguments))
        else:
            stack.append(operands[int(word[1:])] if word[0] == "x" else kind(float.fromhex(word)))
    return stack[0]


def _scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    """Every step is off by a few ulp, which the steps after it carry on by their slopes."""
    stack: list[tuple[Any, Any]] = []
    for word in words(attributes):
        if word not in FUNCTIONS:
            value = operands[int(word[1:])] if word[0] == "x" else float.fromhex(word)
            # An operand is exact; a number is rounded to the dtype.
            stack.append((value, 0.0 if word[0] == "x" else abs(value)))
            continue
        function = FUNCTIONS[word]
        count = len(function.takes)
        values, scales = zip(*stack[-count:], strict=True)
        del stack[-count:]
        made = function.numpy(*(numpy.asarray(value) for value in values))
        slopes = function.slopes(*(numpy.asarray(value) for value in values))
        carried = sum(numpy.abs(slope) * s for slope, s in zip(slopes, scales, strict=True))
        stack.append((made, numpy.abs(made) + carried if function.gives == "f" else 0.0))
    return numpy.broadcast_to(stack[0][1], operands[0].shape)


def _functions(attributes: Attributes) -> int:
    return sum(word in FUNCTIONS for word in words(attributes))


def _bytes(types: Types, attributes: Attributes) -> int:
    size = min(BLOCK, types[0].elements)
    deep = check(words(attributes), len(types)) + 1
    inside = 50 * size if "erf" in words(attributes) else 0
    return deep * size * itemsize(types[0].dtype) + inside


@cache
def _kernel(xp: Any, program: tuple[str, ...], operands: int) -> Any:
    """The same walk as C; arguments are named by numbers, so nobody's text reaches a compiler."""
    stack: list[str] = []
    for word in program:
        if word in FUNCTIONS:
            count = len(FUNCTIONS[word].takes)
            arguments = stack[-count:]
            del stack[-count:]
            stack.append(FUNCTIONS[word].c.format(*arguments))
        else:
            stack.append(f"a{int(word[1:])}" if word[0] == "x" else f"(T){word}")
    taken = ", ".join(f"T a{number}" for number in range(operands))
    return xp.ElementwiseKernel(
        taken, "T out", f"out = {stack[0]};", "formula", options=("--fmad=false",)
    )


def _run_cupy(call: Call) -> None:
    kernel = _kernel(call.xp, words(call.attributes), len(call.operands))
    kernel(*call.operands, call.results[0])


FORMULA = with_halves(
    Operator(
        name="formula",
        family="control",
        summary="An elementwise expression, as a program in reverse Polish notation.",
        operands=("operands",),
        variadic=True,
        attributes=(
            Attribute("program", "words", "x0, x1, ..., hexadecimal floats, and functions"),
        ),
        dtypes={(dtype,): (dtype,) for dtype in FLOATS},
        shapes=lambda shapes, _attributes: (shapes[0],),
        typing=_typing,
        run=_run,
        run_cupy=_run_cupy,
        flops=Work(
            lambda types, attributes: _functions(attributes) * types[0].elements,
            "1 for each function and element",
        ),
        temporaries=_bytes,
        contiguous=True,
        error=ErrorRule(_scale, lambda _t, _a: 16.0, "8 ulp of each step, carried on by slopes"),
        special_values="As each function by itself; what a comparison decides, it decides exactly.",
    )
)
