"""From a lazy product to the operator graph that a lab node is asked to compute."""

from __future__ import annotations

from typing import NamedTuple

from gpugoblin.array import Array, Leaf, Product, Value, of_value
from gpugoblin.arrays.origin import at
from gpugoblin.arrays.values import Applied
from gpugoblin.errors import UnsupportedComputation
from gpugoblin.operands import Shape
from opgraph.builder import GraphBuilder
from opgraph.graph import Graph


class Computation(NamedTuple):
    """One product: its graph, and the leaf that fills each placeholder."""

    graph: Graph
    inputs: dict[str, Leaf]


class Sizes(NamedTuple):
    """C (m x n) = A (m x k) B (k x n)."""

    m: int
    k: int
    n: int


def computation(array: Array) -> Computation:
    """The graph of one product of two arrays: one `matmul` node, placeholders x0, x1.

    A vector is a matrix of one row (left) or one column (right). The same array on both sides is
    one placeholder. Raises `UnsupportedComputation` for anything else.
    """
    product = single_product(array)
    build = GraphBuilder()
    inputs: dict[str, Leaf] = {}
    values: dict[tuple[str, Shape], int] = {}
    operands: list[int] = []
    leaves = (_leaf(product.left), _leaf(product.right))
    for leaf, shape in zip(leaves, matrix_shapes(product), strict=True):
        if (leaf.key, shape) not in values:
            name = f"x{len(values)}"
            values[leaf.key, shape] = build.placeholder(name, array.dtype.name, shape)
            inputs[name] = leaf
        operands.append(values[leaf.key, shape])
    return Computation(build.build(build.apply("matmul", *operands)), inputs)


def single_product(array: Array) -> Product:
    """The product that the array is. Raises `UnsupportedComputation` where it is another thing."""
    if isinstance(array.source, Leaf):
        raise UnsupportedComputation(
            f"{array.source.label} is there already; there is nothing to compute."
        )
    product = _of_matrices(array) if isinstance(array.source, Applied) else array.source
    for operand in (product.left, product.right):
        if isinstance(operand.source, Applied):
            raise _not_served(operand.source)
        if isinstance(operand.source, Product):
            raise UnsupportedComputation(
                f"One product is computed at a time. Submit {operand.source.label} with"
                " out='name.npy' first, then open its result with lab.open('name.npy')."
            )
    return product


def _of_matrices(array: Array) -> Product:
    """What `A @ B` is in this process: a product with its vectors written as matrices."""
    assert isinstance(array.source, Applied)  # noqa: S101
    made = array.source.application
    if made.operator == "reshape" and isinstance(made.operands[0].source, Applied):
        made = made.operands[0].source.application
    if made.operator != "matmul" or len(made.results[0].shape) != 2:
        raise _not_served(array.source)
    left, right = (of_value(array.home, _vector(each)) for each in made.operands)
    return Product(left, right)


def _vector(value: Value) -> Value:
    """The vector that was written as a matrix of one row or column; else the value itself."""
    source = value.source
    if isinstance(source, Applied) and source.application.operator == "reshape":
        (inner,) = source.application.operands
        return inner if len(inner.type.shape) == 1 else value
    return value


def matrix_shapes(product: Product) -> tuple[Shape, Shape]:
    """The shapes of both sides as matrices."""
    left, right = product.left.shape, product.right.shape
    return (1, *left) if len(left) == 1 else left, (*right, 1) if len(right) == 1 else right


def sizes(product: Product) -> Sizes:
    """The product's three lengths."""
    (m, k), (_, n) = matrix_shapes(product)
    return Sizes(m, k, n)


def _not_served(source: Applied) -> UnsupportedComputation:
    application = source.application
    return UnsupportedComputation(
        f"{application}{at(application.line)}: today's network computes products, A @ B, of arrays"
        " that lie at the lab, and no other operators yet. Compute this in your own process: open"
        " the same numbers with gpugoblin.local.open(path) or gpugoblin.local.array(x), write the"
        " same lines, and .compute()."
    )


def _leaf(operand: Array) -> Leaf:
    assert isinstance(operand.source, Leaf)  # noqa: S101 - single_product looked
    return operand.source
