"""Products of integers are those of numpy, bit for bit, whatever the sizes of the numbers."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from opgraph.builder import GraphBuilder
from opgraph.catalogue import integer_products
from opgraph.catalogue.integer_products import add_product, is_worth_it, product_scratch
from opgraph.errors import ExecutionCancelled
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.tensors import INTEGERS

Array = NDArray[Any]


def multiplied(left: Array, right: Array) -> Array:
    (m, k), n = left.shape, right.shape[1]
    result = numpy.zeros((m, n), left.dtype)
    scratch = numpy.empty(product_scratch(m, k, n), numpy.uint8)
    add_product(result, left, right, scratch, lambda: None)
    return result


def numbers(dtype: str, shape: tuple[int, ...], bits: int, seed: int = 0) -> Array:
    """Numbers of at most so many bits, the extremes of the type among them."""
    info = numpy.iinfo(dtype)
    low, high = max(info.min, -(2**bits)), min(info.max, 2**bits - 1)
    found = numpy.random.default_rng(seed).integers(low, high, shape, dtype, endpoint=True)
    found[0, 0], found[-1, -1] = low, high
    return found


@given(
    dtype=st.sampled_from(INTEGERS),
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 40)),
    bits=st.tuples(st.integers(1, 64), st.integers(1, 64)),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_any_shape_and_size_of_numbers(
    dtype: str, shape: tuple[int, int, int], bits: tuple[int, int], seed: int
) -> None:
    m, k, n = shape
    left = numbers(dtype, (m, k), bits[0], seed)
    right = numbers(dtype, (k, n), bits[1], seed + 1)
    numpy.testing.assert_array_equal(multiplied(left, right), left @ right)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_the_largest_sums_of_the_extremes(dtype: str) -> None:
    """All elements at one end, so that every sum is as large as it can be; deeper than one sum."""
    depth = integer_products.DEPTH + 7
    for value in (numpy.iinfo(dtype).min, numpy.iinfo(dtype).max):
        left, right = numpy.full((3, depth), value, dtype), numpy.full((depth, 2), value, dtype)
        numpy.testing.assert_array_equal(multiplied(left, right), left @ right)


def test_digits_at_their_bounds() -> None:
    """-2^21 in every digit: the one case in which sums reach 2^53."""
    digit = -(2**21)
    worst = digit + (digit << 22)
    left = numpy.full((2, integer_products.DEPTH), worst, numpy.int64)
    right = numpy.full((integer_products.DEPTH, 2), worst, numpy.int64)
    numpy.testing.assert_array_equal(multiplied(left, right), left @ right)


def test_more_than_a_block_in_every_direction(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, size in (("ROWS", 8), ("COLUMNS", 16), ("STRIP", 40)):
        monkeypatch.setattr(integer_products, name, size)
    left, right = numbers("int64", (21, 50), 64), numbers("int64", (50, 37), 64, 1)
    for a, b in ((left, right), (numpy.asfortranarray(left), right[::-1]), (left[::2], right)):
        numpy.testing.assert_array_equal(multiplied(a, b), a @ b)


def chain(dtype: str, m: int, depth: int, n: int, slices: int) -> Graph:
    build = GraphBuilder()
    pairs = [
        (
            build.placeholder(f"a{each}", dtype, (m, depth)),
            build.placeholder(f"b{each}", dtype, (depth, n)),
        )
        for each in range(slices)
    ]
    result = build.apply("matmul", *pairs[0])
    for pair in pairs[1:]:
        result = build.apply("matmul_add", result, *pair)
    return build.build(result)


def operands(graph: Graph) -> dict[str, Array]:
    return {
        each.name: numbers(each.type.dtype, each.type.shape, 64, number)
        for number, each in enumerate(graph.placeholders)
    }


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint64"])
@pytest.mark.parametrize("shape", [(3, 5, 4), (70, 64, 80)])
def test_a_tile_in_slices(dtype: str, shape: tuple[int, int, int]) -> None:
    m, depth, n = shape
    assert is_worth_it(m, depth, n) == (m == 70)
    inputs = operands(graph := chain(dtype, m, depth, n, 3))
    wanted = numpy.zeros((m, n), dtype)
    for each in range(3):
        wanted += inputs[f"a{each}"] @ inputs[f"b{each}"]
    (found,) = execute(graph, inputs)
    assert found.dtype == dtype
    numpy.testing.assert_array_equal(found, wanted)


def test_stacks_of_matrices() -> None:
    build = GraphBuilder()
    left = build.placeholder("a", "int32", (2, 3, 64, 64))
    right = build.placeholder("b", "int32", (2, 3, 64, 64))
    graph = build.build(build.apply("matmul", left, right))
    rng = numpy.random.default_rng(3)
    a, b = rng.integers(-(2**31), 2**31, (2, 2, 3, 64, 64)).astype(numpy.int32)
    (found,) = execute(graph, {"a": a, "b": b})
    numpy.testing.assert_array_equal(found, a @ b)


@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_memory_is_what_the_model_says(dtype: str) -> None:
    inputs = operands(graph := chain(dtype, 300, 400, 500, 2))
    execute(graph, inputs)
    tracemalloc.start()
    try:
        execute(graph, inputs)
        measured = tracemalloc.get_traced_memory()[1] + sum(a.nbytes for a in inputs.values())
    finally:
        tracemalloc.stop()
    # The model counts the inputs of a slice at a time, this test holds those of both.
    stated = peak_bytes(graph) + 400 * 800 * numpy.dtype(dtype).itemsize
    assert measured <= stated + (1 << 18)
    assert stated <= 1.1 * measured + (1 << 18)


def test_it_can_be_cancelled_between_blocks() -> None:
    asked = 0

    def cancelled() -> bool:
        nonlocal asked
        asked += 1
        return asked > 2  # before the step, and before its first sum

    graph = chain("int64", 64, 64, 64, 1)
    with pytest.raises(ExecutionCancelled):
        execute(graph, operands(graph), cancelled=cancelled)
