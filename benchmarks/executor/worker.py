"""One of the two, in a process of its own: SYSTEM CASE FOLDER on the command line.

So neither meets memory that the other has left. PyTorch writes numbers and, computed in float64,
what should come out into the folder; the executor reads them, and has no PyTorch in its process.
Commands come on standard input, one JSON list a line, and are answered on standard output.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.executor import agreement, models

Call = Callable[[], object]


class Executor:
    """The graph, on numbers that PyTorch has written."""

    def __init__(self, name: str, training: bool, folder: Path, threads: int) -> None:
        self.model = models.model(name, training)
        self.folder, self.threads = folder, threads
        self.arrays: dict[str, Any] = {}

    def use(self, seed: int) -> float:
        """Take the numbers of a seed; by how many tolerances the outputs are off at most."""
        self.arrays = dict(np.load(self.folder / f"inputs-{seed}.npz"))
        wanted = np.load(self.folder / f"wanted-{seed}.npz")
        gradients = len(self.model.parameters)
        outputs = [wanted[f"o{number}"] for number in range(len(wanted.files))]
        return agreement.deviation(self.run(), outputs, gradients)

    def run(self) -> list[Any]:
        from opgraph.executor import execute

        return execute(self.model.graph, self.arrays, threads=self.threads)

    def memory(self) -> tuple[int, int]:
        """Bytes of a run at most, inputs from first use to last use, and as foretold."""
        from opgraph.executor import execute
        from opgraph.memory import FIXED_BYTES, peak_bytes

        sources = {name: array.copy for name, array in self.arrays.items()}
        gc.collect()
        tracemalloc.start()
        try:
            execute(self.model.graph, sources, threads=self.threads)
            foretold = peak_bytes(self.model.graph) + FIXED_BYTES
            return tracemalloc.get_traced_memory()[1], foretold
        finally:
            tracemalloc.stop()


class Eager:
    """PyTorch; it makes the numbers."""

    def __init__(self, name: str, training: bool, folder: Path, threads: int) -> None:
        import torch

        from benchmarks.executor.case import Case

        torch.set_num_threads(threads)
        self.make = lambda seed: Case(name, training, seed)
        self.folder = folder
        self.case: Any = None

    def use(self, seed: int) -> float:
        self.case = self.make(seed)
        np.savez(self.folder / f"inputs-{seed}.npz", **self.case.arrays)
        wanted = {f"o{number}": each for number, each in enumerate(self.case.in_double())}
        np.savez(self.folder / f"wanted-{seed}.npz", **wanted)
        return 0.0

    def run(self) -> object:
        return self.case.theirs()


def seconds(call: Call, number: int) -> float:
    """Processor seconds of this process for one of `number` calls."""
    started = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - started) / number


def main(system: str, case: str, folder: str) -> None:
    name, _, what = case.partition("-")
    kind = {"gpugoblin": Executor, "torch": Eager}[system]
    it = kind(name, what == "joint", Path(folder), int(os.environ["OMP_NUM_THREADS"]))
    for text in sys.stdin:
        command, *arguments = json.loads(text)
        answer: Any
        if command == "time":
            answer = seconds(it.run, arguments[0])
        else:
            answer = getattr(it, command)(*arguments)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
