"""`formula`: an elementwise expression as text, computed in one pass over memory.

The text is taken apart here, on the researcher's side, and only as a tree of Python's grammar of
which a few kinds of nodes are known; nothing of it is ever evaluated. What travels is opgraph's
program of words, which every machine checks again.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import gpugoblin.array as core
from gpugoblin.arrays.building import apply, arrays_of, of_kind, same_shape, same_type
from gpugoblin.arrays.dtypes import FLOATING
from gpugoblin.errors import BadArgument
from opgraph.catalogue.formula import FUNCTIONS, MOST_OPERANDS, MOST_WORDS, check
from opgraph.errors import GraphError

LONGEST = 8192
"""Characters: far more than a program has words for."""

NUMBERS: Mapping[str, float] = {"pi": math.pi, "e": math.e}
"""Names that stand for a number, unless an array has that name."""

_LONGEST_SHOWN = 32
_SPACES = {ord(each): " " for each in "\t\r\n"}

_BINARY: Mapping[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "pow",
}
_COMPARED: Mapping[type[ast.cmpop], tuple[str, bool]] = {
    ast.Lt: ("less", False),
    ast.LtE: ("less_equal", False),
    ast.Gt: ("less", True),
    ast.GtE: ("less_equal", True),
    ast.Eq: ("equal", False),
}
"""The function of each comparison, and whether its sides change places."""


class Program(NamedTuple):
    """Words for a stack, and the names of the operands `x0`, `x1`, ... in that order."""

    words: tuple[str, ...]
    names: tuple[str, ...]


def formula(text: str, /, **arrays: Any) -> core.Array:
    """One elementwise expression of arrays, computed in one pass: `formula("a*x + b", a=2, x=x)`.

    Arrays broadcast and promote as elsewhere and must be floats; a Python number is written into
    the expression. It knows + - * / ** < <= > >= ==, `p if c else q`, numbers, pi, e, and the
    functions of `opgraph.catalogue.formula.FUNCTIONS`: sqrt, exp, tanh, erf, where(c, p, q) ...
    Raises `BadArgument`, which names the column, for everything else in the text and for names
    without an array or arrays without a name in it.
    """
    scalars = {name: float(x) for name, x in arrays.items() if type(x) in (int, float)}
    given = {name: x for name, x in arrays.items() if name not in scalars}
    program = parsed(text, given, {**NUMBERS, **scalars})
    unused = [name for name in given if name not in program.names]
    if unused:
        raise BadArgument(f"The formula does not use {', '.join(unused)}.")
    if not program.names:
        raise BadArgument("A formula is of one array or more; this one has none.")
    chosen = arrays_of(*(given[name] for name in program.names))
    operands = same_shape(*same_type(*(of_kind("formula", each, FLOATING) for each in chosen)))
    return apply("formula", *operands, program=program.words)


def parsed(text: str, operands: Iterable[str], numbers: Mapping[str, float] = NUMBERS) -> Program:
    """The program of an expression over these operands. Raises `BadArgument` with `column`."""
    reader = _Reader(frozenset(operands), numbers)
    reader.read(_tree(text))
    program = Program(tuple(reader.words), tuple(reader.names))
    try:
        check(program.words, len(program.names))
    except GraphError as error:
        raise _refused(error.message, None) from None
    return program


def _tree(text: str) -> ast.expr:
    if not isinstance(text, str):
        raise _refused(f"A formula is text, not {type(text).__name__}.", None)
    if len(text) > LONGEST:
        raise _refused(f"A formula has at most {LONGEST:,} characters, not {len(text):,}.", None)
    if not text.isascii():
        column = next(place for place, each in enumerate(text) if not each.isascii())
        raise _refused("A formula is written in ASCII.", column)
    line = text.translate(_SPACES)
    left_out = len(line) - len(line.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tree = ast.parse(line.strip(), mode="eval").body
    except SyntaxError as error:
        column = (error.offset or 1) - 1 + left_out
        reason = (error.msg or "").partition(";")[0].rstrip(".")
        raise _refused(f"This is no expression: {reason}.", column) from None
    except (ValueError, MemoryError, RecursionError):
        raise _refused("This is no expression, or nests too deep.", None) from None
    for node in ast.walk(tree):
        if isinstance(node, ast.expr):
            node.col_offset += left_out
    return tree


def _refused(sentence: str, column: int | None) -> BadArgument:
    place = "" if column is None else f" (column {column + 1} of the formula)"
    facts = {} if column is None else {"column": column + 1}
    return BadArgument(f"{sentence}{place}", reason="wrong_formula", **facts)


class _Reader:
    """Writes words in the order of a stack machine, with a stack of its own instead of calls."""

    def __init__(self, operands: frozenset[str], numbers: Mapping[str, float]) -> None:
        self.words: list[str] = []
        self.names: list[str] = []
        self._operands = operands
        self._numbers = numbers

    def read(self, tree: ast.expr) -> None:
        """Write the whole expression. Raises `BadArgument`."""
        waiting: list[tuple[ast.expr, str] | str] = [(tree, "f")]
        while waiting:
            task = waiting.pop()
            if isinstance(task, str):
                self.words.append(task)
            else:
                waiting.extend(reversed(self._parts(*task)))
            if len(self.words) + len(waiting) > 2 * MOST_WORDS:
                raise _refused(f"A formula has at most {MOST_WORDS} words.", None)

    def _parts(self, node: ast.expr, kind: str) -> list[tuple[ast.expr, str] | str]:
        """What comes in place of a node: expressions with the kind each must have, and words."""
        match node:
            case ast.Constant():
                return [self._number(_constant(node), node, kind)]
            case ast.Name():
                return [self._name(node, kind)]
            case ast.UnaryOp():
                return self._sign(node, kind)
            case ast.BinOp():
                return self._binary(node, kind)
            case ast.Compare():
                return self._comparison(node, kind)
            case ast.IfExp():
                return self._applied("where", [node.test, node.body, node.orelse], node, kind)
            case ast.Call():
                return self._call(node, kind)
        raise _refused(f"A formula knows no {_called(node)}.", node.col_offset)

    def _number(self, value: float, node: ast.expr, kind: str) -> str:
        _check_kind("f", kind, node)
        return value.hex() if value else math.copysign(0.0, value).hex()

    def _name(self, node: ast.Name, kind: str) -> str:
        _check_kind("f", kind, node)
        if node.id in self._operands:
            if node.id not in self.names:
                self.names.append(node.id)
            if len(self.names) > MOST_OPERANDS:
                raise _refused(f"A formula has at most {MOST_OPERANDS} arrays.", node.col_offset)
            return f"x{self.names.index(node.id)}"
        if node.id in self._numbers:
            value = self._numbers[node.id]
            if not math.isfinite(value):
                raise _refused(f"{node.id} is {value}; numbers are finite.", node.col_offset)
            return self._number(value, node, kind)
        raise _refused(
            f"{_short(node.id)} is no array of this formula; give it as formula(text, name=array).",
            node.col_offset,
        )

    def _sign(self, node: ast.UnaryOp, kind: str) -> list[tuple[ast.expr, str] | str]:
        _check_kind("f", kind, node)
        if isinstance(node.op, ast.UAdd):
            return [(node.operand, "f")]
        if not isinstance(node.op, ast.USub):
            raise _refused(f"A formula knows no {_called(node.op)}.", node.col_offset)
        if isinstance(node.operand, ast.Constant):
            return [self._number(-_constant(node.operand), node, kind)]
        return [(node.operand, "f"), "negative"]

    def _binary(self, node: ast.BinOp, kind: str) -> list[tuple[ast.expr, str] | str]:
        name = _BINARY.get(type(node.op))
        if name is None:
            raise _refused(f"A formula knows no {_called(node.op)}.", node.col_offset)
        if name == "pow" and isinstance(node.right, ast.Constant) and node.right.value == 2:
            return self._applied("square", [node.left], node, kind)
        return self._applied(name, [node.left, node.right], node, kind)

    def _comparison(self, node: ast.Compare, kind: str) -> list[tuple[ast.expr, str] | str]:
        found = _COMPARED.get(type(node.ops[0]))
        if found is None:
            raise _refused(f"A formula knows no {_called(node.ops[0])}.", node.col_offset)
        if len(node.ops) > 1:
            raise _refused("Comparisons are not chained; nest conditions.", node.col_offset)
        name, turned = found
        sides = [node.left, node.comparators[0]]
        return self._applied(name, sides[::-1] if turned else sides, node, kind)

    def _call(self, node: ast.Call, kind: str) -> list[tuple[ast.expr, str] | str]:
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS:
            name = _short(node.func.id) if isinstance(node.func, ast.Name) else _called(node.func)
            known = ", ".join(FUNCTIONS)
            raise _refused(f"A formula has no function {name}; it has {known}.", node.col_offset)
        if node.keywords:
            raise _refused("Arguments of functions have no names.", node.col_offset)
        return self._applied(node.func.id, node.args, node, kind)

    def _applied(
        self, name: str, arguments: list[ast.expr], node: ast.expr, kind: str
    ) -> list[tuple[ast.expr, str] | str]:
        function = FUNCTIONS[name]
        _check_kind(function.gives, kind, node)
        if len(arguments) != len(function.takes):
            raise _refused(
                f"{name}() takes {len(function.takes)} arguments, not {len(arguments)}.",
                node.col_offset,
            )
        return [*zip(arguments, function.takes, strict=True), name]


def _short(name: str) -> str:
    return repr(name if len(name) <= _LONGEST_SHOWN else f"{name[:_LONGEST_SHOWN]}...")


def _constant(node: ast.Constant) -> float:
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        raise _refused(f"{type(node.value).__name__} is no number.", node.col_offset)
    try:
        value = float(node.value)
    except OverflowError:
        value = math.inf
    if not math.isfinite(value):
        raise _refused("That number is beyond all floats.", node.col_offset)
    return value


def _check_kind(found: str, wanted: str, node: ast.expr) -> None:
    if found == wanted:
        return
    if wanted == "b":
        raise _refused("A condition is a comparison: < <= > >= ==.", node.col_offset)
    raise _refused(
        "A comparison can only be the condition of where(c, p, q) or of `p if c else q`.",
        node.col_offset,
    )


def _called(node: ast.AST) -> str:
    return _NAMES.get(type(node), type(node).__name__)


_NAMES: Mapping[type[ast.AST], str] = {
    ast.Attribute: "attribute (a dot after a name)",
    ast.Subscript: "brackets",
    ast.Lambda: "lambda",
    ast.ListComp: "comprehension",
    ast.SetComp: "comprehension",
    ast.DictComp: "comprehension",
    ast.GeneratorExp: "comprehension",
    ast.JoinedStr: "text",
    ast.BoolOp: "`and` or `or`; nest conditions",
    ast.Not: "`not`; exchange what is chosen",
    ast.NotEq: "!=; exchange what is chosen",
    ast.NamedExpr: "assignment",
    ast.Starred: "star",
    ast.Mod: "%",
    ast.FloorDiv: "//; write floor(a / b)",
    ast.MatMult: "@",
}


__all__ = ["formula"]
