"""`formula`: text to a program, computed as numpy computes the same expression."""

from __future__ import annotations

import math
import time
import tracemalloc
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpugoblin
from gpugoblin import errors, formula, local, xp
from gpugoblin.arrays.evaluation import record
from gpugoblin.arrays.formulas import LONGEST, parsed
from opgraph.catalogue.erf import fill
from opgraph.catalogue.formula import DEEPEST, FUNCTIONS, MOST_OPERANDS, MOST_WORDS, check


def _erf(x: Any) -> Any:
    result = numpy.empty(x.shape)
    fill(numpy, x, result)
    return result


NUMPY: dict[str, Any] = {
    **{name: getattr(numpy, name) for name in FUNCTIONS if hasattr(numpy, name)},
    "rsqrt": lambda x: 1 / numpy.sqrt(x),
    "erf": lambda x: _erf(numpy.broadcast_to(numpy.asarray(x, float), (8,)).copy()),
    "pi": numpy.pi,
    "e": numpy.e,
}
_X = numpy.linspace(-2.5, 2.5, 8)
_Y = numpy.array([0.0, 1.0, -1.0, 3.0, 0.5, -0.25, 7.0, 2.0])


def _combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    two = st.tuples(parts, parts)
    compared = st.tuples(parts, st.sampled_from(("<", "<=", ">", ">=", "==")), parts).map(" ".join)
    of_one = [name for name, each in FUNCTIONS.items() if (each.takes, each.gives) == ("f", "f")]
    of_two = [name for name, each in FUNCTIONS.items() if (each.takes, each.gives) == ("ff", "f")]
    return st.one_of(
        st.tuples(st.sampled_from(of_one), parts).map(lambda t: f"{t[0]}({t[1]})"),
        st.tuples(st.sampled_from(of_two), two).map(lambda t: f"{t[0]}({t[1][0]}, {t[1][1]})"),
        st.tuples(st.sampled_from(("+", "-", "*", "/", "**")), two).map(
            lambda t: f"({t[1][0]}) {t[0]} ({t[1][1]})"
        ),
        parts.map(lambda text: f"-({text})"),
        st.tuples(compared, two).map(lambda t: f"where({t[0]}, {t[1][0]}, {t[1][1]})"),
    )


EXPRESSIONS = st.recursive(
    st.sampled_from(("x", "y", "2.0", "0.5", "pi", "3", "1e-3")), _combined, max_leaves=8
)


@settings(max_examples=150, deadline=None, database=None, derandomize=True)
@given(EXPRESSIONS)
def test_a_formula_is_what_numpy_makes_of_the_same_text(text: str) -> None:
    text = f"{text} + x * 0.0 + y * 0.0"
    with numpy.errstate(all="ignore"):
        # The text is this test's own.
        theirs = eval(text, {"__builtins__": {}}, {**NUMPY, "x": _X, "y": _Y})
        ours = formula(text, x=local.array(_X), y=local.array(_Y)).compute()
    # The same steps in the same order; squares and negative numbers are written in another way.
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-13, atol=1e-300)


_TOKENS = (
    "x", "y", "2", "1e9", "(", ")", ",", "+", "-", "*", "**", "/", "<", "==", ".", " if ", " else ",
    "where(", "exp(", "[", "]", "lambda ", ":", "'", "__class__", "not ", " and ", "@", "%", "=",
)  # fmt: skip


@settings(max_examples=300, deadline=None, database=None, derandomize=True)
@given(st.lists(st.sampled_from(_TOKENS), max_size=12).map("".join) | st.text(max_size=12))
def test_any_text_is_a_program_or_refused(text: str) -> None:
    try:
        program = parsed(text, ["x", "y"])
    except errors.BadArgument:
        return
    assert check(program.words, len(program.names)) <= DEEPEST


