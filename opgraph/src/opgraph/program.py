"""A graph as a flat list of steps, with the memory that each value lives in.

Executor and memory model read the same list, so what is admitted is what runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from opgraph.catalogue import Operator
from opgraph.catalogue.attributes import Attributes, integers
from opgraph.nodes import Node
from opgraph.tensors import TensorType

if TYPE_CHECKING:
    from opgraph.graph import Graph


@dataclass(slots=True)
class Store:
    """One piece of memory, until after `last_step`. `output` is the output that it will be."""

    nbytes: int
    last_step: int
    is_input: bool = False
    output: int | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value lives: its store, and whether it is all of it in row-major order."""

    store: int
    whole: bool = True
    contiguous: bool = True


@dataclass(frozen=True, slots=True)
class Step:
    """Run one operator, or, where `operator` is None, copy a value to where outputs are kept.

    Before it the placeholders `loads` are fetched; after it the values `drops` are forgotten.
    `shares` says that the result lies in the memory of its operand: a view of it, or, with
    `takes_over`, in place of it.
    """

    operator: Operator | None
    attributes: Attributes
    operands: tuple[int, ...]
    results: tuple[int, ...]
    flops: int = 0
    temporaries: int = 0
    scratch: int = 0
    shares: int | None = None
    takes_over: bool = False
    loads: tuple[int, ...] = ()
    drops: tuple[int, ...] = ()
    types: tuple[TensorType, ...] = ()
    """Of the operands."""


@dataclass(slots=True)
class Program:
    """Steps; the type and place of every value; stores; the values that come out."""

    steps: list[Step]
    types: list[TensorType]
    places: list[Place]
    stores: list[Store]
    outputs: tuple[int, ...]

    def made_stores(self, step: Step) -> list[int]:
        """Stores that are allocated for the results of a step."""
        if step.shares is not None:
            return [self.places[value].store for value in step.results[1:]]
        return [self.places[value].store for value in step.results]


def compile_program(graph: Graph) -> Program:
    """The steps of a valid graph."""
    return _Compiler(graph).compile()


class _Compiler:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.end = len(graph.nodes) + len(graph.outputs)
        self.last_use = _last_uses(graph, self.end)
        self.steps: list[Step] = []
        self.types = list(graph.types)
        self.places: list[Place] = []
        self.stores: list[Store] = []

    def compile(self) -> Program:
        for value, placeholder in enumerate(self.graph.placeholders):
            self._new_store(value, placeholder.type, is_input=True)
        for node in self.graph.nodes:
            self.steps.append(self._step(node))
        outputs = tuple(map(self._output, range(len(self.graph.outputs))))
        steps = list(_with_loads_and_drops(self.steps, self.last_use, self._inputs()))
        return Program(steps, self.types, self.places, self.stores, outputs)

    def _inputs(self) -> int:
        return len(self.graph.placeholders)

    def _new_store(self, value: int, type_: TensorType, is_input: bool = False) -> None:
        self.places.append(Place(len(self.stores)))
        self.stores.append(Store(type_.nbytes, self.last_use[value], is_input))

    def _step(self, node: Node) -> Step:
        first = len(self.places)
        results = tuple(range(first, first + len(node.results)))
        shares = self._shared_operand(node)
        is_view = shares is not None and node.declaration.view is not None
        if shares is not None:
            self._share(results[0], node, node.operands[shares])
        for value in results[shares is not None :]:
            self._new_store(value, self.types[value])
        return self._declared(node, results, shares, is_view)

    def _declared(
        self, node: Node, results: tuple[int, ...], shares: int | None, is_view: bool
    ) -> Step:
        declaration, attributes = node.declaration, node.attributes
        types = self.graph.operand_types(node)
        inside = 0 if is_view else declaration.temporaries(types, attributes)
        if declaration.contiguous:
            inside += self._copies(node)
        return Step(
            declaration,
            attributes,
            node.operands,
            results,
            flops=declaration.flops(types, attributes),
            temporaries=inside,
            scratch=declaration.scratch(types, attributes),
            shares=shares,
            takes_over=shares is not None and not is_view,
            types=types,
        )

    def _copies(self, node: Node) -> int:
        """Bytes of operands that are copied into row-major order first."""
        return sum(
            self.types[value].nbytes for value in node.operands if not self.places[value].contiguous
        )

    def _shared_operand(self, node: Node) -> int | None:
        declaration = node.declaration
        if declaration.view is not None:
            contiguous = self.places[node.operands[0]].contiguous
            return 0 if contiguous or not declaration.needs_contiguous else None
        candidates = (each for each in declaration.in_place if self._may_overwrite(node, each))
        return next(candidates, None)

    def _may_overwrite(self, node: Node, operand: int) -> bool:
        place = self.places[node.operands[operand]]
        store = self.stores[place.store]
        uses = [self.places[value].store for value in node.operands].count(place.store)
        same_type = self.types[node.operands[operand]] == node.results[0]
        dies_here = store.last_step == len(self.steps)
        return place.whole and same_type and dies_here and uses == 1 and not store.is_input

    def _share(self, result: int, node: Node, operand: int) -> None:
        place = self.places[operand]
        if node.declaration.view is not None and not node.declaration.needs_contiguous:
            contiguous = place.contiguous and _is_run(node, self.types[operand])
            place = Place(place.store, whole=False, contiguous=contiguous)
        self.places.append(place)
        store = self.stores[place.store]
        store.last_step = max(store.last_step, self.last_use[result])

    def _output(self, position: int) -> int:
        """The value that is handed out: the computed one, or a copy where it is not its own."""
        value = self.graph.outputs[position]
        place = self.places[value]
        store = self.stores[place.store]
        if place.whole and not store.is_input and store.output is None:
            store.output = position
            return value
        return self._copied_output(position, value)

    def _copied_output(self, position: int, value: int) -> int:
        copy = len(self.places)
        self.types.append(self.types[value])
        self.last_use.append(self.end)
        self._new_store(copy, self.types[value])
        self.stores[-1].output = position
        self.steps.append(Step(None, {}, (value,), (copy,)))
        return copy


def _is_run(node: Node, operand: TensorType) -> bool:
    """Whether a slice takes neighbours along the first axis, and all along the others."""
    if node.operator != "slice":
        return False
    steps = integers(node.attributes, "steps")
    return set(steps) <= {1} and node.results[0].shape[1:] == operand.shape[1:]


def _last_uses(graph: Graph, end: int) -> list[int]:
    last = [0] * len(graph.placeholders)
    for position, node in enumerate(graph.nodes):
        for value in node.operands:
            last[value] = position
        last.extend([position] * len(node.results))
    for value in graph.outputs:
        last[value] = end
    return last


def _with_loads_and_drops(
    steps: Iterable[Step], last_use: list[int], inputs: int
) -> Iterable[Step]:
    loaded: set[int] = set()
    for position, step in enumerate(steps):
        fresh = dict.fromkeys(v for v in step.operands if v < inputs and v not in loaded)
        loaded.update(fresh)
        touched = dict.fromkeys((*step.operands, *step.results))
        drops = tuple(value for value in touched if last_use[value] == position)
        yield replace(step, loads=tuple(fresh), drops=drops)
