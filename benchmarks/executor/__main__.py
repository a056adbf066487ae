"""`make bench-executor`: the executor against eager PyTorch, forward, and forward with gradients.

Both run in this process on the same number of threads, in turns; before the first turn both have
run, and their results were compared with PyTorch in float64. `ratio_to_torch` is processor time of
this process over that of PyTorch, the median of the turns; `peak_mib` what the executor had in
arrays at most, inputs included, and `peak_over_estimate` that over what `peak_bytes` said before.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
import tracemalloc
from collections.abc import Callable

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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}")
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"there is no case {sorted(unknown)[0]}")
    # A library reads this when it is loaded; the SDK and the client set it in the same way.
    os.environ["OMP_NUM_THREADS"] = str(options.threads)
    try:
        import torch
    except ImportError:
        print("PyTorch is missing: pip install 'torch==2.13.0' (a CPU build does)", file=sys.stderr)
        return 1
    torch.set_num_threads(options.threads)
    for case in options.cases or CASES:
        measure(case, options.turns, options.threads)
    return 0


def measure(name: str, turns: int, threads: int) -> None:
    """Print the lines of one case. Raises RuntimeError where the two disagree."""
    # PyTorch reads the number of its threads when it is loaded.
    from benchmarks.executor.case import agreeing

    make_present(PRESENT_BYTES)
    model, _, what = name.partition("-")
    case, off = agreeing(model, what == "joint", threads)
    peak, estimate = memory(case)
    with ForeignLoad() as load:
        ours, theirs = times(case.ours, case.theirs, turns)
    ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
    progress(f"{name}: {median(ratios):.3f} of PyTorch's, off by {off:.2g} tolerances")

    def say(metric: str, values: list[float], unit: str = "", system: str = "gpugoblin") -> None:
        line(
            "executor", name, metric, median(values), unit=unit, system=system, samples=values,
            foreign_load=load.cores,
        )  # fmt: skip

    say("ratio_to_torch", ratios)
    say("cpu_ms", [1000 * each for each in ours], "ms")
    say("cpu_ms", [1000 * each for each in theirs], "ms", "torch")
    say("peak_over_estimate", [peak / estimate])
    say("peak_mib", [peak / MIB], "MiB")


def memory(case: object) -> tuple[int, int]:
    """Bytes that a run had at most, inputs from their first use to their last, and as foretold."""
    from opgraph.executor import execute
    from opgraph.memory import peak_bytes

    graph, arrays, threads = case.model.graph, case.arrays, case.threads
    sources = {name: array.copy for name, array in arrays.items()}
    gc.collect()
    tracemalloc.start()
    try:
        execute(graph, sources, threads=threads)
        return tracemalloc.get_traced_memory()[1], peak_bytes(graph)
    finally:
        tracemalloc.stop()


def times(
    ours: Callable[[], object], theirs: Callable[[], object], turns: int
) -> tuple[list[float], list[float]]:
    """Processor seconds of one call, by turn."""
    calls = [max(1, round(TURN_SECONDS / seconds(each, 2))) for each in (ours, theirs)]
    found: tuple[list[float], list[float]] = ([], [])
    for turn in range(turns):
        for which in (0, 1) if turn % 2 else (1, 0):
            found[which].append(seconds((ours, theirs)[which], calls[which]))
    return found


def seconds(call: Callable[[], object], number: int) -> float:
    """Processor seconds of this process for one of `number` calls."""
    started = time.process_time()
    for _ in range(number):
        call()
    return (time.process_time() - started) / number


if __name__ == "__main__":
    sys.exit(main())
