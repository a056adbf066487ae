"""What a graph costs in arithmetic. Credit is paid by this number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opgraph.nodes import Node

if TYPE_CHECKING:
    from opgraph.graph import Graph


def node_flops(graph: Graph, node: Node) -> int:
    """Operations of one node; a multiply-add counts 2."""
    return node.declaration.flops(graph.operand_types(node), node.attributes)


def flops(graph: Graph) -> int:
    """Operations of the whole graph: exact, and the same on every machine."""
    return sum(node_flops(graph, node) for node in graph.nodes)
