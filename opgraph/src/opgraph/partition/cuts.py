"""Places where a graph can be cut into stages: where little is alive.

Inputs, constants and views of inputs are free: each stage takes or makes them for itself. What is
left is an order of nodes; before each of them stand the values that were made and are still wanted.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from opgraph.cost import node_flops
from opgraph.partition.parts import Whole

MOST_PLACES = 512
"""Places that are looked at: of more, those at even steps of flops."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place between two nodes: so many nodes stand before it, and these values cross it."""

    before: int
    values: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True, slots=True)
class Segment:
    """What lies between two neighbouring places. `free` are nodes that can be made anywhere,
    `used` the values that the nodes take: inputs of the graph, and what other nodes made."""

    flops: int
    free: frozenset[int]
    used: frozenset[int]


def cut_places(whole: Whole, live_tensors: int) -> list[Place]:
    """All places with at most so many live tensors, in order; the ends of the graph are none.

    A tensor that is no whole array in row-major order is not cut through: it would arrive as one,
    and sums over it could then round otherwise.
    """
    real = whole.real_nodes
    last_use = _last_uses(whole)
    places = []
    alive: dict[int, None] = {}
    for before in range(1, len(real)):
        for value in whole.results(real[before - 1]):
            alive[value] = None
        ended = [value for value in alive if last_use.get(value, -1) < before]
        for value in ended:
            del alive[value]
        if len(alive) <= live_tensors and all(_is_whole(whole, value) for value in alive):
            nbytes = sum(whole.graph.types[value].nbytes for value in alive)
            places.append(Place(before, tuple(alive), nbytes))
    return places


def _last_uses(whole: Whole) -> dict[int, int]:
    """For values that nodes make: the last of the real nodes that takes it."""
    last: dict[int, int] = {}
    for number, position in enumerate(whole.real_nodes):
        for value in whole.graph.nodes[position].operands:
            last[value] = number
    return last


def _is_whole(whole: Whole, value: int) -> bool:
    return whole.graph.program.places[value].contiguous


def thinned(whole: Whole, places: list[Place]) -> list[Place]:
    """At most `MOST_PLACES` of the places, at even steps of flops."""
    if len(places) <= MOST_PLACES:
        return places
    done = _flops_before(whole)
    step = done[-1] / MOST_PLACES
    kept: dict[int, Place] = {}
    for place in places:
        kept.setdefault(int(done[place.before] / step) if step else place.before, place)
    return list(kept.values())[:MOST_PLACES]


def _flops_before(whole: Whole) -> list[int]:
    done = [0]
    for position in whole.real_nodes:
        done.append(done[-1] + node_flops(whole.graph, whole.graph.nodes[position]))
    return done


def segments(whole: Whole, borders: list[int]) -> list[Segment]:
    """Between each two neighbouring borders (counts of real nodes)."""
    real = whole.real_nodes
    return [_segment(whole, real[first:beyond]) for first, beyond in pairwise(borders)]


def _segment(whole: Whole, positions: Iterable[int]) -> Segment:
    nodes = whole.graph.nodes
    free: set[int] = set()
    used: set[int] = set()
    work = 0
    for position in positions:
        work += node_flops(whole.graph, nodes[position])
        waiting = list(nodes[position].operands)
        while waiting:
            value = waiting.pop()
            maker = whole.maker[value]
            if maker is None or not whole.free[value]:
                used.add(value)
            elif maker not in free:
                free.add(maker)
                waiting.extend(nodes[maker].operands)
    return Segment(work, frozenset(free), frozenset(used))
