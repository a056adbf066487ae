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
from typing import Any

_PACKAGES = ("numpy", "dask", "distributed", "psycopg", "gunicorn")
_COLUMNS = "| case | system | metric | value | unit | lowest to highest | foreign load |"

Line = dict[str, Any]


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
        yield from (_row(json.loads(text)) for text in run.read_text().splitlines())


def _row(line: Line) -> str:
    samples = line["samples"]
    spread = f"{min(samples):g} to {max(samples):g}" if len(samples) > 1 else ""
    cells = (
        line["case"],
        line["system"],
        line["metric"],
        f"{line['value']:g}",
        line["unit"],
        spread,
        f"{line['foreign_load']:g}",
    )
    return f"| {' | '.join(cells)} |"


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
