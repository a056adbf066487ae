"""Operators that run others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, integer
from opgraph.catalogue.declaration import Call, ErrorRule, Operator, Types, Work
from opgraph.catalogue.formula import FORMULA
from opgraph.errors import GraphError
from opgraph.tensors import Array, Shape, TensorType

if TYPE_CHECKING:
    from opgraph.graph import Graph

MOST_STEPS = 10_000_000
"""Nodes that a repetition runs in all: each takes time, however little it computes."""


def _body(attributes: Attributes) -> Graph:
    return cast("Graph", attributes["body"])


def steps(graph: Graph) -> int:
    """Nodes that run in all, those of repeated bodies as often as they are repeated."""
    return sum(
        max(1, integer(node.attributes, "count")) * max(1, steps(_body(node.attributes)))
        if node.operator == "repeat"
        else 1
        for node in graph.nodes
    )


def _typing(types: Types, attributes: Attributes) -> tuple[TensorType, ...]:
    # The body is a graph, and graphs are made of operators: known here only when one is looked at.
    from opgraph.validation import validate

    body, count = _body(attributes), integer(attributes, "count")
    validate(body)
    if count < 0 or count * max(1, steps(body)) > MOST_STEPS:
        raise GraphError("too_many_steps", f"A repetition runs at most {MOST_STEPS} nodes.")
    if [each.type for each in body.placeholders] != list(types):
        raise GraphError("wrong_body", "The body takes what the repetition is given.")
    if list(body.output_types) != list(types[: len(body.outputs)]):
        raise GraphError("wrong_body", "The body gives its state back, in the same types.")
    return body.output_types


def _run(call: Call) -> None:
    from opgraph.executor import run_body

    body, values = _body(call.attributes), list(call.operands)
    for _ in range(integer(call.attributes, "count")):
        call.check()
        values[: len(body.outputs)] = run_body(body, values, call.xp, call.check)
    for result, value in zip(call.results, values, strict=False):
        result[...] = value


def _flops(types: Types, attributes: Attributes) -> int:
    from opgraph.cost import flops

    moved = sum(each.elements for each in types[: len(_body(attributes).outputs)])
    return integer(attributes, "count") * flops(_body(attributes)) + moved


def _bytes(_types: Types, attributes: Attributes) -> int:
    from opgraph.memory import peak_bytes

    return peak_bytes(_body(attributes)) if integer(attributes, "count") else 0


def _no_bound(operands: Sequence[Array], attributes: Attributes) -> tuple[Array, ...]:
    states = operands[: len(_body(attributes).outputs)]
    return tuple(numpy.full(each.shape, numpy.inf) for each in states)


def _shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    return tuple(shapes)


REPEAT = Operator(
    name="repeat",
    family="control",
    summary="A graph run `count` times on its own results: first the state, then constants.",
    operands=("values",),
    variadic=True,
    attributes=(
        Attribute("count", "integer", "how often"),
        Attribute("body", "graph", "takes state and constants, gives the new state"),
    ),
    dtypes={},
    shapes=_shapes,
    typing=_typing,
    run=_run,
    flops=Work(_flops, "those of the body, `count` times, and 1 for each element of the state"),
    temporaries=_bytes,
    contiguous=True,
    error=ErrorRule(
        _no_bound,
        lambda _types, _attributes: 1.0,
        "none: compared by recomputing, a segment at a time",
    ),
    special_values="As the operators of the body.",
)

OPERATORS = (FORMULA, REPEAT)
