"""hypothesis strategies: bytes, trees and graphs that a fuzzer tries."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, TypeVar

from hypothesis import strategies as st
from operator_samples.sample import SIDES, Draw

from opgraph.builder import GraphBuilder
from opgraph.canonical import encode
from opgraph.catalogue import OPERATORS
from opgraph.catalogue.attributes import Attribute
from opgraph.catalogue.formula import FUNCTIONS
from opgraph.errors import GraphError
from opgraph.graph import Graph
from opgraph.tensors import DTYPES
from tests.fuzz import seeds

T = TypeVar("T")
DrawFunction = Callable[[Any], Any]
PIECES = (b"0", b"9", b"-1", b"]", b'"', b"nan", b"{", b"\\u0000", b"1e9", b"18446744073709551616")
INTEGERS = (0, 1, 2, 3, 7, 16, 63, 64, 1 << 16, 1 << 31, (1 << 40) + 1, (1 << 53) - 1)
NUMBERS = ("0", "1", "-1", "2", "3", "5", "64", "-9223372036854775808", "18446744073709551615")
FLOATS = (
    "0x0.0p+0",
    "-0x0.0p+0",
    "0x1.0000000000000p+0",
    "0x1.fffffffffffffp+1023",
    "inf",
    "nan",
    "-inf",
    "0x0.0000000000001p-1022",
    "-0x1.8000000000000p+1",
    "0x1.0000000000000p-1",
)


class FuzzDraw(Draw):
    """A sample's random choices, made by hypothesis; rarely with sides that make a tensor large."""

    def __init__(self, draw: DrawFunction) -> None:
        super().__init__(draw(st.integers(0, 2**16)))
        self.draw = draw
        self.large = draw(st.integers(0, 9)) == 9

    def integer(self, low: int, high: int) -> int:
        return int(self.draw(st.integers(low, high))) if low < high else low

    def choice(self, among: Sequence[T]) -> T:
        found: T = self.draw(st.sampled_from(list(among)))
        return found

    def shape(self, least: int = 0, most: int = 3, sides: Sequence[int] = SIDES) -> tuple[int, ...]:
        more = (17, 61, 97) if self.large and sides is SIDES else ()
        return super().shape(least, most, (*sides, *more))


@st.composite
def changed_bytes(draw: DrawFunction) -> bytes:
    """A seed with a few bytes changed, taken out, put in, or moved."""
    data = bytearray(draw(st.sampled_from([*seeds.valid(), *seeds.hostile()])))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.integers(0, 8))
        data[place : place + length] = draw(st.binary(max_size=6) | st.sampled_from(PIECES))
    return bytes(data)


@st.composite
def changed_trees(draw: DrawFunction) -> bytes:
    """A seed whose tree is changed at a few places, in canonical form, so that it is read."""
    tree = json.loads(draw(st.sampled_from(seeds.valid())))
    for _ in range(draw(st.integers(1, 3))):
        places = list(_places(tree))
        holder, key = places[draw(st.integers(0, len(places) - 1))]
        holder[key] = deepcopy(_another(draw, holder[key], tree))
    return encode(tree)


