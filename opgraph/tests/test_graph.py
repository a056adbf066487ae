from __future__ import annotations

import json
from typing import Any

import pytest
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from opgraph.builder import GraphBuilder
from opgraph.errors import FormError, GraphError, LimitError
from opgraph.graph import Graph
from opgraph.validation import Limits


def product() -> Graph:
    build = GraphBuilder()
    a0, b0, a1, b1 = (
        build.placeholder(name, "float32", shape)
        for name, shape in (("a0", (2, 3)), ("b0", (3, 4)), ("a1", (2, 5)), ("b1", (5, 4)))
    )
    first = build.apply("matmul", a0, b0)
    return build.build(build.apply("matmul_add", first, a1, b1))


def cast() -> Graph:
    build = GraphBuilder()
    return build.build(build.apply("astype", build.placeholder("x0", "int8", (2,)), dtype="int64"))


FORM = (
    b'{"catalogue":1,"nodes":[{"attributes":{"axes":["1","0"]},"operands":[0],'
    b'"operator":"permute_dims","results":[{"dtype":"int8","shape":[3,2]}],"version":1}],'
    b'"outputs":[1],"placeholders":[{"dtype":"int8","name":"x0","shape":[2,3]}]}'
)


def test_the_form_is_what_the_documentation_says() -> None:
    build = GraphBuilder()
    x0 = build.placeholder("x0", "int8", (2, 3))
    graph = build.build(build.apply("permute_dims", x0, axes=(1, 0)))
    assert graph.to_bytes() == FORM
    assert Graph.from_bytes(FORM) == graph
    assert graph.id == blake3(FORM).hexdigest()


WIDE = Limits(file_bytes=1 << 25)


def changed(graph: Graph, path: tuple[Any, ...], value: Any) -> bytes:
    tree = json.loads(graph.to_bytes())
    at = tree
    for step in path[:-1]:
        at = at[step]
    if value is None:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()


@pytest.mark.parametrize(
    ("code", "path", "value"),
    [
        ("unknown_operator", ("nodes", 0, "operator"), "eval"),
        ("unknown_version", ("nodes", 0, "version"), 2),
        ("unknown_catalogue", ("catalogue",), 2),
        ("unknown_catalogue", ("catalogue",), 0),
        ("wrong_arity", ("nodes", 0, "operands"), [0]),
        ("wrong_arity", ("nodes", 0, "operands"), [0, 1, 1]),
        ("forward_reference", ("nodes", 0, "operands"), [0, 4]),
        ("forward_reference", ("nodes", 0, "operands"), [0, 99]),
        ("wrong_form", ("nodes", 0, "operands"), [0, -1]),
        ("wrong_form", ("nodes", 0, "operands"), [0, True]),
        ("wrong_form", ("nodes", 0, "attributes"), {"x": "1"}),
        ("wrong_form", ("nodes", 0, "results"), {}),
        ("wrong_form", ("nodes", 0, "version"), None),
        ("wrong_form", ("nodes", 0), []),
        ("wrong_form", ("nodes",), {}),
        ("wrong_form", ("outputs",), None),
        ("wrong_form", ("note",), "mine"),
        ("wrong_shape", ("nodes", 0, "operands"), [0, 0]),
        ("wrong_result", ("nodes", 0, "results", 0, "shape"), [2, 5]),
        ("wrong_result", ("nodes", 0, "results", 0, "dtype"), "float64"),
        ("wrong_result", ("nodes", 0, "results"), []),
        ("wrong_dtype", ("placeholders", 0, "dtype"), "float64"),
        ("wrong_dtype", ("placeholders", 0, "dtype"), "complex64"),
        ("wrong_name", ("placeholders", 0, "name"), "salaries"),
        ("wrong_name", ("placeholders", 0, "name"), "a12345678"),
        ("wrong_name", ("placeholders", 0, "name"), ""),
        ("duplicate_name", ("placeholders", 0, "name"), "b0"),
        ("wrong_form", ("placeholders", 0, "shape"), [2, -3]),
        ("wrong_form", ("placeholders", 0, "shape"), "23"),
        ("no_output", ("outputs",), []),
        ("unknown_output", ("outputs",), [6]),
    ],
)
def test_a_wrong_graph_is_refused_with_its_code(
    code: str, path: tuple[Any, ...], value: Any
) -> None:
    with pytest.raises(GraphError) as refusal:
        Graph.from_bytes(changed(product(), path, value))
    assert refusal.value.code == code
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize(
    ("code", "attributes"),
    [
        ("wrong_form", {}),
        ("wrong_form", {"dtype": 3}),
        ("wrong_form", {"dtype": "int64", "more": "1"}),
        ("wrong_attributes", {"dtype": "complex64"}),
        ("wrong_dtype", {"dtype": "float16"}),
        ("wrong_result", {"dtype": "int32"}),
    ],
)
def test_a_wrong_attribute_is_refused(code: str, attributes: dict[str, Any]) -> None:
    with pytest.raises(GraphError) as refusal:
        Graph.from_bytes(changed(cast(), ("nodes", 0, "attributes"), attributes))
    assert refusal.value.code == code


