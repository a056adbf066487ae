"""The operator graph: static shapes and dtypes, every value made once, no side effects.

Values are numbered: the placeholders first, then the results of each node in turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from blake3 import blake3

from opgraph import form
from opgraph.catalogue import CATALOGUE_VERSION
from opgraph.nodes import Node, Placeholder
from opgraph.program import Program, compile_program
from opgraph.tensors import TensorType
from opgraph.validation import Limits, check_bytes, validate


@dataclass(frozen=True)
class Graph:
    """Placeholders, nodes in an order in which they can run, and the values that come out."""

    placeholders: tuple[Placeholder, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[int, ...]
    catalogue: int = CATALOGUE_VERSION

    @cached_property
    def types(self) -> tuple[TensorType, ...]:
        """The type of every value."""
        made = (result for node in self.nodes for result in node.results)
        return (*(each.type for each in self.placeholders), *made)

    @property
    def output_types(self) -> tuple[TensorType, ...]:
        return tuple(self.types[value] for value in self.outputs)

    def operand_types(self, node: Node) -> tuple[TensorType, ...]:
        return tuple(self.types[value] for value in node.operands)

    @cached_property
    def program(self) -> Program:
        """What the executor runs: made once, read only."""
        return compile_program(self)

    def to_bytes(self) -> bytes:
        """The canonical form: equal graphs give equal bytes."""
        return form.write(self)

    @classmethod
    def from_bytes(cls, data: bytes, limits: Limits | None = None) -> Graph:
        """Read and validate the canonical form. Raises GraphError, never anything else."""
        limits = limits or Limits()
        check_bytes(data, limits)
        graph = cls(*form.read(data, limits.file_bytes))
        validate(graph, limits)
        return graph

    @cached_property
    def id(self) -> str:
        """BLAKE3 of the canonical form, in hexadecimal."""
        return str(blake3(self.to_bytes()).hexdigest())
