"""Cutting a graph into stages that run one after the other, the slowest as fast as can be.

The min-max dynamic programme is exact over the places that `cuts.py` finds. Chained stages compute
the whole graph bit for bit: the same nodes, on arrays that lie in memory as they did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Literal, TypeAlias

from opgraph.cost import node_flops
from opgraph.errors import PlanError
from opgraph.graph import Graph
from opgraph.partition.cuts import Place, cut_places, segments, thinned
from opgraph.partition.parts import Chain, Part, Source, Whole, extract

Measure: TypeAlias = Literal["flops", "bytes"]
"""What the largest stage has least of: operations, or bytes that come in (parameters, batch, and
what the stage before hands on)."""


@dataclass(frozen=True, slots=True)
class StageLimits:
    """What a stage may need at most, in bytes; None: no limit. `live_tensors` may cross a cut."""

    memory_bytes: int | None = None
    boundary_bytes: int | None = None
    live_tensors: int = 1


def cut_stages(
    graph: Graph,
    stages: int | None = None,
    *,
    measure: Measure = "flops",
    limits: StageLimits | None = None,
) -> Chain:
    """Cut a valid graph into so many stages, or into the fewest that fit the limits.

    Of all ways to cut it, the largest stage is as small as can be; among those the first cuts
    come early. Every node that an output comes of is computed by one stage, but for constants and
    views of inputs, which those make that need them. Raises PlanError `too_few_cuts`,
    `boundary_too_large`, `stage_too_large`, `wrong_count` or `wrong_measure`, with a sentence that
    says what is too large.
    """
    if measure not in ("flops", "bytes"):
        raise PlanError("wrong_measure", "Stages are measured in flops or in bytes.")
    if stages is not None and stages < 1:
        raise PlanError("wrong_count", "A graph is cut into at least one stage.")
    cutting = _Cutting(Whole(graph), measure, limits or StageLimits())
    return cutting.chain(cutting.best(stages))


class _Cutting:
    """One graph, with its places. Borders are numbered from 0, the start, to `end`."""

    def __init__(self, whole: Whole, measure: Measure, limits: StageLimits) -> None:
        self.whole = whole
        self.limits = limits
        self.found = cut_places(whole, limits.live_tensors)
        most = limits.boundary_bytes
        self.allowed = [each for each in self.found if most is None or each.nbytes <= most]
        self.places = thinned(whole, self.allowed)
        self.borders = [0, *(each.before for each in self.places), len(whole.real_nodes)]
        self.segments = segments(whole, self.borders)
        self.end = len(self.borders) - 1
        self.costs = self._all_costs(measure)
        self.fits = cache(self._fits)

    def best(self, stages: int | None) -> tuple[int, ...]:
        """Borders of the best stages, both ends among them. Raises PlanError."""
        wanted = self.end if stages is None else stages
        if wanted > self.end:
            raise self._too_few(wanted)
        table = [_Row([0] + [None] * self.end, [])]
        for count in range(1, wanted + 1):
            table.append(self._longer(table[-1], count))
            if table[-1].worst[self.end] is not None and stages in (None, count):
                return _path(table, self.end)
        raise self._too_large(stages)

    def _longer(self, row: _Row, count: int) -> _Row:
        """The best ways with one stage more, to every border."""
        worst: list[int | None] = [None] * (self.end + 1)
        before = [0] * (self.end + 1)
        for end in range(count, self.end + 1):
            ways = sorted(
                (max(least, self.costs[start][end - start - 1]), start)
                for start in range(count - 1, end)
                if (least := row.worst[start]) is not None
            )
            # Building a stage to see how much memory it needs costs most, so the best come first.
            found = next((way for way in ways if self.fits(way[1], end)), None)
            if found is not None:
                worst[end], before[end] = found
        return _Row(worst, before)

    def _all_costs(self, measure: Measure) -> list[list[int]]:
        """costs[i][j]: of the stage of the j + 1 segments from border i on."""
        cost = self._flops_from if measure == "flops" else self._bytes_from
        return [cost(start) for start in range(self.end)]

    def _flops_from(self, start: int) -> list[int]:
        graph = self.whole.graph
        total, free, costs = 0, set[int](), []
        for segment in self.segments[start:]:
            fresh = segment.free - free
            free |= fresh
            total += segment.flops + sum(node_flops(graph, graph.nodes[each]) for each in fresh)
            costs.append(total)
        return costs

    def _bytes_from(self, start: int) -> list[int]:
        types = self.whole.graph.types
        crossing = set(self.places[start - 1].values) if start else set[int]()
        total, used, costs = 0, set[int](), []
        for segment in self.segments[start:]:
            fresh = segment.used - used
            used |= fresh
            total += sum(
                types[each].nbytes
                for each in fresh
                if self.whole.maker[each] is None or each in crossing
            )
            costs.append(total)
        return costs

    def _fits(self, start: int, end: int) -> bool:
        most = self.limits.memory_bytes
        return most is None or self._alone(start, end).peak_bytes <= most

    def _alone(self, start: int, end: int) -> Part:
        """A stage by itself: what it gets from others is named by its number only."""
        nodes, outputs = self._content(start, end)
        given = {value: Source(0, value) for value in range(len(self.whole.graph.types))}
        return extract(self.whole, nodes, outputs, given)

    def _content(self, start: int, end: int) -> tuple[Sequence[int], list[int]]:
        """Nodes of a stage, and the values that leave it."""
        whole = self.whole
        nodes = whole.real_nodes[self.borders[start] : self.borders[end]]
        later = set(self.places[end - 1].values) if end < self.end else set[int]()
        leaving = later | whole.outputs
        outputs = [value for each in nodes for value in whole.results(each) if value in leaving]
        if end == self.end:
            outputs += sorted({value for value in whole.outputs if whole.free[value]})
        return nodes, outputs

    def chain(self, borders: Sequence[int]) -> Chain:
        """The stages between these borders, each wired to those before it."""
        made: dict[int, Source] = {}
        parts = []
        for number, (start, end) in enumerate(pairwise(borders)):
            nodes, outputs = self._content(start, end)
            parts.append(extract(self.whole, nodes, outputs, made))
            made |= {value: Source(number, place) for place, value in enumerate(outputs)}
        graph = self.whole.graph
        ends = tuple(made[value] for value in graph.outputs)
        return Chain(graph.placeholders, tuple(parts), ends)

    # --- what does not work -----------------------------------------------------------------------
    def _too_few(self, wanted: int) -> PlanError:
        if len(self.allowed) < len(self.found):
            smallest = min(self.found, key=lambda place: place.nbytes)
            return PlanError(
                "boundary_too_large",
                f"{wanted} stages need {wanted - 1} cuts, and {len(self.allowed)} of the"
                f" {len(self.found)} places carry at most {self.limits.boundary_bytes} bytes; the"
                f" smallest carries {smallest.nbytes}: {self._named(smallest)}.",
            )
        return PlanError(
            "too_few_cuts",
            f"The graph can be cut into at most {self.end} stages, not {wanted}: elsewhere more"
            f" than {self.limits.live_tensors} tensors are alive.",
        )

    def _named(self, place: Place) -> str:
        types = [str(self.whole.graph.types[value]) for value in place.values]
        maker = self.whole.graph.nodes[self.whole.real_nodes[place.before - 1]].operator
        return f"{', '.join(types) or 'nothing'} after {maker}"

    def _too_large(self, stages: int | None) -> PlanError:
        most = self.limits.memory_bytes
        for start in range(self.end):
            if not self.fits(start, start + 1):
                part = self._alone(start, start + 1)
                nodes = self.whole.real_nodes[self.borders[start] : self.borders[start + 1]]
                names = " ".join(self.whole.graph.nodes[each].operator for each in nodes[:8])
                return PlanError(
                    "stage_too_large",
                    f"Nodes {nodes[0]} to {nodes[-1]} ({names}) cannot be cut further and need"
                    f" {part.peak_bytes} bytes of memory; the limit is {most}.",
                )
        return PlanError(
            "stage_too_large",
            f"With {stages} stages one needs more than {most} bytes of memory; more stages fit.",
        )


@dataclass(frozen=True, slots=True)
class _Row:
    """For each border, with a fixed number of stages: the largest stage of the best way there
    (None: there is no way), and the border before."""

    worst: list[int | None]
    before: list[int]


def _path(table: Sequence[_Row], end: int) -> tuple[int, ...]:
    path = [end]
    for row in reversed(table[1:]):
        path.append(row.before[path[-1]])
    return tuple(reversed(path))


__all__ = ["Measure", "StageLimits", "cut_stages"]
