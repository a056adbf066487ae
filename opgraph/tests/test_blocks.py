from __future__ import annotations

from typing import Any

import nets
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from operator_samples import SAMPLES
from operator_samples.sample import Draw, stored, values
from random_graphs import arrays, graphs, reference

from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS
from opgraph.catalogue.rules import same_shape
from opgraph.errors import PlanError
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.partition.blocks import product_error, split_products
from opgraph.partition.parts import Chain, refine
from opgraph.partition.running import run_chain
from opgraph.partition.stages import cut_stages
from opgraph.validation import validate


def numbers(graph: Graph, seed: int = 0) -> dict[str, Any]:
    random = numpy.random.default_rng(seed)
    made = {}
    for each in graph.placeholders:
        integer = each.type.dtype.startswith(("int", "uint"))
        shape = each.type.shape
        drawn = random.integers(0, 8, shape) if integer else random.normal(size=shape)
        made[each.name] = stored(drawn, each.type.dtype)
    return made


def both(graph: Graph, chain: Chain, seed: int = 0) -> tuple[list[Any], list[Any]]:
    for part in chain.parts:
        validate(part.graph)
        assert len(part.sources) == len(part.graph.placeholders)
    inputs = numbers(graph, seed)
    return execute(graph, inputs), run_chain(chain, inputs)


def product(m: int, k: int, n: int, dtype: str, turned: bool = False) -> Graph:
    build = GraphBuilder()
    left = build.placeholder("x0", dtype, (m, k))
    weight = build.placeholder("p0", dtype, (n, k) if turned else (k, n))
    if turned:
        weight = build.apply("permute_dims", weight, axes=(1, 0))
    return build.build(build.apply("matmul", left, weight))


def largest_piece(chain: Chain) -> int:
    return max(each.type.nbytes for part in chain.parts for each in part.graph.placeholders)


def names(chain: Chain, part: int) -> list[str]:
    return [node.operator for node in chain.parts[part].graph.nodes]


sides = st.integers(1, 40)


@given(sides, sides, sides, st.sampled_from(["int8", "int64"]), st.booleans(), st.data())
@settings(max_examples=40)
def test_integers_in_blocks_are_equal(
    m: int, k: int, n: int, dtype: str, turned: bool, data: st.DataObject
) -> None:
    graph = product(m, k, n, dtype, turned)
    size = numpy.dtype(dtype).itemsize
    most = data.draw(st.integers(size * min(k, n), size * k * n))
    chain = split_products(graph, most)
    (one,), (other,) = both(graph, chain)
    assert one.tobytes() == other.tobytes()


@given(sides, sides, sides, st.sampled_from(["float32", "float64", "float16", "bfloat16"]),
       st.data())  # fmt: skip
@settings(max_examples=40)
def test_floats_in_blocks_are_within_the_stated_error(
    m: int, k: int, n: int, dtype: str, data: st.DataObject
) -> None:
    graph = product(m, k, n, dtype)
    size = 2 if dtype in ("float16", "bfloat16") else int(dtype[5:]) // 8
    most = data.draw(st.integers(size * min(k, n), size * k * n))
    chain = split_products(graph, most)
    _, (result,) = both(graph, chain)
    inputs = {name: values(array, dtype).astype("longdouble")
              for name, array in numbers(graph).items()}  # fmt: skip
    left, right = inputs["x0"], inputs["p0"]
    unit = {"float32": 2.0**-24, "float64": 2.0**-53, "float16": 2.0**-11, "bfloat16": 2.0**-8}
    inner = unit["float32"] if size == 2 else unit[dtype]
    allowed = product_error(k, len(chain.parts)) * inner * (abs(left) @ abs(right))
    if size == 2:  # rounded once more, at the end
        allowed = allowed + unit[dtype] * (abs(left @ right) + allowed) + 2.0**-24
    assert (abs(values(result, dtype) - left @ right) <= allowed).all()


def test_a_product_by_columns_and_by_rows() -> None:
    wide = split_products(product(3, 8, 100, "float32"), 8 * 4 * 30)
    assert [names(wide, part) for part in range(5)] == [["matmul"]] * 4 + [["concat"]]
    assert [part.sources[1].box for part in wide.parts[:4]] == [
        ((0, 8), (first, first + 25)) for first in (0, 25, 50, 75)
    ]
    assert len({part.graph.id for part in wide.parts[:4]}) == 1
    # A single column has more bytes than the limit, a single row has not.
    deep = split_products(product(3, 100, 2, "float32"), 8 * 40)
    assert [names(deep, part) for part in range(4)] == [["matmul"]] * 3 + [["add", "add"]]
    assert deep.parts[1].sources[0].box == ((0, 3), (33, 66))


