"""A product through the whole network against numpy and dask, interleaved in one run.

Two volunteers of one thread each are connected and waiting; everything runs on this machine over
plain HTTP on loopback; the clock runs from `submit()` to `result()`, and every tile is verified.
The database of the network does not wait for the disk (no fsync); the lab node does.
numpy multiplies arrays in memory on two threads, dask.distributed runs two workers of one thread.
Each repetition has new numbers, so that no cache of an earlier one helps, and before each turn
the memory that it may need is made present (see `benchmarks.memory.make_present`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib.format import open_memmap

from benchmarks import peers
from benchmarks.memory import MIB, PeakMemory, make_present
from benchmarks.report import ForeignLoad, line, median, progress
from tests.network import Network

SIZES = (4096, 8192)
REPETITIONS = 3
DASK_CHUNK = 2048
CHECKED_ROWS = 32
PRESENT_MATRICES = 12
"""So much memory, in matrices, is made present before each turn: more than a turn takes."""


@dataclass
class Samples:
    """What the repetitions of one case measured, by system and metric."""

    seconds: dict[str, list[float]] = field(default_factory=dict)
    bytes_over_bound: list[float] = field(default_factory=list)
    peak_rss_mib: list[float] = field(default_factory=list)
    foreign_load: float = 0.0

    def add(self, system: str, seconds: float) -> None:
        self.seconds.setdefault(system, []).append(seconds)
        progress(f"  {system:10} {seconds:7.3f} s")


def write_matrix(path: Path, size: int, seed: int) -> None:
    """A size x size float32 `.npy` file of standard normal numbers, written in bounded memory."""
    rng = np.random.default_rng(seed)
    array = open_memmap(path, mode="w+", dtype=np.float32, shape=(size, size))
    for row in range(0, size, 512):
        array[row : row + 512] = rng.standard_normal((min(512, size - row), size), np.float32)
    array.flush()


def largest_deviation(a_path: Path, b_path: Path, product: Any) -> float:
    """Largest `|C - AB| / (u |A||B|)` over some rows, AB in float64; u = 2^-24."""
    b = np.load(b_path, mmap_mode="r").astype(np.float64)
    rows = np.linspace(0, product.shape[0] - 1, CHECKED_ROWS).astype(int)
    a = np.load(a_path, mmap_mode="r")[rows].astype(np.float64)
    scale = np.abs(a) @ np.abs(b) * 2.0**-24
    return float((np.abs(np.asarray(product[rows]) - a @ b) / scale).max())


class Case:
    """The product of one size, measured in turns."""

    def __init__(self, network: Network, size: int) -> None:
        self.network = network
        self.size = size
        self.samples = Samples()
        self.a = network.places.data / f"A-{size}.npy"
        self.b = network.places.data / f"B-{size}.npy"

    def run(self, repetitions: int) -> Samples:
        turns: list[Callable[[int], None]] = [self._network_turn, self._numpy_turn, self._dask_turn]
        with ForeignLoad() as load:
            for repetition in range(repetitions):
                progress(f"{self.size} x {self.size}, repetition {repetition + 1}")
                write_matrix(self.a, self.size, 2 * repetition)
                write_matrix(self.b, self.size, 2 * repetition + 1)
                for turn in range(3):
                    make_present(PRESENT_MATRICES * self.a.stat().st_size)
                    turns[(turn + repetition) % 3](repetition)
        self.samples.foreign_load = load.cores
        return self.samples

    def _network_turn(self, repetition: int) -> None:
        lab = self.network.connect()
        out = f"C-{self.size}-{repetition}.npy"
        a, b = lab.open(self.a.name), lab.open(self.b.name)
        processes = [
            process.pid
            for name, process in self.network.processes.items()
            if name.startswith(("lab", "volunteer"))
        ]
        with PeakMemory(processes) as memory:
            started = time.perf_counter()
            job = (a @ b).submit(name=f"product-{self.size}-{repetition}", out=out)
            product = job.result(timeout=600)
            self.samples.add("gpugoblin", time.perf_counter() - started)
        self._note(job.report().facts, memory, product)
        (self.network.places.data / out).unlink()

    def _note(self, facts: Any, memory: PeakMemory, product: Any) -> None:
        if facts.verified != facts.units:
            raise RuntimeError(f"only {facts.verified} of {facts.units} tiles are verified")
        deviation = largest_deviation(self.a, self.b, product)
        if not deviation <= 4 * np.sqrt(self.size):
            raise RuntimeError(f"the product deviates by {deviation:.3g} u |A||B|")
        moved = facts.bytes_down + facts.bytes_up
        self.samples.bytes_over_bound.append(moved / facts.bytes_planned)
        self.samples.peak_rss_mib.append(memory.peak_bytes / MIB)

    def _numpy_turn(self, _repetition: int) -> None:
        self.samples.add("numpy", peers.run("numpy", self.a, self.b, 2))

    def _dask_turn(self, _repetition: int) -> None:
        self.samples.add("dask", peers.run("dask", self.a, self.b, DASK_CHUNK))


def print_case(size: int, samples: Samples) -> None:
    case = f"{size}-float32"

    def say(system: str, metric: str, values: list[float], unit: str = "") -> None:
        line(
            "matmul", case, metric, median(values), unit=unit, system=system, samples=values,
            foreign_load=samples.foreign_load,
        )  # fmt: skip

    for system, seconds in samples.seconds.items():
        say(system, "seconds", seconds, "s")
        pairs = zip(seconds, samples.seconds["numpy"], strict=True)
        say(system, "ratio_to_numpy", [ours / theirs for ours, theirs in pairs])
    say("gpugoblin", "bytes_over_bound", samples.bytes_over_bound)
    say("gpugoblin", "peak_rss_mib", samples.peak_rss_mib, "MiB")


def warm_up(network: Network) -> None:
    """One small product, so that every process has loaded what it needs."""
    a, b = network.places.data / "warm-a.npy", network.places.data / "warm-b.npy"
    write_matrix(a, 1024, 100)
    write_matrix(b, 1024, 101)
    lab = network.connect()
    (lab.open(a.name) @ lab.open(b.name)).submit(name="warm-up").result(timeout=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    options = parser.parse_args()
    with Network(volunteers=2, volunteer_arguments=("--threads", "1")) as network:
        warm_up(network)
        for size in options.sizes:
            print_case(size, Case(network, size).run(options.repetitions))


if __name__ == "__main__":
    main()
