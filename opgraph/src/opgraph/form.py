"""The canonical form of a graph: from and to bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast

from opgraph import canonical
from opgraph.catalogue import operator
from opgraph.catalogue.attributes import AttributeKind, AttributeValue
from opgraph.errors import FormError
from opgraph.nodes import Node, Placeholder
from opgraph.tensors import DTYPES, Shape, TensorType

if TYPE_CHECKING:
    from opgraph.graph import Graph

MOST_NESTED = 4
"""Graphs within graphs: a body within a body is of use, more is only a danger to the reader."""

Parts: TypeAlias = tuple[tuple[Placeholder, ...], tuple[Node, ...], tuple[int, ...], int]
T = TypeVar("T")


def write(graph: Graph) -> bytes:
    """The canonical bytes of a valid graph."""
    return canonical.encode(_tree(*_parts(graph)))


def read(data: bytes, largest: int) -> Parts:
    """Placeholders, nodes, outputs and catalogue version in the canonical bytes.

    Types are only read here; `validation.validate` decides whether they are right.
    Raises FormError, and GraphError where an operator is unknown.
    """
    parts = _read_parts(canonical.decode(data, largest), MOST_NESTED)
    if canonical.encode(_tree(*parts)) != data:
        raise FormError("not_canonical", "The graph is not written in its canonical form.")
    return parts


def _read_parts(tree: object, nested: int) -> Parts:
    catalogue, nodes, outputs, placeholders = _fields(
        tree, "catalogue", "nodes", "outputs", "placeholders"
    )
    return (
        _all(placeholders, _read_placeholder),
        _all(nodes, lambda node: _read_node(node, nested)),
        _all(outputs, _read_integer),
        _read_integer(catalogue),
    )


def _parts(graph: Graph) -> Parts:
    return graph.placeholders, graph.nodes, graph.outputs, graph.catalogue


def _tree(
    placeholders: Sequence[Placeholder],
    nodes: Sequence[Node],
    outputs: Sequence[int],
    catalogue: int,
) -> dict[str, Any]:
    return {
        "catalogue": catalogue,
        "nodes": [_node_tree(each) for each in nodes],
        "outputs": list(outputs),
        "placeholders": [{"name": each.name, **_type_tree(each.type)} for each in placeholders],
    }


def _type_tree(type_: TensorType) -> dict[str, Any]:
    return {"dtype": type_.dtype, "shape": list(type_.shape)}


def _node_tree(node: Node) -> dict[str, Any]:
    kinds = _kinds(node.operator)
    return {
        "attributes": {
            name: _write_attribute(kinds[name], value) for name, value in node.attributes.items()
        },
        "operands": list(node.operands),
        "operator": node.operator,
        "results": [_type_tree(each) for each in node.results],
        "version": node.version,
    }


def _kinds(name: str) -> dict[str, AttributeKind]:
    return {each.name: each.kind for each in operator(name).attributes}


def _write_attribute(kind: AttributeKind, value: AttributeValue) -> object:
    if isinstance(value, tuple):
        return [str(each) for each in value]
    if kind == "integer":
        return str(value)
    if kind == "graph":
        return _tree(*_parts(cast("Graph", value)))
    return canonical.float_to_text(value) if isinstance(value, float) else value


def _read_node(tree: object, nested: int) -> Node:
    attributes, operands, name, results, version = _fields(
        tree, "attributes", "operands", "operator", "results", "version"
    )
    name = _read_text(name)
    return Node(
        name,
        _all(operands, _read_integer),
        _all(results, _read_type),
        _read_attributes(_kinds(name), attributes, nested),
        _read_integer(version),
    )


def _read_attributes(
    kinds: Mapping[str, AttributeKind], tree: object, nested: int
) -> dict[str, AttributeValue]:
    values = _fields(tree, *sorted(kinds))
    return {
        name: _read_attribute(kinds[name], value, nested)
        for name, value in zip(sorted(kinds), values, strict=True)
    }


def _read_attribute(kind: AttributeKind, value: object, nested: int) -> AttributeValue:
    if kind == "integers":
        return _all(value, lambda each: canonical.text_to_integer(_read_text(each)))
    if kind == "words":
        return _all(value, _read_text)
    if kind == "graph":
        return _read_nested(value, nested - 1)
    if kind == "boolean":
        if not isinstance(value, bool):
            raise FormError("wrong_attributes", "A boolean attribute must be true or false.")
        return value
    text = _read_text(value)
    if kind == "integer":
        return canonical.text_to_integer(text)
    return canonical.text_to_float(text) if kind == "float" else text


def _read_nested(tree: object, nested: int) -> Graph:
    # A graph knows this form, so the form can't know the graph before it is needed.
    from opgraph.graph import Graph

    if nested < 0:
        raise FormError("nested_too_deeply", f"Graphs are nested more than {MOST_NESTED} deep.")
    return Graph(*_read_parts(tree, nested))


def _read_placeholder(tree: object) -> Placeholder:
    dtype, name, shape = _fields(tree, "dtype", "name", "shape")
    return Placeholder(_read_text(name), TensorType(_read_dtype(dtype), _read_shape(shape)))


def _read_type(tree: object) -> TensorType:
    dtype, shape = _fields(tree, "dtype", "shape")
    return TensorType(_read_dtype(dtype), _read_shape(shape))


def _read_dtype(value: object) -> str:
    text = _read_text(value)
    if text not in DTYPES:
        raise FormError("wrong_dtype", f"There is no dtype {text[:32]!r}.")
    return text


def _read_shape(value: object) -> Shape:
    return _all(value, _read_integer)


def _fields(tree: object, *names: str) -> list[Any]:
    if not isinstance(tree, dict) or tree.keys() != set(names):
        raise FormError("wrong_form", f"Expected an object with exactly {', '.join(names)}.")
    return [tree[name] for name in names]


def _all(values: object, read_one: Callable[[object], T]) -> tuple[T, ...]:
    if not isinstance(values, list):
        raise FormError("wrong_form", "Expected a list.")
    return tuple(map(read_one, values))


def _read_integer(value: object) -> int:
    if type(value) is not int or value < 0:
        raise FormError("wrong_form", "Expected an integer that is not negative.")
    return value


def _read_text(value: object) -> str:
    if not isinstance(value, str):
        raise FormError("wrong_form", "Expected a string.")
    return value
