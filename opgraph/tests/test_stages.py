from __future__ import annotations

import itertools
from typing import Any

import nets
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_graphs import arrays, graphs

from opgraph.builder import GraphBuilder
from opgraph.cost import flops
from opgraph.errors import PlanError
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.partition import cuts, stages
from opgraph.partition.cuts import cut_places
from opgraph.partition.parts import Chain, Source, Whole
from opgraph.partition.running import run_chain
from opgraph.partition.stages import StageLimits, cut_stages
from opgraph.tensors import storage_dtype
from opgraph.validation import validate

ANY = StageLimits(live_tensors=100)
measures = st.sampled_from(["flops", "bytes"])


def numbers(graph: Graph, seed: int = 0, below: int = 3) -> dict[str, Any]:
    """Floats around 0, and small whole numbers."""
    random = numpy.random.default_rng(seed)
    made = {}
    for each in graph.placeholders:
        is_float = each.type.dtype.startswith("float")
        drawn = (
            random.normal(size=each.type.shape)
            if is_float
            else random.integers(0, below, each.type.shape)
        )
        made[each.name] = drawn.astype(storage_dtype(each.type.dtype))
    return made


def same_bits(graph: Graph, chain: Chain, inputs: dict[str, Any]) -> None:
    for one, other in zip(execute(graph, inputs), run_chain(chain, inputs), strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()


@st.composite
def chains(draw: Any) -> tuple[Graph, Chain]:
    """A random graph cut somehow, through as many tensors as there are."""
    graph = draw(graphs(sides=(0, 1, 2, 3, 5)))
    places = cut_places(Whole(graph), ANY.live_tensors)
    stages = draw(st.integers(1, len(places) + 1))
    return graph, cut_stages(graph, stages, measure=draw(measures), limits=ANY)


@st.composite
def stacks(draw: Any) -> Graph:
    """A chain of steps that differ in what they cost, with a residual now and then."""
    build = GraphBuilder()
    value = build.placeholder("x0", "float32", (4, 3))
    kinds = draw(st.lists(st.sampled_from(["square", "matmul", "residual"]), min_size=1,
                          max_size=9))  # fmt: skip
    weights = [build.placeholder(f"p{n}", "float32", (3, 3)) for n, _ in enumerate(kinds)]
    for kind, weight in zip(kinds, weights, strict=True):
        if kind == "square":
            value = build.apply("square", value)
        else:
            before, value = value, build.apply("matmul", value, weight)
            if kind == "residual":
                value = build.apply("add", before, build.apply("sin", value))
    return build.build(value)


@given(chains(), st.integers(0, 2**32))
@settings(max_examples=40)
def test_chained_stages_compute_the_whole_bit_for_bit(cut: tuple[Graph, Chain], seed: int) -> None:
    graph, chain = cut
    same_bits(graph, chain, arrays(graph, seed))


@given(chains())
@settings(max_examples=40)
def test_stages_cover_every_node_once(cut: tuple[Graph, Chain]) -> None:
    graph, chain = cut
    whole = Whole(graph)
    covered = [position for part in chain.parts for position in part.nodes]
    assert covered == list(whole.real_nodes)
    assert sum(part.flops for part in cut_stages(graph, 1).parts) <= flops(graph)
    for position in set(whole.wanted) - set(covered):
        node = graph.nodes[position]
        assert node.declaration.view is not None or not any(
            whole.maker[value] is None for value in node.operands
        )


@given(chains())
@settings(max_examples=40)
def test_stages_are_graphs_in_canonical_form(cut: tuple[Graph, Chain]) -> None:
    _, chain = cut
    for number, part in enumerate(chain.parts):
        assert len(part.sources) == len(part.graph.placeholders)
        assert len(set(part.sources)) == len(part.sources)
        for source in part.sources:
            assert source.part is None or source.part < number
        validate(part.graph)
        assert Graph.from_bytes(part.graph.to_bytes()) == part.graph


def worst_by_brute_force(graph: Graph, stages: int, measure: str) -> int:
    """Of all ways to cut: the least largest stage, with every cut tried."""
    whole = Whole(graph)
    places = [each.before for each in cut_places(whole, 1)]
    best = None
    for chosen in itertools.combinations(places, stages - 1):
        borders = [0, *chosen, len(whole.real_nodes)]
        worst = 0
        for first, beyond in itertools.pairwise(borders):
            nodes = [graph.nodes[each] for each in whole.real_nodes[first:beyond]]
            made = {v for p in whole.real_nodes[first:beyond] for v in whole.results(p)}
            if measure == "flops":
                cost = sum(
                    node.declaration.flops(graph.operand_types(node), node.attributes)
                    for node in nodes
                )
            else:
                taken = {value for node in nodes for value in node.operands} - made
                cost = sum(graph.types[value].nbytes for value in taken)
            worst = max(worst, cost)
        best = worst if best is None else min(best, worst)
    assert best is not None
    return best


def cost_of(part: Any, measure: str) -> int:
    if measure == "flops":
        return int(part.flops)
    return sum(each.type.nbytes for each in part.graph.placeholders)


@given(stacks(), measures, st.data())
@settings(max_examples=40)
def test_the_largest_stage_is_as_small_as_can_be(
    graph: Graph, measure: Any, data: st.DataObject
) -> None:
    places = cut_places(Whole(graph), 1)
    stages = data.draw(st.integers(1, min(4, len(places) + 1)))
    chain = cut_stages(graph, stages, measure=measure)
    assert len(chain.parts) == stages
    worst = max(cost_of(part, measure) for part in chain.parts)
    assert worst == worst_by_brute_force(graph, stages, measure)


def fewest_by_brute_force(graph: Graph, memory_bytes: int) -> int | None:
    """Of all ways to cut: the fewest stages that fit, with every cut tried. None: no way does."""
    cutting = stages._Cutting(Whole(graph), "flops", StageLimits())
    for count in range(1, cutting.end + 1):
        for chosen in itertools.combinations(range(1, cutting.end), count - 1):
            parts = cutting.chain((0, *chosen, cutting.end)).parts
            if all(peak_bytes(part.graph) <= memory_bytes for part in parts):
                return count
    return None


@given(stacks(), st.integers(0, 400))
@settings(max_examples=40)
def test_stages_fit_the_memory_or_the_error_says_what_does_not(graph: Graph, more: int) -> None:
    limits = StageLimits(memory_bytes=100 + more)
    fewest = fewest_by_brute_force(graph, 100 + more)
    if fewest is None:
        error = error_of(graph, limits=limits)
        assert error.code == "stage_too_large"
        assert f"the limit is {100 + more}" in error.message
        return
    chain = cut_stages(graph, limits=limits)
    assert all(peak_bytes(part.graph) <= 100 + more for part in chain.parts)
    assert len(chain.parts) == fewest
    if fewest > 1:
        with pytest.raises(PlanError, match="memory"):
            cut_stages(graph, fewest - 1, limits=limits)


@given(stacks())
@settings(max_examples=40)
def test_one_stage_is_the_whole(graph: Graph) -> None:
    (part,) = cut_stages(graph, 1).parts
    assert part.flops == flops(graph)
    assert all(source == Source(None, source.position) for source in part.sources)


def test_layers_that_are_equal_are_one_graph_with_other_parameters() -> None:
    graph = nets.gpt(layers=6)
    chain = cut_stages(graph, 6)
    middle = chain.parts[1:-1]
    assert len({part.graph.id for part in middle}) == 1
    assert len({part.sources for part in middle}) == len(middle)
    same_bits(graph, chain, numbers(graph))


@pytest.mark.parametrize("measure", ["flops", "bytes"])
def test_a_gpt_in_four_stages(measure: Any) -> None:
    graph = nets.gpt(layers=4)
    chain = cut_stages(graph, 4, measure=measure)
    same_bits(graph, chain, numbers(graph))
    for part in chain.parts[1:]:
        (boundary,) = (each for each in part.sources if each.part is not None)
        place = part.sources.index(boundary)
        # What goes from stage to stage is the residual stream, nothing wider.
        assert part.graph.placeholders[place].type.shape == (16, 16)
    whole = sum(cost_of(part, measure) for part in chain.parts)
    assert max(cost_of(part, measure) for part in chain.parts) < 0.4 * whole


def test_a_constant_is_made_by_every_stage_that_needs_it() -> None:
    chain = cut_stages(nets.gpt(layers=2), 2)
    for part in chain.parts:
        assert any(node.operator == "triu" for node in part.graph.nodes)


def test_outputs_of_all_stages_and_inputs_come_out() -> None:
    build = GraphBuilder()
    x = build.placeholder("x0", "float32", (3,))
    one = build.apply("sin", x)
    two = build.apply("cos", one)
    constant = build.apply("full", shape=(2,), value=1.5, dtype="float32")
    graph = build.build(two, x, one, constant, two)
    same_bits(graph, cut_stages(graph, 2), numbers(graph))


def test_a_graph_without_work_is_one_stage() -> None:
    build = GraphBuilder()
    x = build.placeholder("x0", "float32", (3, 2))
    graph = build.build(build.apply("permute_dims", x, axes=(1, 0)), x)
    same_bits(graph, cut_stages(graph), numbers(graph))
    with pytest.raises(PlanError) as error:
        cut_stages(graph, 2)
    assert error.value.code == "too_few_cuts"


def test_no_cut_goes_through_a_turned_array() -> None:
    build = GraphBuilder()
    x = build.placeholder("x0", "float32", (64, 65))
    turned = build.apply("permute_dims", build.apply("sin", x), axes=(1, 0))
    total = build.apply("sum", turned, axes=(1,), keepdims=False, dtype="float32")
    graph = build.build(build.apply("sin", total))
    places = cut_places(Whole(graph), 1)
    assert [place.before for place in places] == [1, 3]
    same_bits(graph, cut_stages(graph, 3), numbers(graph))


def test_many_places_are_thinned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuts, "MOST_PLACES", 8)
    build = GraphBuilder()
    value = build.placeholder("x0", "float32", (3,))
    for _ in range(100):
        value = build.apply("sin", value)
    chain = cut_stages(build.build(value), 4)
    assert max(len(part.nodes) for part in chain.parts) <= 25 + 13