def test_every_function_of_the_program_can_be_written() -> None:
    arguments = {"f": "x", "b": "x < 1"}
    for name, function in FUNCTIONS.items():
        text = f"{name}({', '.join(arguments[kind] for kind in function.takes)})"
        if function.gives == "b":
            text = f"where({text}, x, 1)"
        assert name in parsed(text, ["x"]).words, text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("x", ("x0",)),
        ("-2", ("-0x1.0000000000000p+1",)),
        ("x + -2", ("x0", "-0x1.0000000000000p+1", "add")),
        ("-x", ("x0", "negative")),
        ("+x", ("x0",)),
        ("x**2", ("x0", "square")),
        ("x > y", None),
        ("x if x > y else y", ("x1", "x0", "less", "x0", "x1", "where")),
        ("where(x >= y, 0, x)", ("x1", "x0", "less_equal", "0x0.0p+0", "x0", "where")),
        ("  x\n + x ", ("x0", "x0", "add")),
        ("e", (math.e.hex(),)),
    ],
)
def test_words_of_a_text(text: str, words: tuple[str, ...] | None) -> None:
    if words is None:
        with pytest.raises(errors.BadArgument):
            parsed(text, ["x", "y"])
    else:
        names = {"x0": "x", "x1": "y"}
        program = parsed(text, ["x", "y"])
        ours = [names.get(word, word) for word in words]
        theirs = [program.names[int(word[1:])] if word in names else word for word in program.words]
        assert theirs == ours


def test_numbers_are_written_into_the_program_and_arrays_broadcast() -> None:
    column, row = numpy.arange(3.0)[:, None], numpy.arange(4.0)
    made = formula("a * c + r", a=3, c=local.array(column), r=local.array(row))
    assert made.shape == (3, 4)
    numpy.testing.assert_array_equal(made.compute(), 3 * column + row)
    assert [node.operator for node in record([made.value]).graph.nodes].count("formula") == 1


def test_single_and_half_precision_keep_their_type() -> None:
    x = numpy.linspace(0, 1, 5, dtype=numpy.float32)
    assert formula("exp(x) / 3", x=local.array(x)).dtype == numpy.float32
    half = formula("x * x", x=local.array(x).astype(xp.float16))
    assert half.compute().dtype == numpy.float16


def test_a_name_of_an_array_wins_over_a_number() -> None:
    assert formula("e + 0 * e", e=local.array(numpy.ones(2))).compute().tolist() == [1.0, 1.0]


def test_arguments_that_do_not_fit() -> None:
    x = local.array(_X)
    with pytest.raises(errors.BadArgument, match="does not use y"):
        formula("x", x=x, y=x)
    with pytest.raises(errors.BadArgument, match="none"):
        formula("2 + 3")
    with pytest.raises(errors.BadArgument, match="is inf"):
        formula("x + a", x=x, a=numpy.inf)
    with pytest.raises(errors.DtypeUnsupported, match="Cast"):
        formula("x + 1", x=local.array(numpy.arange(3)))
    with pytest.raises(errors.ShapeMismatch):
        formula("x + y", x=x, y=local.array(numpy.ones(3)))


