"""Building a graph in a program."""

from __future__ import annotations

from collections.abc import Sequence

from opgraph.catalogue import operator
from opgraph.catalogue.attributes import Attributes, AttributeValue
from opgraph.errors import GraphError
from opgraph.graph import Graph
from opgraph.nodes import Node, Placeholder
from opgraph.tensors import TensorType


class GraphBuilder:
    """Builds a graph node by node; shapes and dtypes are checked as each node is added."""

    def __init__(self) -> None:
        self._placeholders: list[Placeholder] = []
        self._nodes: list[Node] = []
        self._types: list[TensorType] = []

    def placeholder(self, name: str, dtype: str, shape: Sequence[int]) -> int:
        """Add an input; all inputs come before the first node. Returns its value number."""
        if self._nodes:
            raise GraphError("late_placeholder", "Placeholders come before the first node.")
        type_ = TensorType(dtype, tuple(shape))
        self._placeholders.append(Placeholder(name, type_))
        self._types.append(type_)
        return len(self._types) - 1

    def type(self, value: int) -> TensorType:
        """The type of a value."""
        return self._types[value]

    def apply(self, name: str, *operands: int, **attributes: AttributeValue) -> int:
        """Add a node with one result; returns its value number. Raises GraphError."""
        (value,) = self.apply_all(name, operands, attributes)
        return value

    def apply_all(
        self, name: str, operands: Sequence[int], attributes: Attributes
    ) -> tuple[int, ...]:
        """Add a node; returns the value numbers of its results. Raises GraphError."""
        declaration = operator(name)
        results = declaration.infer([self._types[value] for value in operands], attributes)
        version = declaration.version
        self._nodes.append(Node(name, tuple(operands), results, dict(attributes), version))
        first = len(self._types)
        self._types.extend(results)
        return tuple(range(first, len(self._types)))

    def build(self, *outputs: int) -> Graph:
        """The graph with these outputs, for the first catalogue that has all its operators."""
        needed = max((node.declaration.since for node in self._nodes), default=1)
        return Graph(tuple(self._placeholders), tuple(self._nodes), outputs, needed)
