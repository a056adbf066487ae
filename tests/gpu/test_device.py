"""What only a GPU can show: memory goes back, the model of it holds, and too much is said."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from benchmarks.executor import models
from opgraph.builder import GraphBuilder
from opgraph.errors import MemoryShortage
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes

cupy = pytest.importorskip("cupy", reason="There is no cupy, so nothing ran on a GPU.")

ROUNDING = 1 << 20
"""cupy gives memory in pieces of 512 bytes, and operators count buffers of the CPU's size: what a
block on a GPU takes more (`GPU_BLOCK`) is a fixed cost."""
FIXED = 64 << 20


@pytest.fixture
def pool() -> Iterator[Any]:
    """An empty pool of memory, without a limit afterwards."""
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        pytest.skip("There is no GPU.")
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    yield pool
    pool.set_limit(size=0)
    pool.free_all_blocks()


def chain(size: int, slices: int) -> Graph:
    build = GraphBuilder()
    pairs = [
        tuple(build.placeholder(f"{letter}{n}", "float32", (size, size)) for letter in "ab")
        for n in range(slices)
    ]
    value = build.apply("matmul", *pairs[0])
    for pair in pairs[1:]:
        value = build.apply("matmul_add", value, *pair)
    return build.build(value)


def numbers(graph: Graph) -> dict[str, Any]:
    """Inputs on the CPU, loaded when they are first used."""
    random = numpy.random.default_rng(1)
    made: dict[str, Any] = {}
    for each in graph.placeholders:
        if each.type.dtype == "int64":
            array = random.integers(0, 10, each.type.shape)
        else:
            array = 0.1 * random.standard_normal(each.type.shape)
        array = array.astype(each.type.dtype)
        made[each.name] = lambda array=array: cupy.asarray(array)
    return made


GRAPHS = {"product": lambda: chain(2048, 3), "gpt": lambda: models.model("gpt", True).graph}


@pytest.mark.parametrize("name", GRAPHS)
def test_memory_goes_back(pool: Any, name: str) -> None:
    graph = GRAPHS[name]()
    execute(graph, numbers(graph), xp=cupy)  # libraries take what they keep
    before = pool.used_bytes()
    for _ in range(3):
        results = execute(graph, numbers(graph), xp=cupy)
        del results
        assert pool.used_bytes() == before


@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_runs_in_the_memory_that_was_foretold(pool: Any, name: str) -> None:
    graph = GRAPHS[name]()
    execute(graph, numbers(graph), xp=cupy)
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + int(1.1 * peak_bytes(graph)) + FIXED + ROUNDING)
    assert execute(graph, numbers(graph), xp=cupy)


def test_too_little_memory_is_an_error_that_names_the_node(pool: Any) -> None:
    graph = chain(4096, 2)
    pool.set_limit(size=pool.used_bytes() + peak_bytes(graph) // 2)
    with pytest.raises(MemoryShortage) as caught:
        execute(graph, numbers(graph), xp=cupy)
    assert caught.value.code == "out_of_memory"
    assert "matmul" in caught.value.message
    del caught
    pool.set_limit(size=0)
    assert execute(graph, numbers(graph), xp=cupy)  # it goes on afterwards


@pytest.mark.parametrize("name", GRAPHS)
def test_a_run_gives_the_same_bits_again_and_the_numbers_of_the_cpu(pool: Any, name: str) -> None:
    graph = GRAPHS[name]()
    inputs = numbers(graph)
    first, second = (execute(graph, inputs, xp=cupy) for _ in range(2))
    on_cpu = execute(graph, {key: (lambda f=f: f().get()) for key, f in inputs.items()})
    for one, other, right in zip(first, second, on_cpu, strict=True):
        assert one.get().tobytes() == other.get().tobytes()
        scale = float(abs(right).max()) or 1.0
        numpy.testing.assert_allclose(one.get(), right, rtol=0, atol=2e-4 * scale)