@pytest.mark.parametrize("axes", [["01", "00"], ["+1", "0"], [" 1", "0"], ["1_0", "0"]])
def test_a_number_has_one_spelling(axes: list[str]) -> None:
    tree = json.loads(FORM)
    tree["nodes"][0]["attributes"]["axes"] = axes
    data = json.dumps(tree, sort_keys=True, separators=(",", ":")).encode()
    with pytest.raises(GraphError):
        Graph.from_bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        FORM + b"\n",
        b" " + FORM,
        FORM.replace(b"x0", b"\\u00780"),
        FORM.replace(b"[2,3]", b"[2, 3]"),
    ],
)
def test_only_the_canonical_bytes_are_read(data: bytes) -> None:
    with pytest.raises(FormError) as refusal:
        Graph.from_bytes(data)
    assert refusal.value.code == "not_canonical"


@pytest.mark.parametrize(
    ("code", "limits"),
    [
        ("too_many_nodes", Limits(nodes=1)),
        ("too_many_placeholders", Limits(placeholders=3)),
        ("too_many_outputs", Limits(outputs=0)),
        ("too_many_axes", Limits(rank=1)),
        ("too_many_elements", Limits(elements=19)),
        ("too_many_flops", Limits(flops=135)),
        ("too_much_memory", Limits(peak_bytes=100)),
    ],
)
def test_a_graph_above_a_limit_is_refused(code: str, limits: Limits) -> None:
    Graph.from_bytes(product().to_bytes())
    with pytest.raises(LimitError) as refusal:
        Graph.from_bytes(product().to_bytes(), limits)
    assert refusal.value.code == code


def test_a_graph_at_the_limits_is_taken() -> None:
    exact = Limits(nodes=2, placeholders=4, outputs=1, rank=2, elements=20, flops=136)
    assert Graph.from_bytes(product().to_bytes(), exact) == product()


def test_huge_sizes_are_counted_and_not_allocated() -> None:
    build = GraphBuilder()
    x0 = build.placeholder("x0", "float64", (2**50, 2**50))
    data = build.build(build.apply("add", x0, x0)).to_bytes()
    with pytest.raises(LimitError):
        Graph.from_bytes(data)


def test_a_list_of_many_sizes_is_refused_at_once() -> None:
    tree = json.loads(FORM)
    tree["nodes"][0].update(operator="reshape", attributes={"shape": [str(2**52 + 1)] * 200_000})
    with pytest.raises(GraphError) as refusal:
        Graph.from_bytes(json.dumps(tree, sort_keys=True, separators=(",", ":")).encode(), WIDE)
    assert refusal.value.code == "wrong_attributes"


def test_a_tensor_of_many_axes_is_refused_at_once() -> None:
    tree = json.loads(FORM)
    tree["placeholders"][0]["shape"] = [2**52 + 1] * 200_000
    with pytest.raises(LimitError) as refusal:
        Graph.from_bytes(json.dumps(tree, sort_keys=True, separators=(",", ":")).encode(), WIDE)
    assert refusal.value.code == "too_many_axes"


@given(st.binary(max_size=300))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(GraphError):
        Graph.from_bytes(data)


json_trees = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)
places = st.sampled_from(
    [
        ("catalogue",),
        ("nodes",),
        ("nodes", 0),
        ("nodes", 0, "attributes"),
        ("nodes", 1, "operands"),
        ("nodes", 1, "operands", 1),
        ("nodes", 0, "operator"),
        ("nodes", 0, "results", 0),
        ("nodes", 0, "results", 0, "shape"),
        ("nodes", 0, "version"),
        ("outputs", 0),
        ("placeholders", 0),
        ("placeholders", 2, "shape", 1),
        ("placeholders", 0, "dtype"),
    ]
)


@given(places, json_trees)
def test_any_tree_in_any_place_is_read_or_refused(path: tuple[Any, ...], value: Any) -> None:
    data = changed(product(), path, value)
    try:
        graph = Graph.from_bytes(data)
    except GraphError:
        return
    assert graph.to_bytes() == data


def test_the_builder_refuses_at_the_wrong_node() -> None:
    build = GraphBuilder()
    left = build.placeholder("a0", "float32", (2, 3))
    with pytest.raises(GraphError) as refusal:
        build.apply("matmul", left, left)
    assert refusal.value.code == "wrong_shape"
    build.apply("negative", left)
    with pytest.raises(GraphError) as refusal:
        build.placeholder("b0", "float32", (2, 3))
    assert refusal.value.code == "late_placeholder"
