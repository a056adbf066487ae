"""`make bench-executor`: the executor against eager PyTorch, forward, and forward with gradients.

Each runs in a process of its own on the same number of threads, in turns; before the first turn
both have run, and the executor's results were compared with PyTorch in float64. `ratio_to_torch` is
processor time over that of PyTorch, the median of the turns; `peak_mib` what the executor had
allocated at most, inputs and the interpreter's own objects included, and `peak_over_estimate` that
over `peak_bytes` + `FIXED_BYTES`, which were known before.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Self

from benchmarks.executor.agreement import SEEDS
from benchmarks.memory import MIB, make_present
from benchmarks.report import ForeignLoad, line, median, progress

CASES = tuple(
    f"{name}-{what}"
    for name in ("mlp", "gpt", "vit", "cnn", "resnet", "lstm")
    for what in ("forward", "joint")
)
TURNS = 9
TURN_SECONDS = 0.15
PRESENT_BYTES = 256 << 20


class Worker:
    """One of the two in its process; a `with` block ends it."""

    def __init__(self, system: str, case: str, folder: str, threads: int) -> None:
        count = str(threads)
        process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.executor.worker", system, case, folder],
            env={**os.environ, "OMP_NUM_THREADS": count, "OPENBLAS_NUM_THREADS": count},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._input, self._output = process, process.stdin, process.stdout

    def ask(self, *command: object) -> Any:
        """The answer to a command. Raises RuntimeError where the process has ended."""
        self._input.write(json.dumps(command) + "\n")
        self._input.flush()
        answer = self._output.readline()
        if not answer:
            raise RuntimeError(f"{self._process.args} ended with {self._process.wait()}.")
        return json.loads(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._input.close()
        self._process.wait(timeout=30)
        self._output.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    unknown = sorted(set(options.cases) - set(CASES))
    if unknown:
        parser.error(f"there is no case {unknown[0]}")
    if find_spec("torch") is None:
        print("PyTorch is missing: pip install 'torch==2.13.0' (a CPU build does)", file=sys.stderr)
        return 1
    for case in options.cases or CASES:
        measure(case, options.turns, options.threads)
    return 0


def measure(case: str, turns: int, threads: int) -> None:
    """Print the lines of one case. Raises RuntimeError where the two disagree."""
    make_present(PRESENT_BYTES)
    with (
        tempfile.TemporaryDirectory() as folder,
        Worker("torch", case, folder, threads) as theirs,
        Worker("gpugoblin", case, folder, threads) as ours,
        ForeignLoad() as load,
    ):
        off = agree(case, ours, theirs)
        peak, estimate = ours.ask("memory")
        mine, other = times(ours, theirs, turns)
    print_case(case, mine, other, (peak, estimate), load)
    progress(f"{case}: {median(ratios(mine, other)):.3f} of PyTorch's, off {off:.2g} tolerances")


def agree(case: str, ours: Worker, theirs: Worker) -> float:
    """Settle on numbers for which the results agree; by how many tolerances they are off."""
    for seed in SEEDS:
        theirs.ask("use", seed)
        off = float(ours.ask("use", seed))
        if off <= 1:
            return off
    raise RuntimeError(f"{case} is off by {off:.3g} tolerances from what PyTorch computes")


def times(ours: Worker, theirs: Worker, turns: int) -> tuple[list[float], list[float]]:
    """Processor seconds of one call, by turn."""
    both = (ours, theirs)
    calls = [max(1, round(TURN_SECONDS / each.ask("time", 2))) for each in both]
    found: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which].append(both[which].ask("time", calls[which]))
    return found


def ratios(ours: list[float], theirs: list[float]) -> list[float]:
    return [mine / other for mine, other in zip(ours, theirs, strict=True)]


def print_case(
    case: str, ours: list[float], theirs: list[float], memory: tuple[int, int], load: ForeignLoad
) -> None:
    def say(metric: str, values: list[float], unit: str = "", system: str = "gpugoblin") -> None:
        line(
            "executor", case, metric, median(values), unit=unit, system=system, samples=values,
            foreign_load=load.cores,
        )  # fmt: skip

    peak, estimate = memory
    say("ratio_to_torch", ratios(ours, theirs))
    say("cpu_ms", [1000 * each for each in ours], "ms")
    say("cpu_ms", [1000 * each for each in theirs], "ms", "torch")
    say("peak_over_estimate", [peak / estimate])
    say("peak_mib", [peak / MIB], "MiB")


if __name__ == "__main__":
    sys.exit(main())