def test_k_goes_through_in_slices() -> None:
    graph = product(2, 5000, 6, "float32", turned=True)
    chain = split_products(graph, 5000 * 4 * 3)
    assert [len(part.sources) for part in chain.parts] == [6, 6, 2]
    assert [each.type.shape for each in chain.parts[0].graph.placeholders] == [
        (2, 1666), (3, 1666), (2, 1667), (3, 1667), (2, 1667), (3, 1667),
    ]  # fmt: skip
    assert names(chain, 0).count("matmul_add") == 2
    (one,), (other,) = both(graph, chain)
    numpy.testing.assert_allclose(one, other, rtol=0, atol=1e-3)


@pytest.mark.parametrize("turned", [False, True])
def test_an_up_projection_and_the_down_projection_after_it_are_one_block(turned: bool) -> None:
    graph = nets.mlp(3, (8, 32, 8), "float64", turned)
    chain = split_products(graph, 8 * 8 * 10)
    blocks, join, rest = chain.parts[:4], chain.parts[4], chain.parts[5]
    for part in blocks:
        operators = [each.operator for each in part.graph.nodes]
        assert operators.count("matmul") == 2
        assert "relu" in operators
        assert "concat" not in operators
    assert [node.operator for node in join.graph.nodes] == ["add"] * 3
    assert rest.graph.nodes[-1].operator == "add"  # the bias, once
    assert len(chain.parts) == 6
    (one,), (other,) = both(graph, chain)
    numpy.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_gate_is_part_of_the_block() -> None:
    build = GraphBuilder()
    x = build.placeholder("x0", "float64", (3, 4))
    up, gate = (build.placeholder(f"p{n}", "float64", (4, 20)) for n in (1, 2))
    down = build.placeholder("p3", "float64", (20, 4))
    start = build.apply("sin", x)
    risen = build.apply("matmul", start, up)
    opened = build.apply("matmul", start, gate)
    swish = build.apply("multiply", opened, build.apply("sigmoid", opened))
    hidden = build.apply("multiply", risen, swish)
    graph = build.build(build.apply("add", start, build.apply("matmul", hidden, down)))
    chain = split_products(graph, 4 * 8 * 8)
    assert names(chain, 0) == ["sin"]
    assert [names(chain, part).count("matmul") for part in (1, 2, 3)] == [3, 3, 3]
    assert names(chain, 4) == ["add", "add"]
    assert names(chain, 5) == ["add"]
    (one,), (other,) = both(graph, chain)
    numpy.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-14)


def test_what_else_is_needed_of_the_columns_is_put_together() -> None:
    build = GraphBuilder()
    x = build.placeholder("x0", "float64", (3, 4))
    up = build.placeholder("p1", "float64", (4, 20))
    risen = build.apply("matmul", x, up)
    soft = build.apply("softmax", risen, axis=1)  # wants whole rows
    mixed = build.apply("multiply", risen, soft)
    graph = build.build(mixed, build.apply("square", risen))
    chain = split_products(graph, 4 * 8 * 8)
    assert names(chain, 0) == ["matmul", "square"]
    assert names(chain, 3) == ["concat", "concat"]
    assert names(chain, 4) == ["softmax", "multiply"]
    for one, other in zip(*both(graph, chain), strict=True):
        numpy.testing.assert_allclose(one, other, rtol=1e-13)


def test_whatever_is_added_to_columns_is_cut_too() -> None:
    build = GraphBuilder()
    x = build.placeholder("x0", "float64", (3, 4))
    up = build.placeholder("p1", "float64", (4, 20))
    bias = build.placeholder("p2", "float64", (20,))
    column = build.placeholder("p3", "float64", (3, 1))
    turned = build.placeholder("p4", "float64", (20, 3))
    spread = [
        build.apply("broadcast_to", build.apply("reshape", bias, shape=(1, 20)), shape=(3, 20)),
        build.apply("broadcast_to", column, shape=(3, 20)),
        build.apply("permute_dims", turned, axes=(1, 0)),
        build.apply("full", shape=(3, 20), value=0.5, dtype="float64"),
        build.apply("square", build.apply("full", shape=(3, 20), value=0.1, dtype="float64")),
        build.apply("arange", start=0, step=1, length=60, dtype="int64"),
    ]
    counted = build.apply("astype", spread[-1], dtype="float64")
    spread[-1] = build.apply("reshape", counted, shape=(3, 20))
    value = build.apply("matmul", x, up)
    for each in spread:
        value = build.apply("add", value, each)
    squared = ("x0", "x1", "multiply")
    graph = build.build(build.apply_all("formula", (value, value), {"program": squared})[0])
    chain = split_products(graph, 4 * 8 * 15)
    assert names(chain, 0)[-1] == "formula"
    assert largest_piece(chain) <= 4 * 8 * 15
    (one,), (other,) = both(graph, chain)
    numpy.testing.assert_allclose(one, other, rtol=1e-13)


