"""A submission, checked: one product of two arrays of this lab node."""

from __future__ import annotations

import math
from collections.abc import Callable

from msgspec import Struct

from goblin_labnode.arrays import ArraySource
from goblin_wire.control import Submission
from goblin_wire.problems import (
    BadGraph,
    BadMessage,
    DtypeUnsupported,
    ShapeMismatch,
    UnknownArray,
    UnsupportedComputation,
)
from goblin_wire.protocol import require_protocol
from goblin_wire.states import Grade
from opgraph.errors import GraphError
from opgraph.graph import Graph
from opgraph.partition.product import PRODUCT_DTYPES
from opgraph.tensors import TensorType

Finder = Callable[[str], ArraySource]
"""Finds an array by its id."""


class Request(Struct, kw_only=True, omit_defaults=True):
    """`C (m x n) = A (m x k) B (k x n)`, and how it was asked for."""

    graph: str
    """Plain BLAKE3 of the graph."""
    left: str
    right: str
    """Arrays of A and B."""
    names: list[str]
    """The placeholders of A and B: what the researcher's package calls them."""
    m: int
    k: int
    n: int
    dtype: str
    shape: list[int]
    """The result's own shape; a vector where the researcher multiplied one."""
    out: str | None = None
    grade: Grade = Grade.STANDARD
    memory: int | None = None

    @property
    def arrays(self) -> list[str]:
        return list(dict.fromkeys((self.left, self.right)))


def check_submission(submission: Submission, find: Finder) -> Request:
    """Raises the `Problem` that says what does not fit."""
    require_protocol(submission.protocol)
    graph = _graph(submission.graph)
    left, right = _operands(graph)
    sources = [_bound(graph, value, submission, find) for value in (left, right)]
    a, b, c = graph.types[left], graph.types[right], graph.output_types[0]
    m, k, n = _sizes(a, b)
    return Request(
        graph=graph.id,
        left=sources[0].array,
        right=sources[1].array,
        names=[graph.placeholders[value].name for value in (left, right)],
        m=m,
        k=k,
        n=n,
        dtype=c.dtype,
        shape=_result_shape(submission, c),
        out=submission.out,
        grade=submission.grade,
        memory=submission.memory,
    )


def _graph(text: str) -> Graph:
    try:
        return Graph.from_bytes(text.encode())
    except GraphError as error:
        raise BadGraph(f"The graph is not valid: {error.message}", reason=error.code) from None


def _operands(graph: Graph) -> tuple[int, int]:
    count = len(graph.placeholders)
    product = graph.nodes[0] if len(graph.nodes) == 1 else None
    if product is None or product.operator != "matmul" or graph.outputs != (count,):
        raise UnsupportedComputation(
            "This lab node computes one matrix product of two arrays; the graph is another."
        )
    left, right = product.operands
    return left, right


def _bound(graph: Graph, value: int, submission: Submission, find: Finder) -> ArraySource:
    placeholder = graph.placeholders[value]
    array = submission.inputs.get(placeholder.name)
    if array is None:
        raise BadMessage(f"No array is bound to the placeholder {placeholder.name}.")
    if not set(submission.inputs) <= {each.name for each in graph.placeholders}:
        raise UnknownArray("An array is bound to a placeholder that the graph does not have.")
    source = find(array)
    _check_type(source, placeholder.type)
    return source


def _check_type(source: ArraySource, wanted: TensorType) -> None:
    dtype = source.layout.native.name
    if dtype != wanted.dtype:
        raise DtypeUnsupported(f"{source.shown} holds {dtype}, the graph says {wanted.dtype}.")
    if dtype not in PRODUCT_DTYPES:
        raise DtypeUnsupported(
            f"Products of {dtype} are not computed; use integers, float32 or float64."
        )
    shape = source.layout.shape
    if shape == wanted.shape or (len(shape) == 1 and _is_vector(wanted, shape[0])):
        return
    raise ShapeMismatch(f"{source.shown} has shape {shape}, the graph says {tuple(wanted.shape)}.")


def _is_vector(wanted: TensorType, size: int) -> bool:
    return wanted.rank == 2 and wanted.elements == size and 1 in wanted.shape


def _sizes(a: TensorType, b: TensorType) -> tuple[int, int, int]:
    if a.rank != 2:
        raise UnsupportedComputation("This lab node computes products of two matrices, no stacks.")
    return a.shape[0], a.shape[1], b.shape[1]


def _result_shape(submission: Submission, result: TensorType) -> list[int]:
    shape = list(result.shape) if submission.shape is None else list(submission.shape)
    if math.prod(shape) != result.elements:
        raise ShapeMismatch(
            f"A result of shape {shape} cannot hold the product's shape {list(result.shape)}."
        )
    return shape
