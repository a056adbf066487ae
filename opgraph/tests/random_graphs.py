"""Valid graphs drawn at random, their inputs, and what they should compute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
from hypothesis import assume
from hypothesis import strategies as st

from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS
from opgraph.errors import GraphError
from opgraph.graph import Graph
from opgraph.tensors import TensorType, storage_dtype

DTYPES = ("float32", "float64", "int8", "int64", "uint16", "bool")

EXACT_BELOW = 2.0**10
"""Products of smaller whole numbers, and sums of a few of them, are exact in float32."""


def converted(operand: Any, dtype: str) -> Any:
    if operand.dtype.kind == "f" and dtype not in ("float32", "float64", "bool"):
        bounds = numpy.iinfo(dtype)
        operand = numpy.clip(operand, max(bounds.min, -EXACT_BELOW), min(bounds.max, EXACT_BELOW))
    return operand.astype(dtype)


# Enough to make every kind of step: views, copies, in place, scratch, several dtypes.
REFERENCE: dict[str, Callable[..., Any]] = {
    "add": lambda left, right: left + right,
    "subtract": lambda left, right: left - right,
    "multiply": lambda left, right: left * right,
    "negative": lambda operand: -operand,
    "matmul": lambda left, right: left @ right,
    "matmul_add": lambda accumulator, left, right: accumulator + left @ right,
    "astype": converted,
    "permute_dims": lambda operand, axes: numpy.transpose(operand, axes).copy(),
    "reshape": lambda operand, shape: operand.copy().reshape(shape),
    "slice": lambda operand, starts, stops, steps: operand[
        tuple(slice(*box) for box in zip(starts, stops, steps, strict=True))
    ].copy(),
    "flip": lambda operand, axes: numpy.flip(operand, axes).copy(),
}


class Drawn:
    """A graph under construction whose values are known by type."""

    def __init__(self, draw: Callable[[Any], Any], sides: tuple[int, ...]) -> None:
        self.draw = draw
        # Few sizes and dtypes, so that many values fit each other.
        self.sides = st.sampled_from(draw(st.permutations(sides))[:2])
        self.dtypes = st.sampled_from(draw(st.permutations(DTYPES))[:2])
        self.build = GraphBuilder()
        self.types: list[TensorType] = []

    def placeholders(self) -> None:
        for number in range(self.draw(st.integers(1, 4))):
            shape = tuple(self.draw(st.lists(self.sides, max_size=3)))
            dtype = self.draw(self.dtypes)
            self.types.append(TensorType(dtype, shape))
            self.build.placeholder(f"x{number}", dtype, shape)

    def node(self) -> None:
        name = self.draw(st.sampled_from(sorted(REFERENCE)))
        first = self.draw(st.integers(0, len(self.types) - 1))
        attributes = self.attributes(name, self.types[first])
        operands = [first]
        for _ in OPERATORS[name].operands[1:]:
            alike = [n for n, each in enumerate(self.types) if self.may_follow(name, each, first)]
            operands.append(self.draw(st.sampled_from(alike)))
        try:
            results = OPERATORS[name].infer([self.types[each] for each in operands], attributes)
        except GraphError:
            return
        self.build.apply_all(name, operands, attributes)
        self.types.extend(results)

    def may_follow(self, name: str, other: TensorType, first: int) -> bool:
        """Whether a value can be another operand: a first sieve, `infer` decides."""
        type_ = self.types[first]
        if name.startswith("matmul"):
            return other.dtype == type_.dtype and other.rank == type_.rank
        return other == type_

    def attributes(self, name: str, operand: TensorType) -> dict[str, Any]:
        if name == "astype":
            return {"dtype": self.draw(self.dtypes)}
        if name == "permute_dims":
            return {"axes": tuple(self.draw(st.permutations(range(operand.rank))))}
        if name == "reshape":
            flat = self.draw(st.booleans())
            return {"shape": (operand.elements,) if flat else tuple(reversed(operand.shape))}
        if name == "slice":
            return {
                "starts": tuple(self.draw(st.integers(0, size)) for size in operand.shape),
                "stops": operand.shape,
                "steps": tuple(self.draw(st.integers(1, 2)) for _ in operand.shape),
            }
        if name == "flip":
            return {"axes": tuple(a for a in range(operand.rank) if self.draw(st.booleans()))}
        return {}

    def graph(self) -> Graph:
        count = len(self.types)
        outputs = self.draw(st.lists(st.integers(0, count - 1), min_size=1, max_size=4))
        return self.build.build(*outputs)


@st.composite
def graphs(draw: Callable[[Any], Any], sides: tuple[int, ...] = (0, 1, 2, 3)) -> Graph:
    drawn = Drawn(draw, sides)
    drawn.placeholders()
    for _ in range(draw(st.integers(0, 25))):
        drawn.node()
    return drawn.graph()


def arrays(graph: Graph, seed: int = 0) -> dict[str, Any]:
    """Small whole numbers, so that every dtype computes the same values exactly."""
    random = numpy.random.default_rng(seed)
    return {
        each.name: random.integers(0, 3, each.type.shape).astype(storage_dtype(each.type.dtype))
        for each in graph.placeholders
    }


def reference(graph: Graph, inputs: dict[str, Any]) -> list[Any]:
    values = [inputs[each.name] for each in graph.placeholders]
    with numpy.errstate(all="ignore"):
        for node in graph.nodes:
            operands = [values[each] for each in node.operands]
            values.append(numpy.asarray(REFERENCE[node.operator](*operands, **node.attributes)))
    floats = [each for each in values if each.dtype.kind == "f"]
    assume(all(abs(each).max(initial=0) < EXACT_BELOW for each in floats))
    return [values[each] for each in graph.outputs]
