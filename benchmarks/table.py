"""`make bench-report`: the last measured figures, with machine and versions, for people."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

_PACKAGES = ("numpy", "torch", "dask", "distributed", "psycopg", "gunicorn")
_COLUMNS = "| case | system | metric | value | unit | lowest to highest | foreign load |"

_MANY = 4

Line = dict[str, Any]


class Shared(NamedTuple):
    """A figure without its case; `alone` keeps those apart that have a spread."""

    system: str
    metric: str
    value: float
    unit: str
    alone: str


def main(records: Path | None = None, page: Path = Path("docs/benchmarks.md")) -> int:
    """Write the page from the kept lines; 1 when no benchmark has run."""
    folder = records or Path(os.environ.get("BENCH_RECORDS", ".bench"))
    runs = sorted(folder.glob("*.jsonl"))
    if not runs:
        print("No benchmark has run yet; try `make bench-verification`.", file=sys.stderr)
        return 1
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n".join(_page(runs)) + "\n")
    return 0


def _page(runs: list[Path]) -> Iterator[str]:
    yield "# Measured"
    yield ""
    yield "Written by `make bench-report` from the last run of each `make bench-<name>`. `foreign"
    yield "load` is the CPU use of other processes meanwhile, in cores."
    yield ""
    yield from (f"- {text}" for text in machine())
    for run in runs:
        day = time.strftime("%Y-%m-%d", time.gmtime(run.stat().st_mtime))
        yield from ("", f"## {run.stem}", f"Run on {day}.", "", _COLUMNS)
        yield "|---|---|---|---:|---|---|---:|"
        yield from _figures([json.loads(text) for text in run.read_text().splitlines()])


def _figures(lines: list[Line]) -> Iterator[str]:
    """A row each; figures that many cases share are told once below the table."""
    shared: dict[Shared, list[str]] = {}
    for line in lines:
        shared.setdefault(_shared(line), []).append(line["case"])
    often = {figure: cases for figure, cases in shared.items() if len(cases) >= _MANY}
    yield from (_row(line) for line in lines if _shared(line) not in often)
    together: dict[tuple[str, ...], list[str]] = {}
    for figure, cases in often.items():
        text = f"`{figure.metric}` {_number(figure.value)} {figure.unit}".rstrip()
        together.setdefault(tuple(cases), []).append(text)
    for names, figures in together.items():
        yield ""
        yield f"{', '.join(figures)} in each of {len(names)} cases: {', '.join(names)}."


def _shared(line: Line) -> Shared:
    """What lines have in common that differ in nothing but their case."""
    alone = "" if len(line["samples"]) == 1 else line["case"]
    return Shared(line["system"], line["metric"], line["value"], line["unit"], alone)


def _row(line: Line) -> str:
    samples = line["samples"]
    spread = f"{_number(min(samples))} to {_number(max(samples))}" if len(samples) > 1 else ""
    cells = (
        line["case"],
        line["system"],
        line["metric"],
        _number(line["value"]),
        line["unit"],
        spread,
        f"{line['foreign_load']:g}",
    )
    return f"| {' | '.join(cells)} |"


def _number(value: float) -> str:
    """Four digits: what is beyond differs from run to run."""
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def machine() -> list[str]:
    """Processor, memory, system and versions."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"{_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        ", ".join(_versions()),
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _versions() -> Iterator[str]:
    for name in _PACKAGES:
        try:
            yield f"{name} {version(name)}"
        except PackageNotFoundError:
            continue