def _places(tree: Any) -> Any:
    """Every (list or object, index or key) in a tree."""
    keys = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def _another(draw: DrawFunction, value: Any, tree: Any) -> Any:
    """A value in place of this one: mostly of its own kind."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw(st.sampled_from(INTEGERS) | st.integers(max(0, value - 2), value + 2))
    if isinstance(value, list):
        return _another_list(draw, value)
    if isinstance(value, dict):
        nodes = tree.get("nodes")
        another = nodes[:1] if isinstance(nodes, list) else []
        return draw(st.sampled_from([value, {}, *another]))
    return draw(_texts(value))


def _another_list(draw: DrawFunction, value: list[Any]) -> list[Any]:
    ways = [value[:-1], value[::-1], value + value[:1], value + value[-1:], value[1:], value * 2]
    return list(draw(st.sampled_from([*ways, [0], ["0"], [1, *value], ["-1", *value]])))


def _texts(value: str) -> Any:
    """Another word of the same sort."""
    if value in DTYPES:
        return st.sampled_from(DTYPES)
    if value in OPERATORS:
        return st.sampled_from(sorted(OPERATORS))
    words = [*NUMBERS, *FLOATS, *FUNCTIONS, "x0", "x1", "x2", "float32", ""]
    near = [str(int(value) + step) for step in (-1, 1)] if value.lstrip("-").isdecimal() else []
    return st.sampled_from([*near, *words]) if not near else st.sampled_from([*near * 6, *words])


class Wild:
    """A graph under construction, of calls that samples make and of calls that nobody planned."""

    def __init__(self, draw: DrawFunction) -> None:
        self.draw = draw
        self.choose = FuzzDraw(draw)
        self.build = GraphBuilder()
        self.values = 0

    def graph(self) -> Graph:
        """Up to eight nodes on the operands of up to four calls."""
        calls = [self._call() for _ in range(self.draw(st.integers(1, 4)))]
        operands = [[self._placeholder(*each) for each in types] for _n, types, _a in calls]
        for (name, _types, attributes), own in zip(calls, operands, strict=True):
            self._apply(name, [self._like(value) for value in own], attributes)
        if not self.values:
            self._apply("full", [], {"shape": (2,), "value": 1.0, "dtype": "float32"})
        for _ in range(self.draw(st.integers(0, 4))):
            self._unplanned()
        outputs = self.draw(st.lists(st.integers(0, self.values - 1), min_size=1, max_size=3))
        return self.build.build(*outputs, self.values - 1)

    def _call(self) -> tuple[str, list[tuple[str, tuple[int, ...]]], dict[str, Any]]:
        name, row = self.draw(st.sampled_from(seeds.rows()))
        case = seeds.case_of(name, row, self.choose)
        types = [(d, t.shape) for d, t in zip(case.dtypes, case.types, strict=True)]
        if case.attributes and self.draw(st.integers(0, 3)) == 3:
            return name, types, self._bent(name, case.attributes, types)
        return name, types, case.attributes

    def _bent(
        self, name: str, attributes: dict[str, Any], types: list[tuple[str, tuple[int, ...]]]
    ) -> dict[str, Any]:
        """One attribute is another than the sample's."""
        known = [each for each in OPERATORS[name].attributes if each.kind != "graph"]
        bent = self.draw(st.sampled_from(known))
        return {**attributes, bent.name: self._attribute(bent, len(types[0][1]) if types else 2)}

    def _placeholder(self, dtype: str, shape: tuple[int, ...]) -> int:
        value = self.build.placeholder(f"x{self.values}", dtype, shape)
        self.values += 1
        return value

    def _like(self, value: int) -> int:
        """This value or another of the same type."""
        alike = [n for n in range(self.values) if self.build.type(n) == self.build.type(value)]
        return int(self.draw(st.sampled_from(alike)))

    def _apply(self, name: str, operands: list[int], attributes: dict[str, Any]) -> None:
        try:
            self.values += len(self.build.apply_all(name, operands, attributes))
        except GraphError:
            return

    def _unplanned(self) -> None:
        """Any operator on any values, with any attributes: mostly refused, at times a surprise."""
        name = self.draw(st.sampled_from(_PLAIN))
        count = len(OPERATORS[name].operands) + self.draw(st.integers(0, 1))
        operands = [self.draw(st.integers(0, self.values - 1)) for _ in range(count)]
        rank = self.build.type(operands[0]).rank if operands else 2
        given = {each.name: self._attribute(each, rank) for each in OPERATORS[name].attributes}
        self._apply(name, operands[: len(OPERATORS[name].operands)], given)

    def _attribute(self, attribute: Attribute, rank: int) -> Any:
        if attribute.choices:
            return self.draw(st.sampled_from(attribute.choices))
        few = st.integers(-1, 4) | st.sampled_from((2**63 - 1, -(2**63), 2**64 - 1, 100))
        kinds: dict[str, Any] = {
            "integer": few,
            "integers": st.lists(few, min_size=max(0, rank - 1), max_size=rank + 1).map(tuple),
            "float": st.floats(),
            "boolean": st.booleans(),
            "dtype": st.sampled_from(DTYPES),
            "words": st.lists(st.sampled_from(_WORDS), max_size=12).map(tuple),
        }
        return self.draw(kinds[attribute.kind])


_WORDS = ("x0", "x0", "x1", *FUNCTIONS, *(each for each in FLOATS if each[-1] not in "fn"))
_PLAIN = sorted(
    name
    for name, each in OPERATORS.items()
    if all(attribute.kind != "graph" for attribute in each.attributes)
)


@st.composite
def wild_graphs(draw: DrawFunction) -> Graph:
    """Graphs whose every node was accepted by its operator's own check."""
    return Wild(draw).graph()


@st.composite
def formulas(draw: DrawFunction) -> bytes:
    """A formula, grown so that its stack is mostly right."""
    program: list[str] = []
    stack = ""
    for _ in range(draw(st.integers(1, 40))):
        fitting = [name for name, each in FUNCTIONS.items() if stack.endswith(each.takes)]
        word = draw(st.sampled_from([*_WORDS[:3], "0x1.8000000000000p+0", *fitting * 2]))
        program.append(word)
        if word in FUNCTIONS:
            stack = stack[: len(stack) - len(FUNCTIONS[word].takes)] + FUNCTIONS[word].gives
        else:
            stack += "f"
    while len(stack) > 1:
        words = ["where"] if stack[-3:] == "bff" else ["add"] if stack[-2:] == "ff" else ["x0"]
        program += words
        stack = (stack + "f") if words == ["x0"] else stack[: -len(FUNCTIONS[words[0]].takes)] + "f"
        if len(program) > 100:
            break
    operands = 1 + max((int(word[1:]) for word in program if word in ("x0", "x1")), default=0)
    dtype = draw(st.sampled_from(("float32", "float64", "float16", "bfloat16")))
    shape = FuzzDraw(draw).shape()
    return formula_bytes(tuple(program), dtype, shape, operands)


def formula_bytes(
    program: tuple[str, ...], dtype: str, shape: tuple[int, ...], operands: int
) -> bytes:
    """A graph of one formula, unchecked."""
    made = {"dtype": dtype, "shape": list(shape)}
    node = {
        "attributes": {"program": list(program)},
        "operands": list(range(operands)),
        "operator": "formula",
        "results": [made],
        "version": 1,
    }
    inputs = [{**made, "name": f"x{n}"} for n in range(operands)]
    return encode({"catalogue": 1, "nodes": [node], "outputs": [operands], "placeholders": inputs})