@pytest.mark.parametrize("layers", [1, 2])
def test_a_gpt_whose_weights_are_too_large(layers: int) -> None:
    graph = nets.gpt(layers, words=8)
    chain = split_products(graph, 16 * 16 * 4)
    assert largest_piece(chain) <= 16 * 64 * 4  # activations; no input of the graph is larger
    (one,), (other,) = both(graph, chain)
    numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    pairs = [part for part in chain.parts if "gelu" in [node.operator for node in part.graph.nodes]]
    assert len(pairs) == 4 * layers
    assert len({part.graph.id for part in pairs}) == 1


@given(st.lists(st.sampled_from([8, 20, 36]), min_size=2, max_size=5), st.integers(36, 36 * 36))
@settings(max_examples=30)
def test_perceptrons_of_any_widths(widths: list[int], most: int) -> None:
    graph = nets.mlp(3, tuple(widths), "int64", between="square")
    chain = split_products(graph, 8 * most)
    (one,), (other,) = both(graph, chain)
    assert one.tobytes() == other.tobytes()
    assert largest_piece(chain) <= 8 * max(most, 3 * 36)  # a weight, or what comes in


@given(graphs(sides=(1, 2, 3, 5)), st.integers(1, 60), st.integers(0, 2**32))
@settings(max_examples=60)
def test_any_graph_in_blocks_computes_the_same(graph: Graph, most: int, seed: int) -> None:
    try:
        chain = split_products(graph, most)
    except PlanError as error:
        assert error.code == "weight_too_large"  # noqa: PT017 - either may happen
        return
    inputs = arrays(graph, seed)  # whole numbers so small that no order of adding rounds
    expected = reference(graph, inputs)
    for one, other in zip(run_chain(chain, inputs), expected, strict=True):
        numpy.testing.assert_array_equal(one, other)


def test_stages_in_blocks() -> None:
    graph = nets.gpt(4, words=8)
    stages = cut_stages(graph, 4)
    chain = refine(stages, lambda part: split_products(part, 16 * 16 * 4))
    assert len(chain.parts) > 4 * 4
    (one,), (other,) = both(graph, chain)
    numpy.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_blocks_in_blocks() -> None:
    graph = product(3, 8, 100, "int64")

    def smaller(part: Graph) -> Chain:
        is_product = part.nodes[0].operator == "matmul"
        return split_products(part, 8 * 8 * 13) if is_product else cut_stages(part, 1)

    chain = refine(split_products(graph, 8 * 8 * 50), smaller)
    boxes = [part.sources[1].box for part in chain.parts if len(part.sources) == 2]
    assert [box[1] for box in boxes if box] == [
        (0, 12), (12, 25), (25, 37), (37, 50), (50, 62), (62, 75), (75, 87), (87, 100),
    ]  # fmt: skip
    (one,), (other,) = both(graph, chain)
    assert one.tobytes() == other.tobytes()


def test_nothing_is_cut_where_everything_fits() -> None:
    graph = nets.gpt(2)
    (part,) = split_products(graph, 1 << 20).parts
    assert len(part.graph.nodes) >= len(graph.nodes)  # a constant may be made twice


@pytest.mark.parametrize(
    "name", [name for name, each in sorted(OPERATORS.items()) if each.shapes is same_shape]
)
def test_elementwise_operators_give_columns_of_columns(name: str) -> None:
    """What blocks rely on: bit for bit."""
    rows = sorted(OPERATORS[name].dtypes)
    for number, row in enumerate(rows[:: max(1, len(rows) // 3)]):
        case = next(
            drawn
            for seed in range(100)
            if (drawn := SAMPLES[name].case(Draw(10 * number + seed), row)).arrays[0].ndim == 2
        )
        columns = slice(1, None)
        outcomes = []
        for taken in (case.arrays, [each[:, columns].copy() for each in case.arrays]):
            build = GraphBuilder()
            operands = [
                build.placeholder(f"x{n}", dtype, array.shape)
                for n, (dtype, array) in enumerate(zip(case.dtypes, taken, strict=True))
            ]
            graph = build.build(build.apply_all(name, operands, case.attributes)[0])
            outcomes += execute(graph, {f"x{n}": each for n, each in enumerate(taken)})
        assert outcomes[0][:, columns].tobytes() == outcomes[1].tobytes()


def error_of(graph: Graph, most: int) -> PlanError:
    with pytest.raises(PlanError) as caught:
        split_products(graph, most)
    return caught.value


def test_errors_name_what_is_too_large() -> None:
    assert error_of(product(2, 3, 4, "float32"), 0).code == "wrong_count"
    thin = error_of(product(2, 30, 40, "float32"), 100)
    assert thin.code == "weight_too_large"
    assert "p0 (float32[30, 40])" in thin.message
    table = error_of(nets.gpt(1, words=64), 16 * 16 * 4)
    assert table.code == "weight_too_large"
    assert "p1 (float32[64, 16]) has 4096 bytes" in table.message
    assert "take needs it whole" in table.message
