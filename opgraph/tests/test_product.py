from __future__ import annotations

import json
import math
from collections import Counter
from itertools import pairwise
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgraph.cost import flops
from opgraph.errors import PlanError
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.partition.figures import NetworkFigures
from opgraph.partition.grid import DEEPEST_SLICE, MEMORY_SHARE, SPLIT_ABOVE_BYTES
from opgraph.partition.product import ProductPlan, Tile, plan_product
from opgraph.tensors import itemsize

sizes = st.integers(1, 12) | st.integers(1, 70_000) | st.sampled_from([1, 2, 2048, 4096, 8192])
dtypes = st.sampled_from(["float32", "float64", "int8", "uint64"])
devices = st.integers(1, 40)
memories = st.integers(24 << 20, 8 << 30)


def network(devices: int = 2, memory: int = 2 << 30) -> NetworkFigures:
    return NetworkFigures(devices, memory, 1e11, 12e6, 2e6)


@st.composite
def plans(draw: Any, side: st.SearchStrategy[int] = sizes) -> ProductPlan:
    m, k, n = (draw(side) for _ in range(3))
    return plan_product(m, k, n, draw(dtypes), network(draw(devices), draw(memories)))


def one_of_each_shape(plan: ProductPlan) -> list[Tile]:
    return list({tile.shape: tile for tile in plan.tiles}.values())


small_plans = plans(st.integers(1, 700))


@given(plans())
def test_tiles_cover_the_product_once(plan: ProductPlan) -> None:
    boxes = {(tile.rows, tile.columns) for tile in plan.tiles}
    assert boxes == {
        (rows, columns)
        for rows in pairwise(plan.row_cuts)
        for columns in pairwise(plan.column_cuts)
    }
    assert len(boxes) == len(plan.tiles)
    assert sum(math.prod(tile.shape) for tile in plan.tiles) == plan.m * plan.n
    assert [tile.index for tile in plan.tiles] == list(range(len(plan.tiles)))
    for tile in plan.tiles:
        assert tile.rows == plan.row_cuts[tile.row_block : tile.row_block + 2]
        assert tile.columns == plan.column_cuts[tile.column_block : tile.column_block + 2]


@given(plans())
def test_neighbours_in_the_order_share_panels(plan: ProductPlan) -> None:
    apart = [
        one
        for one, next_ in pairwise(plan.tiles)
        if one.row_block != next_.row_block and one.column_block != next_.column_block
    ]
    assert len(apart) <= 1


@given(plans(), st.data())
def test_panels_are_the_slices_of_the_tile(plan: ProductPlan, data: st.DataObject) -> None:
    tile = data.draw(st.sampled_from(plan.tiles))
    panels = plan.panels(tile)
    graph = plan.graph(tile)
    assert [f"{each.operand}{each.slice}" for each in panels] == [
        each.name for each in graph.placeholders
    ]
    assert [each.shape for each in panels] == [each.type.shape for each in graph.placeholders]
    assert [each.nbytes for each in panels] == [each.type.nbytes for each in graph.placeholders]
    left, right = panels[::2], panels[1::2]
    assert {each.rows for each in left} == {tile.rows}
    assert {each.columns for each in right} == {tile.columns}
    assert {each.block for each in left} == {tile.row_block}
    assert {each.block for each in right} == {tile.column_block}
    depths = list(pairwise(plan.slice_cuts))
    assert [each.columns for each in left] == depths
    assert [each.rows for each in right] == depths


@given(plans(), st.data())
def test_the_graph_of_a_tile_is_valid_and_has_its_type(
    plan: ProductPlan, data: st.DataObject
) -> None:
    tile = data.draw(st.sampled_from(plan.tiles))
    graph = plan.graph(tile)
    assert Graph.from_bytes(graph.to_bytes()) == graph
    assert [str(each) for each in graph.output_types] == [
        f"{plan.dtype}[{tile.shape[0]}, {tile.shape[1]}]"
    ]