def error_of(graph: Graph, *arguments: Any, **options: Any) -> PlanError:
    with pytest.raises(PlanError) as caught:
        cut_stages(graph, *arguments, **options)
    return caught.value


def test_errors_say_what_is_wrong() -> None:
    graph = nets.mlp(4, (3, 5, 2))
    assert error_of(graph, 0).code == "wrong_count"
    assert error_of(graph, 2, measure="seconds").code == "wrong_measure"
    few = error_of(graph, 50)
    assert (few.code, "not 50" in few.message) == ("too_few_cuts", True)
    wide = error_of(graph, 3, limits=StageLimits(boundary_bytes=8))
    assert wide.code == "boundary_too_large"
    assert "float32[4, 2] after matmul" in wide.message
    assert "32" in wide.message
    large = error_of(graph, 2, limits=StageLimits(memory_bytes=100))
    assert large.code == "stage_too_large"
    assert "(matmul)" in large.message
    assert "limit is 100" in large.message


def test_more_stages_are_asked_for_where_they_help() -> None:
    build = GraphBuilder()
    values = [build.placeholder("x0", "float32", (100,))]
    for _ in range(6):
        values.append(build.apply("sin", values[-1]))
    graph = build.build(*values[1:])  # what comes out stays in memory until the end
    error = error_of(graph, 2, limits=StageLimits(memory_bytes=1100))
    assert error.code == "stage_too_large"
    assert error.message.startswith("With 2 stages one needs more than 1100 bytes")
    assert len(cut_stages(graph, limits=StageLimits(memory_bytes=1100)).parts) == 3
