"""What a device is: whether it computes right, how its numbers fall, how fast it is."""

from __future__ import annotations

import platform
import time
from functools import lru_cache

import numpy
from blake3 import blake3
from numpy.typing import NDArray
from threadpoolctl import threadpool_info  # type: ignore[import-untyped]

from goblin_client.compute.backends import Backend, DeviceUnusable
from opgraph.builder import GraphBuilder
from opgraph.executor import execute
from opgraph.graph import Graph

SELF_TEST_SIZE = 192
FIRST_SIZE, LAST_SIZE = 256, 1024
PROBE_S = 0.35
"""The speed is measured in less time than this."""


@lru_cache(maxsize=1)
def cpu_kind() -> str:
    """Architecture and the BLAS kernels that run on it: both decide how sums fall."""
    libraries = [each for each in threadpool_info() if each.get("user_api") == "blas"]
    kernels = libraries[0].get("architecture") or "unknown" if libraries else "none"
    name = libraries[0].get("internal_api", "blas") if libraries else "blas"
    return f"cpu {platform.machine()} {name} {kernels}"


def examine(backend: Backend, threads: int) -> str:
    """The device class: kind and numeric fingerprint. Raises `DeviceUnusable` where the device
    computes something else than numpy does in float64."""
    hasher = blake3()
    for dtype in ("float32", "float64"):
        graph, inputs = _example(dtype)
        (result,) = _run(graph, inputs, backend, threads)
        _compare(result, inputs, dtype)
        hasher.update(result.tobytes())
    return f"{backend.kind} threads {threads} {hasher.hexdigest(length=8)}"


def measure_speed(backend: Backend, threads: int) -> float:
    """Floating-point operations per second in float32 products, measured within `PROBE_S`."""
    ends = time.perf_counter() + PROBE_S
    _product(FIRST_SIZE, backend, threads)  # the first one also loads and plans
    size, best = FIRST_SIZE, 0.0
    while True:
        began = time.perf_counter()
        _product(size, backend, threads)
        took = max(1e-9, time.perf_counter() - began)
        best = max(best, 2.0 * size**3 / took)
        size = min(LAST_SIZE, size * 2)
        if time.perf_counter() + 1.5 * (2.0 * size**3 / best) > ends:
            return best


def _product(size: int, backend: Backend, threads: int) -> None:
    builder = GraphBuilder()
    left = builder.placeholder("a0", "float32", (size, size))
    right = builder.placeholder("b0", "float32", (size, size))
    graph = builder.build(builder.apply("matmul", left, right))
    array = numpy.ones((size, size), dtype=numpy.float32)
    _run(graph, {"a0": array, "b0": array}, backend, threads)


def _example(dtype: str) -> tuple[Graph, dict[str, NDArray[numpy.generic]]]:
    size = SELF_TEST_SIZE
    builder = GraphBuilder()
    names = ("a0", "b0", "a1", "b1")
    a0, b0, a1, b1 = (builder.placeholder(name, dtype, (size, size)) for name in names)
    first = builder.apply("matmul", a0, b0)
    graph = builder.build(builder.apply("matmul_add", first, a1, b1))
    counter = numpy.arange(size * size, dtype=numpy.int64)
    inputs = {}
    for place, name in enumerate(names):
        numbers = (counter * (7919 + 2 * place)) % 10007 / 10007 - 0.5
        inputs[name] = numbers.reshape(size, size).astype(dtype)
    return graph, inputs


def _run(
    graph: Graph, inputs: dict[str, NDArray[numpy.generic]], backend: Backend, threads: int
) -> list[NDArray[numpy.generic]]:
    loaded = {name: backend.load(array) for name, array in inputs.items()}
    made = execute(graph, loaded, xp=backend.xp, threads=threads)
    backend.finish()
    results = []
    for array in made:
        result = numpy.empty(array.shape, dtype=str(array.dtype))
        backend.store(array, result)
        results.append(result)
    return results


def _compare(
    result: NDArray[numpy.generic], inputs: dict[str, NDArray[numpy.generic]], dtype: str
) -> None:
    a0, b0, a1, b1 = (array.astype(numpy.float64) for array in inputs.values())
    expected = a0 @ b0 + a1 @ b1
    scale = numpy.abs(a0) @ numpy.abs(b0) + numpy.abs(a1) @ numpy.abs(b1)
    allowed = 2 * SELF_TEST_SIZE * numpy.finfo(dtype).eps * scale
    wrong = ~(numpy.abs(result.astype(numpy.float64) - expected) <= allowed)
    if wrong.any():
        raise DeviceUnusable(
            f"The device failed its self-test: {int(wrong.sum())} of {wrong.size} numbers of a"
            f" {dtype} product are wrong."
        )