@given(plans())
def test_slices_are_never_deeper_than_verification_allows(plan: ProductPlan) -> None:
    assert all(beyond - first <= DEEPEST_SLICE for first, beyond in pairwise(plan.slice_cuts))


@given(sizes, sizes, sizes, dtypes, devices, memories)
def test_a_unit_fits_the_memory(
    m: int, k: int, n: int, dtype: str, count: int, memory: int
) -> None:
    plan = plan_product(m, k, n, dtype, network(count, memory))
    assert plan.memory_bytes <= MEMORY_SHARE * memory
    for tile in one_of_each_shape(plan):
        assert peak_bytes(plan.graph(tile)) <= plan.unit_memory_bytes(tile) <= plan.memory_bytes


@given(plans())
def test_no_unit_shows_all_of_an_input_of_a_large_product(plan: ProductPlan) -> None:
    if plan.m * plan.n * itemsize(plan.dtype) > SPLIT_ABOVE_BYTES:
        assert len(plan.row_cuts) - 1 >= min(2, plan.m)
        assert len(plan.column_cuts) - 1 >= min(2, plan.n)


@given(plans(), devices)
def test_exposure_is_a_share_that_one_device_fetches(plan: ProductPlan, count: int) -> None:
    shown = plan.exposure(count)
    alone = plan.exposure(1)
    assert 0 < shown.a <= 1
    assert 0 < shown.b <= 1
    assert (alone.a, alone.b) == (1, 1)
    everyone = plan.exposure(len(plan.tiles))
    assert everyone.a == max(beyond - first for first, beyond in pairwise(plan.row_cuts)) / plan.m


@given(plans())
def test_operations_add_up(plan: ProductPlan) -> None:
    additions = (len(plan.slice_cuts) - 2) * plan.m * plan.n
    assert plan.flops == 2 * plan.m * plan.k * plan.n + additions
    shapes = Counter(tile.shape for tile in plan.tiles)
    by_shape = {tile.shape: flops(plan.graph(tile)) for tile in one_of_each_shape(plan)}
    assert plan.flops == sum(count * by_shape[shape] for shape, count in shapes.items())


@given(plans(), devices, st.integers(0, 1 << 34))
def test_bytes_lie_between_no_cache_and_every_input_once(
    plan: ProductPlan, count: int, cache: int
) -> None:
    uncached = plan.down_bytes(count, cached=False)
    assert uncached == sum(panel.nbytes for t in plan.tiles for panel in plan.panels(t))
    limited, best = plan.down_bytes(count, cache_bytes=cache), plan.down_bytes(count)
    inputs = (plan.m + plan.n) * plan.k * itemsize(plan.dtype)
    assert inputs <= best <= limited <= uncached
    assert plan.down_bytes(1) == inputs
    assert plan.up_bytes == plan.m * plan.n * itemsize(plan.dtype)


@given(plans())
def test_a_plan_comes_back_from_json(plan: ProductPlan) -> None:
    again = ProductPlan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan
    assert again.tiles == plan.tiles


@given(small_plans, st.integers(0, 100))
def test_the_tiles_put_together_are_the_product(plan: ProductPlan, seed: int) -> None:
    random = numpy.random.default_rng(seed)
    operands = {
        "a": random.integers(-2, 3, (plan.m, plan.k)).astype(plan.dtype),
        "b": random.integers(-2, 3, (plan.k, plan.n)).astype(plan.dtype),
    }
    product = operands["a"] @ operands["b"]
    result = product + 1  # wrong wherever no tile comes
    for tile in plan.tiles:
        inputs = {
            f"{each.operand}{each.slice}": operands[each.operand][
                slice(*each.rows), slice(*each.columns)
            ]
            for each in plan.panels(tile)
        }
        (result[slice(*tile.rows), slice(*tile.columns)],) = execute(plan.graph(tile), inputs)
    numpy.testing.assert_array_equal(result, product)