HOSTILE = {
    "dunder": "x.__class__.__mro__[1].__subclasses__()",
    "dunder of a tuple": "().__class__.__bases__",
    "import": "__import__('os').system('true')",
    "builtin": "open(x)",
    "eval": "eval(x)",
    "method of a function": "exp.__call__(x)",
    "call of a call": "exp(x)(x)",
    "star": "where(*x)",
    "keyword": "exp(x=x)",
    "lambda": "(lambda: x)()",
    "comprehension": "[x for x in x]",
    "generator": "(x for x in x)",
    "text": "f'{x.__class__}'",
    "string": "'x' * 9",
    "bytes": "b'x'",
    "brackets": "x[0]",
    "set": "{x}",
    "tuple": "x, x",
    "ellipsis": "...",
    "truth": "True",
    "none": "None",
    "complex": "1j * x",
    "walrus": "(x := 1)",
    "await": "await x",
    "yield": "(yield x)",
    "statement": "x = 1",
    "two lines": "x; x",
    "import statement": "import os",
    "and": "x and x",
    "not": "not x",
    "chained": "where(0 < x < 1, x, x)",
    "not equal": "where(x != x, x, x)",
    "in": "where(x in x, x, x)",
    "condition that is none": "x if x else x",
    "comparison as a number": "(x < x) + 1",
    "remainder": "x % x",
    "matrix product": "x @ x",
    "bits": "x << x",
    "invert": "~x",
    "unknown name": "nan",
    "a name of thousands of letters": "a" * 8000,
    "a function of thousands of letters": "a" * 8000 + "(x)",
    "unknown function": "sqrtt(x)",
    "too few arguments": "maximum(x)",
    "too many arguments": "exp(x, x)",
    "empty": "",
    "blank": "   ",
    "zero byte": "x\0",
    "letters of other scripts": "\N{MATHEMATICAL ITALIC SMALL X} + x",
    "number without end": "x + 1e999",
    "huge integer": "x + " + "9" * 400,
    "huge integer of many digits": "x + " + "9" * 5000,
    "huge power of a number": "x + 9**9**9**9**9**9**9**9 ** x.y",
    "powers of powers": "**".join(["x"] * 60),
    "brackets that nest": "(" * 150 + "x" + ")" * 150 + "**x" * 40,
    "brackets without end": "(" * 5000,
    "signs": "-" * 8000 + "x",
    "signs that nest": "-" * 600 + "x",
    "functions that nest": "exp(" * 190 + "x" + ")" * 190 + " + " + "+".join("x" * 90),
    "long sum": "+".join(["x"] * 4000),
    "more words than a program has": "+".join(["x"] * 200),
    "ten megabytes": "x + " * 2_500_000 + "x",
    "ten megabytes of brackets": "(" * 10_000_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_refused_at_once(text: str) -> None:
    tracemalloc.start()
    began = time.process_time()
    with pytest.raises(errors.BadArgument) as raised:
        parsed(text, ["x"])
    took = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert raised.value.facts["reason"] == "wrong_formula"
    assert len(raised.value.detail) < 400
    # Memory is traced here, which takes five times as long.
    assert took < 0.25
    assert peak < 50 << 20


@pytest.mark.parametrize(
    ("text", "column"),
    [("x.y", 1), ("x + y.real", 5), ("  x + open(x)", 7), ("x\n+ x[0]", 5), ("x + (", 5)],
)
def test_the_column_is_named(text: str, column: int) -> None:
    with pytest.raises(errors.BadArgument, match=f"column {column} ") as raised:
        parsed(text, ["x", "y"])
    assert raised.value.facts["column"] == column


def test_bounds() -> None:
    names = [f"n{number}" for number in range(MOST_OPERANDS + 1)]
    assert len(parsed("+".join(names[:-1]), names).names) == MOST_OPERANDS
    with pytest.raises(errors.BadArgument, match="32 arrays"):
        parsed("+".join(names), names)
    most = (MOST_WORDS + 1) // 2
    assert len(parsed("+".join(["x"] * most), ["x"]).words) == 2 * most - 1
    deep = "x" + " + (x" * (DEEPEST - 1) + ")" * (DEEPEST - 1)
    assert parsed(deep, ["x"]).names == ("x",)
    with pytest.raises(errors.BadArgument, match="nests"):
        parsed(f"x + ({deep})", ["x"])
    assert parsed("x" + " " * (LONGEST - 1), ["x"]).words == ("x0",)
    with pytest.raises(errors.BadArgument, match="characters"):
        parsed("x" + " " * LONGEST, ["x"])


def test_what_is_no_text() -> None:
    with pytest.raises(errors.BadArgument, match="bytes"):
        gpugoblin.formula(b"x", x=local.array(_X))  # type: ignore[arg-type]
