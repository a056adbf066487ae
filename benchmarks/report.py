"""What every benchmark shares: the line it prints, and the meter of other processes' load.

A benchmark prints one JSON object per line and nothing else on standard output; progress goes to
standard error (`progress`). Where the environment names a folder in BENCH_RECORDS, the lines of the
last run of each benchmark are kept there; `python -m benchmarks.report` makes
`docs/benchmarks.md` of them."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

RECORDS = "BENCH_RECORDS"
_begun: set[str] = set()
_PROC = Path("/proc")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def line(
    bench: str,
    case: str,
    metric: str,
    value: float,
    *,
    unit: str = "",
    system: str = "gpugoblin",
    samples: Sequence[float] = (),
    foreign_load: float = 0.0,
) -> None:
    """Print one measured figure. `foreign_load` is in cores, `unit` is empty for a pure number."""
    record = {
        "bench": bench,
        "case": case,
        "system": system,
        "metric": metric,
        "value": _rounded(value),
        "unit": unit,
        "samples": [_rounded(sample) for sample in (samples or (value,))],
        "foreign_load": round(foreign_load, 3),
    }
    text = json.dumps(record, allow_nan=False)
    print(text, flush=True)
    if RECORDS in os.environ:
        _keep(Path(os.environ[RECORDS]), bench, text)


def _keep(folder: Path, bench: str, text: str) -> None:
    """Append a line; the first one of this process replaces the last run."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{bench}.jsonl").open("a" if bench in _begun else "w") as file:
        file.write(text + "\n")
    _begun.add(bench)


def progress(text: str) -> None:
    """Tell a person what is going on, on standard error."""
    print(text, file=sys.stderr, flush=True)


def median(samples: Iterable[float]) -> float:
    """The median of at least one sample; the mean of the middle two when their number is even."""
    return float(statistics.median(samples))


class ForeignLoad:
    """CPU use of other processes, in cores, while a `with` block runs.

    Own are this process and all its descendants, and `roots` (process ids) with theirs.
    `cores` holds the figure after the block; 0.0 where the machine has no /proc."""

    def __init__(self, roots: Iterable[int] = ()) -> None:
        self.cores = 0.0
        self._roots = {os.getpid(), *roots}
        self._start = (0.0, 0.0, 0.0)

    def __enter__(self) -> ForeignLoad:
        self._start = self._now()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        clock, busy, own = (
            end - start for end, start in zip(self._now(), self._start, strict=True)
        )
        self.cores = max(0.0, busy - own) / clock if clock > 0 else 0.0

    def _now(self) -> tuple[float, float, float]:
        return time.monotonic(), machine_cpu_seconds(), tree_cpu_seconds(self._roots)


def machine_cpu_seconds() -> float:
    """CPU seconds that the machine was busy since it started, all cores together."""
    try:
        fields = (_PROC / "stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return 0.0
    user, nice, system, _idle, _iowait, irq, softirq = (int(field) for field in fields[1:8])
    return (user + nice + system + irq + softirq) / _TICKS_PER_SECOND


def tree_cpu_seconds(roots: Iterable[int]) -> float:
    """CPU seconds of the processes `roots` and all descendants, reaped ones included."""
    times = _process_times()
    own = set(roots)
    grown = True
    while grown:
        children = {pid for pid, (parent, _) in times.items() if parent in own} - own
        own |= children
        grown = bool(children)
    return sum(times[pid][1] for pid in own if pid in times)


def _process_times() -> dict[int, tuple[int, float]]:
    """Process id -> (parent's id, CPU seconds with those of reaped children)."""
    times: dict[int, tuple[int, float]] = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:  # the process ended meanwhile
            continue
        # The command's name, in parentheses, may hold spaces and parentheses itself.
        fields = text.rpartition(")")[2].split()
        ticks = sum(int(field) for field in fields[11:15])
        times[int(folder.name)] = (int(fields[1]), ticks / _TICKS_PER_SECOND)
    return times


def _rounded(value: float) -> float:
    """Six significant digits: more would be noise."""
    return float(f"{value:.6g}")


if __name__ == "__main__":
    from benchmarks.table import main

    sys.exit(main())
