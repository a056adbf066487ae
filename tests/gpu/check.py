"""What works on the GPUs of this machine: one line per check, then a summary; exit code 1 where
a check fails, 2 where there is no GPU."""

from __future__ import annotations

import queue
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy
from numpy.typing import NDArray

from goblin_client.compute.backends import Backend, Cpu, DeviceUnusable, open_backend
from goblin_client.compute.messages import ArrayFile, Begin, Failed, Finished, Ready, Refused
from goblin_client.compute.probe import cpu_kind, examine, measure_speed
from goblin_client.compute.process import ComputeProcess
from goblin_wire.blobs import blob_id
from opgraph.builder import GraphBuilder
from opgraph.executor import execute
from opgraph.graph import Graph

KEY = bytes(32)
SHAPES = [(1, 1, 1, 1), (1, 2048, 3, 2), (257, 129, 513, 3), (1024, 2048, 1024, 4)]
"""m, k, n and slices of the products that are compared with numpy in float64."""


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def product(m: int, k: int, n: int, slices: int, dtype: str) -> Graph:
    builder = GraphBuilder()
    pairs = [
        (
            builder.placeholder(f"a{each}", dtype, (m, k)),
            builder.placeholder(f"b{each}", dtype, (k, n)),
        )
        for each in range(slices)
    ]
    value = builder.apply("matmul", *pairs[0])
    for pair in pairs[1:]:
        value = builder.apply("matmul_add", value, *pair)
    return builder.build(value)


def inputs_of(graph: Graph) -> dict[str, NDArray[Any]]:
    random = numpy.random.default_rng(5)
    return {
        each.name: random.standard_normal(each.type.shape).astype(each.type.dtype)
        for each in graph.placeholders
    }


def deviation(result: NDArray[Any], inputs: dict[str, NDArray[Any]], dtype: str) -> float:
    """Largest error over what rounding alone may do: 2 k eps |A||B|."""
    arrays = [array.astype(numpy.float64) for array in inputs.values()]
    pairs = list(zip(arrays[::2], arrays[1::2], strict=True))
    exact = sum(a @ b for a, b in pairs)
    scale = sum(numpy.abs(a) @ numpy.abs(b) for a, b in pairs)
    depth = sum(a.shape[1] for a, _ in pairs)
    allowed = 2 * depth * numpy.finfo(dtype).eps * scale
    return float((numpy.abs(result - exact) / allowed).max())


def check_executor(backend: Backend) -> str:
    """The executor on the GPU against float64 on the CPU."""
    worst = 0.0
    for shape in SHAPES:
        for dtype in ("float32", "float64"):
            graph = product(*shape, dtype)
            inputs = inputs_of(graph)
            loaded = {name: backend.load(array) for name, array in inputs.items()}
            (made,) = execute(graph, loaded, xp=backend.xp)
            backend.finish()
            result = numpy.empty(made.shape, dtype=dtype)
            backend.store(made, result)
            worst = max(worst, deviation(result, inputs, dtype))
    if not worst <= 1.0:
        raise AssertionError(f"error is {worst:.3g} of what rounding may do")
    return f"{2 * len(SHAPES)} products, error at most {worst:.2g} of what rounding may do"


def check_self_test(backend: Backend) -> str:
    """The client's self-test, twice: the fingerprint must not change."""
    first, second = examine(backend, 1), examine(backend, 1)
    if first != second:
        raise AssertionError("two runs gave different bits")
    return first


def check_speed(backend: Backend) -> str:
    cpu = measure_speed(Cpu(cpu_kind()), 1)
    gpu = measure_speed(backend, 1)
    return f"{gpu / 1e9:.0f} GFLOP/s; one processor thread {cpu / 1e9:.0f} GFLOP/s"


@contextmanager
def process(device: str) -> Iterator[tuple[ComputeProcess, queue.Queue[Any]]]:
    reports: queue.Queue[Any] = queue.Queue()
    made = ComputeProcess(device, 2**31, 1, on_report=reports.put, on_exit=reports.put)
    try:
        yield made, reports
    finally:
        made.kill()


def check_process(device: str) -> str:
    """A unit through the client's computing process: files in, a file out."""
    with tempfile.TemporaryDirectory() as folder, process(device) as (running, reports):
        ready = reports.get(timeout=120)
        if not isinstance(ready, Ready):
            raise AssertionError(ready.detail if isinstance(ready, Refused) else str(ready))
        begin, inputs = _unit(Path(folder))
        began = time.perf_counter()
        running.send(begin)
        while not isinstance(report := reports.get(timeout=120), Finished):
            if isinstance(report, Failed | int):
                raise AssertionError(str(report))
        took = time.perf_counter() - began
        content = Path(begin.outputs[0].path).read_bytes()
        if report.digests != [blob_id(KEY, content)]:
            raise AssertionError("the digest is not the file's")
        result = numpy.frombuffer(content, "float32").reshape(begin.outputs[0].shape)
        error = deviation(result, inputs, "float32")
        if not error <= 1.0:
            raise AssertionError(f"error is {error:.3g} of what rounding may do")
        return f"unit of 2048 x 8192 x 2048 in {took:.2f} s, {ready.memory / 1e9:.1f} GB usable"


def _unit(folder: Path) -> tuple[Begin, dict[str, NDArray[Any]]]:
    graph = product(2048, 2048, 2048, 4, "float32")
    inputs = inputs_of(graph)
    (folder / "graph").write_bytes(graph.to_bytes())
    files = []
    for name, array in inputs.items():
        (folder / name).write_bytes(array.tobytes())
        files.append(ArrayFile(path=str(folder / name), dtype="float32", shape=list(array.shape)))
    out = ArrayFile(path=str(folder / "out"), dtype="float32", shape=[2048, 2048])
    begin = Begin(
        lease="a" * 32,
        graph=str(folder / "graph"),
        key=KEY.hex(),
        inputs=files,
        outputs=[out],
        blobs=len(files),
    )
    return begin, inputs


def gpus() -> list[str]:
    """Names of the GPUs that cupy sees."""
    try:
        import cupy  # type: ignore[import-not-found]

        return [f"gpu{number}" for number in range(cupy.cuda.runtime.getDeviceCount())]
    except Exception as error:
        say(f"no GPU: {error}")
        return []


def attempt(name: str, check: Callable[[], str]) -> bool:
    try:
        say(f"ok    {name}: {check()}")
    except Exception as error:
        say(f"FAIL  {name}: {error}")
        return False
    return True


def main() -> int:
    devices = gpus()
    if not devices:
        return 2
    passed = []
    for device in devices:
        try:
            backend = open_backend(device, "")
        except DeviceUnusable as error:
            say(f"FAIL  {device}: {error}")
            passed.append(False)
            continue
        say(f"{device}: {backend.kind}")
        passed += [
            attempt(f"{device} executor", lambda b=backend: check_executor(b)),
            attempt(f"{device} self-test", lambda b=backend: check_self_test(b)),
            attempt(f"{device} speed", lambda b=backend: check_speed(b)),
            attempt(f"{device} process", lambda d=device: check_process(d)),
        ]
    say(f"{sum(passed)} of {len(passed)} checks passed on {len(devices)} GPU(s)")
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
