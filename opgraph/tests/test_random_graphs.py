"""Properties that hold for every valid graph, on graphs drawn at random."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS
from opgraph.errors import GraphError
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.program import compile_program
from opgraph.tensors import TensorType, storage_dtype
from opgraph.validation import validate

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


@given(graphs())
def test_the_canonical_form_is_read_back_as_the_same_graph(graph: Graph) -> None:
    data = graph.to_bytes()
    again = Graph.from_bytes(data)
    assert again == graph
    assert again.to_bytes() == data
    assert again.id == graph.id


@given(graphs(), st.data())
def test_no_other_spelling_of_a_graph_is_read(graph: Graph, data: st.DataObject) -> None:
    indent = data.draw(st.sampled_from([0, 1, None]))
    tree = json.loads(graph.to_bytes())
    text = json.dumps(tree, indent=indent, sort_keys=True).encode()
    with pytest.raises(GraphError):
        Graph.from_bytes(text)


@given(graphs(), st.data())
def test_changed_bytes_raise_nothing_but_graph_error(graph: Graph, data: st.DataObject) -> None:
    original = bytearray(graph.to_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(original) - 1))
        length = data.draw(st.integers(0, 6))
        original[place : place + length] = data.draw(
            st.binary(max_size=6) | st.sampled_from([b"0", b"9", b"-1", b"]", b'"', b"nan", b"{"])
        )
    try:
        read = Graph.from_bytes(bytes(original))
    except GraphError:
        return
    assert read.to_bytes() == bytes(original)
    validate(read)


@given(graphs(sides=(0, 1, 2, 3, 5)), st.integers(0, 2**32))
def test_the_executor_computes_what_the_reference_does(graph: Graph, seed: int) -> None:
    inputs = arrays(graph, seed)
    kept = {name: array.copy() for name, array in inputs.items()}
    results = execute(graph, inputs)
    for result, expected, type_ in zip(
        results, reference(graph, kept), graph.output_types, strict=True
    ):
        assert result.shape == type_.shape
        assert result.dtype == storage_dtype(type_.dtype)
        numpy.testing.assert_array_equal(result, expected)
    for name, array in inputs.items():
        numpy.testing.assert_array_equal(array, kept[name])


@given(graphs(sides=(1, 2, 3)))
def test_outputs_share_memory_with_nothing(graph: Graph) -> None:
    inputs = arrays(graph)
    results = execute(graph, inputs)
    others = list(inputs.values())
    for result in results:
        assert not any(numpy.shares_memory(result, other) for other in others)
        others.append(result)


@given(graphs(sides=(0, 1, 2, 3)))
def test_outputs_are_written_where_the_caller_says(graph: Graph) -> None:
    inputs = arrays(graph)
    expected = execute(graph, inputs)
    room = {
        position: numpy.empty(type_.shape, storage_dtype(type_.dtype))
        for position, type_ in enumerate(graph.output_types)
    }
    results = execute(graph, inputs, out=room)
    for position, result in enumerate(results):
        assert result is room[position]
        numpy.testing.assert_array_equal(result, expected[position])


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(graphs(sides=(48, 64)))
def test_measured_memory_is_never_above_the_model(graph: Graph) -> None:
    inputs = arrays(graph)
    factories = {name: array.copy for name, array in inputs.items()}
    # numpy reads operands that are not contiguous through buffers of 8,192 elements.
    overhead = 20_000 + 2_000 * len(graph.nodes) + 3 * 8_192 * 8
    # What is made once per process is not the graph's.
    execute(graph, inputs)
    tracemalloc.start()
    try:
        results = execute(graph, factories)
        measured = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(results) == len(graph.outputs)
    assert measured <= peak_bytes(graph) + overhead


@given(graphs())
def test_every_value_that_is_used_has_one_place_and_is_dropped_once(graph: Graph) -> None:
    program = compile_program(graph)
    assert len(program.places) == len(program.types)
    dropped = [value for step in program.steps for value in step.drops]
    assert len(dropped) == len(set(dropped))
    assert not set(dropped) & set(program.outputs)
    loaded = [value for step in program.steps for value in step.loads]
    assert len(loaded) == len(set(loaded))
