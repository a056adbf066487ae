"""How often the check accuses, or needlessly repairs, an honest machine.

A row is repaired when our own values take its place, for whatever reason."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import report
from benchmarks.verification import machines, sums
from benchmarks.verification.data import KINDS, Array, Case
from opgraph.verification import ArrayReader, ColumnBlockCheck, TileCheck

_SECRET = b"honest machines are not accused!"
_LONG_KINDS = ("normal", "one-signed", "constant")


def cases(quick: bool) -> list[Case]:
    """Every kind of data in both dtypes; a K of 1, of 8 and of 65,536 beside an ordinary one."""
    if quick:
        shapes = [("float32", (65, 300, 70)), ("float64", (33, 300, 40))]
        return [Case(kind, shape, dtype) for dtype, shape in shapes for kind in KINDS]
    ordinary = [("float32", (256, 3000, 224)), ("float64", (128, 2500, 112))]
    found = [Case(kind, shape, dtype) for dtype, shape in ordinary for kind in KINDS]
    for dtype in ("float32", "float64"):
        found += [Case(kind, (300, 1, 200), dtype) for kind in KINDS]
        found += [Case(kind, (300, 8, 1024), dtype) for kind in KINDS]
        found += [Case(kind, (48, 65536, 40), dtype) for kind in _LONG_KINDS]
    return [*found, Case("normal", (1024, 2048, 1024), "float32")]


class _Tally:
    """What became of the tiles of one machine or one kind of data."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def add(self, rows: int, judged: TileCheck) -> None:
        self.counts["tiles"] += 1
        self.counts["rows"] += rows
        self.counts["repaired"] += len(judged.repaired)
        self.counts[judged.outcome] += 1

    def lines(self, case: str, foreign_load: float) -> None:
        self._line(case, "honest_convicted", self.counts["convict"], "tiles", foreign_load)
        self._line(case, "honest_reissued", self.counts["reissue"], "tiles", foreign_load)
        repaired = self.counts["repaired"] / self.counts["rows"]
        self._line(case, "honest_repaired", repaired, "share of rows", foreign_load)

    def _line(self, case: str, metric: str, value: float, unit: str, load: float) -> None:
        report.line("verification", case, metric, value, unit=unit, foreign_load=load)


class _Judge:
    """Checks prepared once per case; the same bytes are judged once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._checks: dict[str, ColumnBlockCheck] = {}
        self._known: dict[bytes, TileCheck] = {}

    def store(self, case: Case) -> None:
        a, b = case.operands()
        np.save(self._folder / f"{case.name}.a.npy", a)
        np.save(self._folder / f"{case.name}.b.npy", b)
        (self._folder / f"{case.name}.cuts").write_text(json.dumps(case.slice_cuts))
        readers = ArrayReader(a), ArrayReader(b)
        columns = (0, case.shape[2])
        self._checks[case.name] = ColumnBlockCheck.prepare(
            _SECRET, 0, columns, case.slice_cuts, *readers
        )

    def judge(self, case: Case, tile: Array) -> TileCheck:
        key = hashlib.blake2b(case.name.encode() + tile.tobytes()).digest()
        if key not in self._known:
            self._known[key] = self._checks[case.name].verify((0, case.shape[0]), tile)
        return self._known[key]


def measure(quick: bool) -> None:
    """Print one set of lines per machine, per kind of data, and for all together."""
    with tempfile.TemporaryDirectory(prefix="gpugoblin-bench-") as name:
        folder = Path(name)
        judge, chosen = _Judge(folder), cases(quick)
        report.progress(f"preparing {len(chosen)} products")
        for case in chosen:
            judge.store(case)
        _measure(folder, judge, chosen, machines.machines(quick))


def _measure(
    folder: Path, judge: _Judge, chosen: list[Case], candidates: list[machines.Machine]
) -> None:
    library = sums.build_flush_library(folder)
    tallies: dict[str, _Tally] = {}
    with report.ForeignLoad() as load:
        for machine in candidates:
            report.progress(f"honest machine {machine.name}")
            reason = machines.run(machine, folder, [case.name for case in chosen], library)
            if reason is not None:
                report.progress(f"  left out: {reason}")
                continue
            for case, tile in _tiles(folder / machine.name, chosen):
                judged = judge.judge(case, tile)
                for group in (f"machine-{machine.name}", f"{case.kind}-{case.dtype}", "all"):
                    tallies.setdefault(group, _Tally()).add(len(tile), judged)
    for group, tally in tallies.items():
        tally.lines(group, load.cores)


def _tiles(folder: Path, chosen: list[Case]) -> Iterator[tuple[Case, Array]]:
    for case in chosen:
        path = folder / f"{case.name}.npy"
        yield case, np.load(path)
        path.unlink()
