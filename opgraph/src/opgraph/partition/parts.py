"""A graph as several graphs, each the work of one machine, and what goes from one to the next.

Placeholders of a part are named by their number in the order of their first use, and nothing in a
part says where it stood in the whole. So equal layers give one graph with one id, and differ in
their sources alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from opgraph.catalogue import operator
from opgraph.catalogue.attributes import Attributes
from opgraph.cost import flops
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.nodes import Node, Placeholder
from opgraph.tensors import Shape, TensorType

Span: TypeAlias = tuple[int, int]
"""Along one axis: [first, beyond)."""
Box: TypeAlias = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Where an array comes from: output `position` of part `part`, or, where `part` is None,
    placeholder `position` of the whole graph. `box` takes a part of it, one span for each axis."""

    part: int | None
    position: int
    box: Box | None = None


@dataclass(frozen=True)
class Part:
    """A graph, a source for each of its placeholders, and the nodes of the whole that it computes.

    `nodes` are positions in the whole graph. Constants and views of inputs are not among them:
    every part makes those that it needs. Nodes that no output comes of are left out.
    """

    graph: Graph
    sources: tuple[Source, ...]
    nodes: tuple[int, ...] = ()

    @cached_property
    def flops(self) -> int:
        return flops(self.graph)

    @cached_property
    def peak_bytes(self) -> int:
        """Memory that it needs, an upper bound."""
        return peak_bytes(self.graph)


@dataclass(frozen=True)
class Chain:
    """Parts in an order in which they can run, and where the outputs of the whole come from."""

    placeholders: tuple[Placeholder, ...]
    parts: tuple[Part, ...]
    outputs: tuple[Source, ...]


class PartBuilder:
    """Builds a part node by node; inputs may be taken at any time.

    Values are numbers that hold within this builder only: inputs below 0, made ones from 0 on.
    """

    def __init__(self) -> None:
        self._inputs: dict[Source, int] = {}
        self._input_types: list[TensorType] = []
        self._nodes: list[Node] = []
        self._types: list[TensorType] = []

    def take(self, source: Source, type_: TensorType) -> int:
        """An array from elsewhere; the same source gives the same value."""
        if source not in self._inputs:
            self._input_types.append(type_)
            self._inputs[source] = -len(self._input_types)
        return self._inputs[source]

    def type(self, value: int) -> TensorType:
        return self._types[value] if value >= 0 else self._input_types[-value - 1]

    def apply_all(
        self, name: str, operands: Sequence[int], attributes: Attributes
    ) -> tuple[int, ...]:
        """Add a node; returns the values of its results. Raises GraphError."""
        declaration = operator(name)
        results = declaration.infer([self.type(each) for each in operands], attributes)
        self._nodes.append(Node(name, tuple(operands), results, attributes, declaration.version))
        first = len(self._types)
        self._types.extend(results)
        return tuple(range(first, len(self._types)))

    def apply(self, name: str, operands: Sequence[int], attributes: Attributes) -> int:
        """The same for a node with one result."""
        (value,) = self.apply_all(name, operands, attributes)
        return value

    def part(self, outputs: Iterable[int], nodes: Iterable[int] = ()) -> Part:
        """The part with these outputs."""
        count = len(self._inputs)

        def number(value: int) -> int:
            return count + value if value >= 0 else -value - 1

        named = (Placeholder(f"x{n}", type_) for n, type_ in enumerate(self._input_types))
        renumbered = tuple(
            Node(each.operator, tuple(map(number, each.operands)), each.results, each.attributes,
                 each.version)
            for each in self._nodes
        )  # fmt: skip
        needed = max((each.declaration.since for each in renumbered), default=1)
        graph = Graph(tuple(named), renumbered, tuple(map(number, outputs)), needed)
        return Part(graph, tuple(self._inputs), tuple(nodes))


