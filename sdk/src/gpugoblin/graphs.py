"""From a lazy product to the operator graph that a lab node is asked to compute."""

from __future__ import annotations

from typing import NamedTuple

from gpugoblin.array import Array, Leaf, Product
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
    if not isinstance(array.source, Product):
        raise UnsupportedComputation(
            f"{array.source.label} is there already; there is nothing to compute."
        )
    for operand in (array.source.left, array.source.right):
        if isinstance(operand.source, Product):
            raise UnsupportedComputation(
                f"One product is computed at a time. Submit {operand.source.label} with"
                " out='name.npy' first, then open its result with lab.open('name.npy')."
            )
    return array.source


def matrix_shapes(product: Product) -> tuple[Shape, Shape]:
    """The shapes of both sides as matrices."""
    left, right = product.left.shape, product.right.shape
    return (1, *left) if len(left) == 1 else left, (*right, 1) if len(right) == 1 else right


def sizes(product: Product) -> Sizes:
    """The product's three lengths."""
    (m, k), (_, n) = matrix_shapes(product)
    return Sizes(m, k, n)


def _leaf(operand: Array) -> Leaf:
    if isinstance(operand.source, Product):
        raise UnsupportedComputation("One product is computed at a time.")
    return operand.source
