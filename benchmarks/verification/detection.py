"""What the check misses: wrong answers of every kind on every kind of data."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from benchmarks import report
from benchmarks.verification import cheats
from benchmarks.verification.data import Array, Case, product
from opgraph.verification import ArrayReader, ColumnBlockCheck, TileCheck

_SECRET = b"what the cheats do not get to see"[:32]
_KINDS = (
    "normal",
    "one-signed",
    "constant",
    "badly-scaled",
    "one-large-column",
    "cancelling",
    "heavy-tailed",
    "overflowing",
    "non-finite",
    "sparse",
    "subnormal",
)


def used(tile: Array, judged: TileCheck) -> Array | None:
    """What a lab would keep of the tile; None when it is rejected."""
    if judged.outcome in ("reissue", "convict"):
        return None
    kept = tile.copy()
    for row, values in judged.repaired.items():
        kept[row] = values
    return kept


def is_wrong(kept: Array, truth: Array, hidden: Array) -> bool:
    """Whether an entry is off by more than the check can miss, or not finite where it must be.

    `truth` is exact enough not to overflow; an entry at the edge of overflow may be either."""
    largest = np.finfo(kept.dtype).max
    with np.errstate(all="ignore"):
        finite = np.abs(truth) < largest * (1 - 1e-3)
        excess = np.abs(kept.astype(truth.dtype) - truth) > hidden
        bad = finite & (excess | ~np.isfinite(kept))
        edge = np.abs(truth) < largest * (1 + 1e-3)
        lost = ~finite & ~edge & np.isfinite(kept)
    return bool(bad.any() or lost.any())


class Product:
    """A product with its check and its right answer."""

    def __init__(self, case: Case, vectors: int = 8) -> None:
        self.case = case
        a, b = case.operands()
        readers = ArrayReader(a), ArrayReader(b)
        columns = (0, case.shape[2])
        self.check = ColumnBlockCheck.prepare(
            _SECRET, 0, columns, case.slice_cuts, *readers, vectors=vectors
        )
        right = product(a, b, case.slice_cuts)
        with np.errstate(all="ignore"):
            wide = a.astype(np.longdouble), b.astype(np.longdouble)
            self.truth = wide[0] @ wide[1]
            spread = np.sqrt(np.square(wide[0]) @ np.square(wide[1]))
        hidden = cheats.hidden_sizes(self.check, np.hypot(self.truth, spread))
        rng = np.random.default_rng(7)
        self.task = cheats.Task(a, b, case.slice_cuts, right, hidden, rng)

    def judge(self, tile: Array) -> TileCheck:
        return self.check.verify((0, self.case.shape[0]), tile)

    def missed(self, cheat: cheats.Cheat, seed: int) -> tuple[bool, TileCheck]:
        """Whether a wrong number of this cheat would be used, and what the check said."""
        with np.errstate(all="ignore"):
            tile = cheat(replace(self.task, rng=np.random.default_rng(seed)))
        judged = self.judge(tile)
        kept = used(tile, judged)
        # Honest rounding, too, may come on top of what hides.
        allowance = 2 * self.task.hidden
        return kept is not None and is_wrong(kept, self.truth, allowance), judged


def missed_pairs(item: Product, trials: int) -> int:
    """Rows, of `trials` with +d and -d in two columns each, that pass."""
    task, passed = item.task, 0
    for seed in range(-(-trials // item.case.shape[0])):
        rng = np.random.default_rng([seed, 99])
        tile = task.right.copy()
        for row in range(len(tile)):
            first, second = rng.choice(tile.shape[1], 2, replace=False)
            tile[row, first] += 1e3 * task.hidden[row, first]
            tile[row, second] -= 1e3 * task.hidden[row, second]
        ratios = item.check.ratios((0, len(tile)), tile)
        passed += int((ratios <= item.check.state.factor).sum())
    return passed


def measure(quick: bool) -> None:
    """Print how many wrong answers of each kind got through, and how they were met."""
    shapes = {"float32": (128, 2500, 96), "float64": (64, 600, 48)}
    kinds = ("normal", "badly-scaled") if quick else _KINDS
    missed: Counter[str] = Counter()
    tries: Counter[str] = Counter()
    with report.ForeignLoad() as load:
        for dtype, shape in shapes.items():
            for kind in kinds:
                report.progress(f"cheats on {kind} {dtype}")
                _try_all(Product(Case(kind, shape, dtype)), 3 if quick else 8, missed, tries)
    for name in cheats.CHEATS:
        _line(f"cheat-{name}", "cheats_missed", missed[name], f"of {tries[name]}", load.cores)
    total = sum(missed.values())
    _line("all", "cheats_missed", total, f"of {sum(tries.values())}", load.cores)
    _measure_pairs(1 << 11 if quick else 1 << 14)


def _try_all(item: Product, trials: int, missed: Counter[str], tries: Counter[str]) -> None:
    for name, cheat in cheats.CHEATS.items():
        for seed in range(trials):
            got_through, _ = item.missed(cheat, seed)
            missed[name] += got_through
            tries[name] += 1


def _measure_pairs(trials: int) -> None:
    case = Case("normal", (256, 512, 256), "float32")
    for vectors in (8, 20, 40):
        with report.ForeignLoad() as load:
            passed = missed_pairs(Product(case, vectors), trials)
        name = f"pair-in-a-row-{vectors}-vectors"
        _line(name, "pairs_missed", passed / trials, f"of {trials}", load.cores)
        _line(name, "pairs_missed_by_formula", 2.0**-vectors, "", load.cores)


def _line(case: str, metric: str, value: float, unit: str, load: float) -> None:
    report.line("verification", case, metric, value, unit=unit, foreign_load=load)