@pytest.mark.parametrize(("m", "k", "n"), [(0, 3, 4), (3, 0, 4), (3, 4, 0), (0, 0, 0)])
def test_an_empty_axis_leaves_no_unit(m: int, k: int, n: int) -> None:
    plan = plan_product(m, k, n, "float32", network())
    assert plan.tiles == ()
    assert (plan.flops, plan.up_bytes, plan.down_bytes(3), plan.memory_bytes) == (0, 0, 0, 0)
    assert plan.exposure(2).a == 0
    assert ProductPlan.from_dict(plan.to_dict()) == plan


@pytest.mark.parametrize(
    ("size", "count", "tiles"), [(8192, 2, 8), (4096, 2, 4), (2048, 2, 4), (256, 2, 1)]
)
def test_a_square_product_has_a_few_tiles_for_each_device(
    size: int, count: int, tiles: int
) -> None:
    plan = plan_product(size, size, size, "float32", network(count))
    assert len(plan.tiles) == tiles


def test_the_tiles_of_a_wide_network_are_not_cut_below_use() -> None:
    plan = plan_product(65_536, 65_536, 65_536, "float32", network(100_000))
    assert min(min(tile.shape) for tile in plan.tiles) > 1000
    assert len(plan.tiles) > 1500


@given(st.integers(1, 12))
def test_few_devices_end_together(count: int) -> None:
    plan = plan_product(16_384, 4096, 16_384, "float32", network(count))
    rounds = math.ceil(len(plan.tiles) / count)
    assert rounds * count / len(plan.tiles) < 1.1


@pytest.mark.parametrize(("m", "n"), [(1, 100_000), (100_000, 1), (3, 50_000)])
def test_a_thin_product_is_shared_and_its_slices_stay_small(m: int, n: int) -> None:
    plan = plan_product(m, 4096, n, "float32", network(4))
    assert len(plan.tiles) >= 4
    assert plan.memory_bytes < 256 << 20


def test_short_memory_makes_small_tiles_of_shallow_slices() -> None:
    plan = plan_product(4096, 4096, 4096, "float64", network(2, 16 << 20))
    assert plan.memory_bytes <= 13 << 20
    assert plan.slice_cuts[1] < 1024
    assert len(plan.tiles) < 100


@pytest.mark.parametrize(
    ("code", "arguments", "figures"),
    [
        ("wrong_dtype", (4, 4, 4, "bool"), network()),
        ("wrong_dtype", (4, 4, 4, "float16"), network()),
        ("wrong_size", (4, -1, 4, "float32"), network()),
        ("wrong_size", (4, 4, 4, "float32"), network(0)),
        ("memory_too_small", (4096, 4096, 4096, "float32"), network(2, 10_000)),
        ("memory_too_small", (1, 1, 1, "float32"), network(2, 1)),
        ("too_many_tiles", (10**8, 10, 10**8, "float32"), network(2, 1 << 20)),
        ("too_many_slices", (4, 2**50, 4, "float32"), network(2)),
    ],
)
def test_what_cannot_be_planned_is_refused(code: str, arguments: Any, figures: Any) -> None:
    with pytest.raises(PlanError) as refusal:
        plan_product(*arguments, figures)
    assert refusal.value.code == code
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    "change",
    [
        {"m": -1},
        {"m": 11},
        {"m": True},
        {"dtype": "bool"},
        {"dtype": None},
        {"row_cuts": [0, 5, 5, 10]},
        {"row_cuts": [5, 10]},
        {"row_cuts": []},
        {"row_cuts": None},
        {"slice_cuts": [0, "1", 10]},
        {"column_cuts": [0, 12, 10]},
    ],
)
def test_values_that_are_no_plan_are_refused(change: dict[str, Any]) -> None:
    values = plan_product(10, 10, 10, "float32", network()).to_dict()
    ProductPlan.from_dict(values)
    with pytest.raises(PlanError) as refusal:
        ProductPlan.from_dict({**values, **change})
    assert refusal.value.code == "not_a_plan"
    with pytest.raises(PlanError):
        ProductPlan.from_dict({})
