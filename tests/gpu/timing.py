"""A tile of a product and a training step of a GPT, timed against PyTorch on the same GPU.

    python -m tests.gpu.timing            one line for each, with the ratio to PyTorch's time
    python -m tests.gpu.timing --list     what would be timed, where there is no GPU

Each runs a few times before it counts; then both run in turns, and medians are compared. Times
are from the call until the GPU has finished; the data is on the GPU before.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy

from benchmarks.executor import models
from opgraph.builder import GraphBuilder
from opgraph.cost import flops
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes

TILE, DEPTH, SLICES = 4096, 2048, 4
WARM, TURNS = 3, 11


@dataclass(frozen=True)
class Timed:
    """A graph, and what makes the same of PyTorch: given nothing, what to call, and our inputs."""

    name: str
    graph: Graph
    theirs: Callable[[], tuple[Callable[[], Any], dict[str, Any]]]


def tile() -> Graph:
    """What a volunteer gets of a large product: slices of K, one after the other."""
    build = GraphBuilder()
    pairs = [
        (
            build.placeholder(f"a{n}", "float32", (TILE, DEPTH)),
            build.placeholder(f"b{n}", "float32", (DEPTH, TILE)),
        )
        for n in range(SLICES)
    ]
    value = build.apply("matmul", *pairs[0])
    for pair in pairs[1:]:
        value = build.apply("matmul_add", value, *pair)
    return build.build(value)


def _tile_of_torch() -> tuple[Callable[[], Any], dict[str, Any]]:
    import torch

    random = numpy.random.default_rng(1)
    arrays = {
        each.name: random.standard_normal(each.type.shape).astype("float32")
        for each in tile().placeholders
    }
    loaded = {name: torch.from_numpy(array).cuda() for name, array in arrays.items()}
    torch.backends.cuda.matmul.allow_tf32 = False

    def run() -> Any:
        total = loaded["a0"] @ loaded["b0"]
        for n in range(1, SLICES):
            total += loaded[f"a{n}"] @ loaded[f"b{n}"]
        return total

    return run, arrays


def _gpt_of_torch() -> tuple[Callable[[], Any], dict[str, Any]]:
    from benchmarks.executor.case import Case

    case = Case("gpt", training=True)
    arrays = {name: numpy.array(array) for name, array in case.arrays.items()}
    case.eager.cuda()
    case.data, case.labels = case.data.cuda(), case.labels.cuda()
    return case.theirs, arrays


def cases() -> list[Timed]:
    """All that is timed."""
    return [
        Timed("product tile", tile(), _tile_of_torch),
        Timed("gpt step", models.model("gpt", True).graph, _gpt_of_torch),
    ]


def measure(timed: Timed) -> str:
    """A line of figures. Raises AssertionError where the results differ."""
    import cupy  # type: ignore[import-not-found]
    import torch

    theirs, arrays = timed.theirs()
    loaded = {name: cupy.asarray(array) for name, array in arrays.items()}

    def ours() -> Any:
        return execute(timed.graph, loaded, xp=cupy)

    _compare(ours()[0].get(), theirs())
    mine, other = _in_turns(
        (ours, cupy.cuda.get_current_stream().synchronize), (theirs, torch.cuda.synchronize)
    )
    rate = flops(timed.graph) / mine / 1e12
    return (
        f"{timed.name}: {1e3 * mine:.3f} ms, PyTorch {1e3 * other:.3f} ms,"
        f" ratio {mine / other:.2f}, {rate:.1f} TFLOP/s"
    )


def _compare(one: Any, other: Any) -> None:
    """The first result of each: the product, or the loss."""
    other = other[0] if isinstance(other, list | tuple) else other
    right = other.detach().cpu().numpy()
    scale = float(numpy.abs(right).max())
    if not float(numpy.abs(one - right).max()) <= 1e-4 * scale:
        raise AssertionError("The results of the two differ.")


def _in_turns(*both: tuple[Callable[[], Any], Callable[[], Any]]) -> list[float]:
    """Median seconds of each."""
    taken: list[list[float]] = [[] for _ in both]
    for turn in range(WARM + TURNS):
        for (run, wait), seconds in zip(both, taken, strict=True):
            spent = _seconds(run, wait)
            if turn >= WARM:
                seconds.append(spent)
    return [statistics.median(each) for each in taken]


def _seconds(run: Callable[[], Any], wait: Callable[[], Any]) -> float:
    wait()
    began = time.perf_counter()
    run()
    wait()
    return time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="say what would be timed")
    options = parser.parse_args()
    if options.list:
        for each in cases():
            print(
                f"{each.name}: {flops(each.graph) / 1e9:.2f} GFLOP,"
                f" {peak_bytes(each.graph) >> 20} MiB, {len(each.graph.nodes)} nodes"
            )
        return 0
    missing = [name for name in ("cupy", "torch") if find_spec(name) is None]
    if missing:
        print(f"nothing was timed: {' and '.join(missing)} missing")
        return 0
    for each in cases():
        print(measure(each), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
