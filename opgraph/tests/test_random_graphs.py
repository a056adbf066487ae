"""Properties that hold for every valid graph, on graphs drawn at random."""

from __future__ import annotations

import json
import tracemalloc

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_graphs import arrays, graphs, reference

from opgraph.errors import GraphError
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.program import compile_program
from opgraph.tensors import storage_dtype
from opgraph.validation import validate


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