class Whole:
    """A graph with what every way of cutting it asks."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.outputs = frozenset(graph.outputs)
        self.maker: list[int | None] = [None] * len(graph.placeholders)
        self.users: list[list[int]] = [[] for _ in graph.types]
        self.first_result: list[int] = []
        for position, node in enumerate(graph.nodes):
            self.first_result.append(len(self.maker))
            self.maker.extend([position] * len(node.results))
        self.free = _free_values(graph)
        self.wanted = self._wanted_nodes()
        for position in self.wanted:
            for value in dict.fromkeys(graph.nodes[position].operands):
                self.users[value].append(position)

    def _wanted_nodes(self) -> tuple[int, ...]:
        """Positions of the nodes that an output comes of."""
        wanted = set(self.graph.outputs)
        nodes = []
        for position in reversed(range(len(self.graph.nodes))):
            if not wanted.isdisjoint(self.results(position)):
                wanted.update(self.graph.nodes[position].operands)
                nodes.append(position)
        return tuple(reversed(nodes))

    def results(self, position: int) -> range:
        """The values that a node makes."""
        first = self.first_result[position]
        return range(first, first + len(self.graph.nodes[position].results))

    @cached_property
    def real_nodes(self) -> tuple[int, ...]:
        """Positions of the nodes that are computed once, by one part, and not left out."""
        return tuple(each for each in self.wanted if not self.is_free_node(each))

    def is_free_node(self, position: int) -> bool:
        """Whether every part that needs a node may make it for itself."""
        return self.free[self.first_result[position]]

    def shape(self, value: int) -> Shape:
        return self.graph.types[value].shape


def _free_values(graph: Graph) -> list[bool]:
    """Inputs, constants (what no input leads to), and views of free values."""
    constant = [False] * len(graph.placeholders)
    free = [True] * len(graph.placeholders)
    for node in graph.nodes:
        is_constant = all(constant[each] for each in node.operands)
        is_view = node.declaration.view is not None and all(free[each] for each in node.operands)
        constant.extend([is_constant] * len(node.results))
        free.extend([is_constant or is_view] * len(node.results))
    return free


def extract(
    whole: Whole, nodes: Sequence[int], outputs: Sequence[int], made: Mapping[int, Source]
) -> Part:
    """The part that computes these nodes, in their order, and gives these values of the whole.

    `made` says where values that are neither free nor made by the nodes come from.
    """
    copying = _Copying(whole, made)
    for position in nodes:
        copying.node(position)
    return copying.build.part([copying.value(each) for each in outputs], nodes)


class _Copying:
    """Nodes of the whole graph, copied into a part; free values just before their first use."""

    def __init__(self, whole: Whole, made: Mapping[int, Source]) -> None:
        self.whole = whole
        self.made = made
        self.build = PartBuilder()
        self.known: dict[int, int] = {}

    def node(self, position: int) -> None:
        node = self.whole.graph.nodes[position]
        operands = [self.value(each) for each in node.operands]
        self._apply(position, operands)

    def _apply(self, position: int, operands: Sequence[int]) -> None:
        node = self.whole.graph.nodes[position]
        results = self.build.apply_all(node.operator, operands, node.attributes)
        self.known.update(zip(self.whole.results(position), results, strict=True))

    def value(self, wanted: int) -> int:
        # A stack, for a chain of views may be longer than Python's.
        waiting = [wanted]
        while waiting:
            value = waiting.pop()
            if value in self.known:
                continue
            maker = self.whole.maker[value]
            if maker is None or not self.whole.free[value]:
                self.known[value] = self._taken(value)
                continue
            operands = self.whole.graph.nodes[maker].operands
            missing = [each for each in operands if each not in self.known]
            if missing:
                waiting.extend((value, *reversed(missing)))
            else:
                self._apply(maker, [self.known[each] for each in operands])
        return self.known[wanted]

    def _taken(self, value: int) -> int:
        from_input = self.whole.maker[value] is None
        source = Source(None, value) if from_input else self.made[value]
        return self.build.take(source, self.whole.graph.types[value])


def refine(chain: Chain, cut: Callable[[Graph], Chain]) -> Chain:
    """Cut every part further: stages into blocks, say. Parts of the result name no nodes.

    Raises what `cut` raises.
    """
    parts: list[Part] = []
    outputs: list[tuple[Source, ...]] = []

    def outside(source: Source) -> Source:
        """What a source of the chain is in the result."""
        if source.part is None:
            return source
        return _within(outputs[source.part][source.position], source.box)

    for part in chain.parts:
        inner, first = cut(part.graph), len(parts)
        given = [outside(source) for source in part.sources]

        def inside(source: Source, first: int = first, given: list[Source] = given) -> Source:
            if source.part is None:
                return _within(given[source.position], source.box)
            return Source(first + source.part, source.position, source.box)

        parts.extend(Part(each.graph, tuple(map(inside, each.sources))) for each in inner.parts)
        outputs.append(tuple(map(inside, inner.outputs)))
    return Chain(chain.placeholders, tuple(parts), tuple(map(outside, chain.outputs)))


def _within(source: Source, box: Box | None) -> Source:
    """A box of what a source gives."""
    if box is None or source.box is None:
        return Source(source.part, source.position, box or source.box)
    moved = tuple(
        (start + first, start + beyond)
        for (start, _), (first, beyond) in zip(source.box, box, strict=True)
    )
    return Source(source.part, source.position, moved)
