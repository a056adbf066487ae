"""Formulas and repetitions: what they refuse, and how they travel."""

from __future__ import annotations

import json
from typing import Any

import numpy
import pytest
from operator_samples.control import halving

from opgraph.builder import GraphBuilder
from opgraph.catalogue.control import MOST_STEPS
from opgraph.catalogue.formula import DEEPEST, FUNCTIONS, MOST_WORDS
from opgraph.errors import ExecutionCancelled, GraphError
from opgraph.executor import execute
from opgraph.graph import Graph

ONE = (1.0).hex()


def formula(*program: str, operands: int = 1, dtype: str = "float32") -> Graph:
    build = GraphBuilder()
    values = [build.placeholder(f"x{n}", dtype, (3,)) for n in range(operands)]
    return build.build(build.apply("formula", *values, program=program))


def repeat(count: int, body: Graph, times: int = 1) -> Graph:
    """The body repeated, within as many repetitions more."""
    for _ in range(times):
        build = GraphBuilder()
        values = [build.placeholder(p.name, p.type.dtype, p.type.shape) for p in body.placeholders]
        body = build.build(build.apply("repeat", *values, count=count, body=body))
    return body


@pytest.mark.parametrize(
    "program",
    [
        (),
        ("x1",),
        ("x0", "x0"),
        ("add",),
        ("x0", "add"),
        ("x0", "import"),
        ("x0", "__class__", "add"),
        ("x0", "X0", "add"),
        ("x0", "x00", "add"),
        ("x0", "1.0", "add"),
        ("x0", "0x1p0", "add"),
        ("x0", "inf", "add"),
        ("x0", "nan", "add"),
        ("x0", "0x1.0000000000000p+9999", "add"),
        ("x0", ONE, "less"),
        ("x0", ONE, "less", "x0", "add"),
        ("x0", ONE, "x0", "where"),
        (ONE,),
        ("x0", *("negative",) * MOST_WORDS),
        ("x0", *(ONE,) * DEEPEST, *("add",) * DEEPEST),
    ],
)
def test_a_program_that_is_none_is_refused(program: tuple[str, ...]) -> None:
    with pytest.raises(GraphError) as refusal:
        formula(*program)
    assert refusal.value.code in ("wrong_formula", "wrong_attributes")


@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_formulas_are_of_floats(dtype: str) -> None:
    with pytest.raises(GraphError) as refusal:
        formula("x0", dtype=dtype)
    assert refusal.value.code == "wrong_dtype"


def test_a_formula_and_a_repetition_travel() -> None:
    for graph in (formula("x0", ONE, "add"), repeat(3, halving("float32", (4,)), times=2)):
        read = Graph.from_bytes(graph.to_bytes())
        assert read == graph
        assert read.id == graph.id


def test_functions_are_named_as_operators_are() -> None:
    from opgraph.catalogue import OPERATORS

    assert set(FUNCTIONS) <= set(OPERATORS)


def test_a_body_must_fit() -> None:
    body = halving("float32", (4,))
    build = GraphBuilder()
    values = [build.placeholder(f"x{n}", "float64", (4,)) for n in range(2)]
    for given in (values, values[:1]):
        with pytest.raises(GraphError) as refusal:
            build.apply("repeat", *given, count=1, body=body)
        assert refusal.value.code == "wrong_body"


@pytest.mark.parametrize("count", [-1, MOST_STEPS, 2**62])
def test_endless_repetitions_are_refused(count: int) -> None:
    with pytest.raises(GraphError) as refusal:
        repeat(count, halving("float32", (4,)))
    assert refusal.value.code == "too_many_steps"


def test_repetitions_in_repetitions_count_together() -> None:
    with pytest.raises(GraphError) as refusal:
        repeat(1000, halving("float32", ()), times=3)
    assert refusal.value.code == "too_many_steps"


def test_graphs_do_not_nest_without_end() -> None:
    graph = repeat(1, halving("float32", ()), times=8)
    with pytest.raises(GraphError) as refusal:
        Graph.from_bytes(graph.to_bytes())
    assert refusal.value.code == "nested_too_deeply"


def test_a_body_that_was_tampered_with_is_refused() -> None:
    tree = json.loads(repeat(2, halving("float32", (4,))).to_bytes())
    tree["nodes"][0]["attributes"]["body"]["nodes"][1]["operands"] = [9, 0]
    data = json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()
    with pytest.raises(GraphError) as refusal:
        Graph.from_bytes(data)
    assert refusal.value.code == "forward_reference"


def test_a_repetition_can_be_cancelled() -> None:
    asked: list[None] = []

    def cancelled() -> bool:
        asked.append(None)
        return len(asked) > 20

    graph = repeat(1000, halving("float32", (4,)))
    inputs: dict[str, Any] = {f"x{n}": numpy.ones(4, "float32") for n in range(2)}
    with pytest.raises(ExecutionCancelled):
        execute(graph, inputs, cancelled=cancelled)
    assert len(asked) == 21


def test_a_thousand_steps_of_a_stencil() -> None:
    """Jacobi's iteration on a rod between 0 and 1 tends to a straight line."""
    size = 12
    build = GraphBuilder()
    rod = build.placeholder("x0", "float64", (size,))

    def part(start: int) -> int:
        return build.apply("slice", rod, starts=(start,), stops=(start + size - 2,), steps=(1,))

    half = build.apply("full", shape=(size - 2,), value=0.5, dtype="float64")
    inner = build.apply("multiply", build.apply("add", part(0), part(2)), half)
    body = build.build(build.apply("set_slice", rod, inner, starts=(1,), steps=(1,)))
    start = numpy.zeros(size)
    start[-1] = 1
    (result,) = execute(repeat(1000, body), {"x0": start})
    numpy.testing.assert_allclose(result, numpy.linspace(0, 1, size), rtol=0, atol=1e-12)
