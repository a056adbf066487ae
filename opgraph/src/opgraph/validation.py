"""What a graph must fulfil before anybody downloads for it or runs it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opgraph.catalogue import CATALOGUE_VERSION
from opgraph.cost import flops
from opgraph.errors import FormError, GraphError, LimitError
from opgraph.memory import peak_bytes
from opgraph.nodes import Node
from opgraph.tensors import DTYPES, TensorType

if TYPE_CHECKING:
    from opgraph.graph import Graph

_NAME = re.compile(r"[a-z][0-9]{1,7}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest graph that a reader takes. Bytes, counts, and operations."""

    file_bytes: int = 16 << 20
    nodes: int = 50_000
    placeholders: int = 50_000
    outputs: int = 1_000
    rank: int = 16
    elements: int = 2**40
    peak_bytes: int = 2**46
    flops: int = 2**62


def check_bytes(data: bytes, limits: Limits) -> None:
    """Refuse what is too much before it is parsed, which takes a hundred times as long."""
    if len(data) <= limits.file_bytes:
        _at_most("too_many_nodes", "nodes", data.count(b'"operator":'), limits.nodes)
        placeholders = data.count(b'"name":')
        _at_most("too_many_placeholders", "placeholders", placeholders, limits.placeholders)


def validate(graph: Graph, limits: Limits | None = None) -> None:
    """Refuse what is not a graph of this catalogue. Raises GraphError."""
    limits = limits or Limits()
    _check_counts(graph, limits)
    _check_placeholders(graph, limits)
    _check_nodes(graph, limits)
    _check_outputs(graph)
    # Both walk the whole graph and rely on what was checked above.
    _at_most("too_many_flops", "operations", flops(graph), limits.flops)
    _at_most("too_much_memory", "bytes of memory", peak_bytes(graph), limits.peak_bytes)


def _at_most(code: str, what: str, value: int, limit: int) -> None:
    if value > limit:
        raise LimitError(code, f"The graph has {value} {what}; the limit is {limit}.")


def _check_counts(graph: Graph, limits: Limits) -> None:
    if not 1 <= graph.catalogue <= CATALOGUE_VERSION:
        raise GraphError(
            "unknown_catalogue",
            f"The graph needs catalogue {graph.catalogue}; this is {CATALOGUE_VERSION}.",
        )
    _at_most("too_many_nodes", "nodes", len(graph.nodes), limits.nodes)
    _at_most("too_many_placeholders", "placeholders", len(graph.placeholders), limits.placeholders)
    _at_most("too_many_outputs", "outputs", len(graph.outputs), limits.outputs)


def _check_placeholders(graph: Graph, limits: Limits) -> None:
    names = [each.name for each in graph.placeholders]
    if len(set(names)) != len(names):
        raise GraphError("duplicate_name", "Two placeholders have one name.")
    for each in graph.placeholders:
        if not _NAME.fullmatch(each.name):
            raise GraphError("wrong_name", "A placeholder's name is a letter and a number.")
        _check_type(each.type, limits)


def _check_type(type_: TensorType, limits: Limits) -> None:
    if type_.dtype not in DTYPES:
        raise GraphError("wrong_dtype", f"There is no dtype {type_.dtype[:32]!r}.")
    if min(type_.shape, default=0) < 0:
        raise GraphError("wrong_shape", f"{type_} has a negative size.")
    _at_most("too_many_axes", "axes in a tensor", type_.rank, limits.rank)
    _at_most("too_many_elements", "elements in a tensor", type_.elements, limits.elements)


def _check_nodes(graph: Graph, limits: Limits) -> None:
    known = [each.type for each in graph.placeholders]
    for position, node in enumerate(graph.nodes):
        try:
            _check_node(node, known, limits, graph.catalogue)
        except GraphError as error:
            raise type(error)(error.code, f"Node {position}: {error.message}") from None
        known.extend(node.results)


def _check_node(node: Node, known: list[TensorType], limits: Limits, catalogue: int) -> None:
    declaration = node.declaration
    if declaration.since > catalogue:
        raise GraphError(
            "unknown_operator", f"{node.operator} came in catalogue {declaration.since}."
        )
    if node.version != declaration.version:
        raise GraphError(
            "unknown_version", f"There is no version {node.version} of {node.operator}."
        )
    if any(not 0 <= value < len(known) for value in node.operands):
        raise GraphError("forward_reference", "An operand is not made before the node.")
    inferred = declaration.infer([known[value] for value in node.operands], node.attributes)
    if inferred != node.results:
        made = ", ".join(map(str, inferred))
        raise GraphError("wrong_result", f"{node.operator} makes {made} here.")
    for each in inferred:
        _check_type(each, limits)


def _check_outputs(graph: Graph) -> None:
    if not graph.outputs:
        raise GraphError("no_output", "The graph has no output.")
    if any(not 0 <= value < len(graph.types) for value in graph.outputs):
        raise GraphError("unknown_output", "An output is no value of the graph.")


__all__ = ["FormError", "GraphError", "LimitError", "Limits", "validate"]
