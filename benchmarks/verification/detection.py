"""What the check misses: wrong answers of every kind on every kind of data."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import report
from benchmarks.verification import cheats, sums
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
    "subnormal-products",
)


def used(tile: Array, judged: TileCheck) -> Array | None:
    """What a lab would keep of the tile; None when it is rejected."""
    if judged.outcome in ("reissue", "convict"):
        return None
    kept = tile.copy()
    for row, values in judged.repaired.items():
        kept[row] = values
    return kept


@dataclass(frozen=True)
class Truth:
    """The product, exact enough not to overflow, and what honest machines may make of it.

    `may_overflow`: the terms of one sign pass the largest number, so that some order of summation
    does; `infinities`: the most that honest orders made of finite entries; `flushed`: the tile of
    a machine that flushes subnormal numbers to zero."""

    values: Array
    may_overflow: Array
    infinities: int
    flushed: Array


def find_truth(a: Array, b: Array, slice_cuts: list[int]) -> Truth:
    with np.errstate(all="ignore"):
        wide = a.astype(np.longdouble), b.astype(np.longdouble)
        values = wide[0] @ wide[1]
        one_sign = (np.abs(wide[0]) @ np.abs(wide[1]) + np.abs(values)) / 2
        orders = [sums.SUMS[name](a, b, slice_cuts) for name in ("blas", "sequential", "einsum")]
        largest = np.finfo(a.dtype).max
        finite = np.abs(values) < largest
        lost = [int((finite & ~np.isfinite(order)).sum()) for order in orders]
        flushed = sums.sequential_flushed(a, b, slice_cuts)
        return Truth(values, ~(one_sign < largest * (1 - 1e-3)), max(lost), flushed)


def is_wrong(kept: Array, truth: Truth, hidden: Array) -> bool:
    """Whether an entry is off by more than the check can miss, or not finite where it must be.

    An entry at the edge of overflow may be either; so may one whose partial sums can overflow,
    but of these no more than about what honest orders make."""
    largest = np.finfo(kept.dtype).max
    with np.errstate(all="ignore"):
        finite = np.abs(truth.values) < largest * (1 - 1e-3)
        excess = np.abs(kept.astype(truth.values.dtype) - truth.values) > hidden
        infinite = finite & ~np.isfinite(kept)
        edge = np.abs(truth.values) < largest * (1 + 1e-3)
        lost = ~finite & ~edge & np.isfinite(kept)
    bad = (finite & excess & np.isfinite(kept)) | (infinite & ~truth.may_overflow) | lost
    return bool(bad.any()) or int(infinite.sum()) > 2 * truth.infinities + 5


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
        self.truth = find_truth(a, b, case.slice_cuts)
        with np.errstate(all="ignore"):
            squares = (np.square(each.astype(np.longdouble)) for each in (a, b))
            spread = np.sqrt(np.matmul(*squares))
            scale = np.hypot(self.truth.values, spread)
        hidden = cheats.hidden_sizes(self.check, scale)
        rng = np.random.default_rng(7)
        self.task = cheats.Task(a, b, case.slice_cuts, right, hidden, rng)

    def judge(self, tile: Array) -> TileCheck:
        return self.check.verify((0, self.case.shape[0]), tile)

    def answer(self, cheat: cheats.Cheat, seed: int) -> Array:
        with np.errstate(all="ignore"):
            return cheat(replace(self.task, rng=np.random.default_rng(seed)))

    def is_honest(self, tile: Array) -> bool:
        """Whether an honest machine gives these very bytes: zeros for subnormal numbers are what
        a machine that flushes them to zero computes."""
        same = tile.dtype == self.task.right.dtype and np.array_equal(tile, self.truth.flushed)
        return bool(same)

    def missed(self, tile: Array) -> tuple[bool, TileCheck]:
        """Whether a wrong number of this answer would be used, and what the check said."""
        judged = self.judge(tile)
        if self.is_honest(tile):
            return False, judged
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
    same: Counter[str] = Counter()
    with report.ForeignLoad() as load:
        for dtype, shape in shapes.items():
            for kind in kinds:
                report.progress(f"cheats on {kind} {dtype}")
                _try_all(Product(Case(kind, shape, dtype)), 3 if quick else 8, missed, tries, same)
    for name in cheats.CHEATS:
        _line(f"cheat-{name}", "cheats_missed", missed[name], f"of {tries[name]}", load.cores)
    total = sum(missed.values())
    _line("all", "cheats_missed", total, f"of {sum(tries.values())}", load.cores)
    _line("all", "same_bytes_as_honest", sum(same.values()), "answers", load.cores)
    _measure_pairs(1 << 11 if quick else 1 << 14)


def _try_all(
    item: Product, trials: int, missed: Counter[str], tries: Counter[str], same: Counter[str]
) -> None:
    for name, cheat in cheats.CHEATS.items():
        for seed in range(trials):
            tile = item.answer(cheat, seed)
            if item.is_honest(tile):
                same[name] += 1
                continue
            missed[name] += item.missed(tile)[0]
            tries[name] += 1


def _measure_pairs(trials: int) -> None:
    case = Case("normal", (256, 1024, 256), "float32")
    for vectors in (8, 20, 40):
        with report.ForeignLoad() as load:
            passed = missed_pairs(Product(case, vectors), trials)
        name = f"pair-in-a-row-{vectors}-vectors"
        _line(name, "pairs_missed", passed / trials, f"of {trials}", load.cores)
        _line(name, "pairs_missed_by_formula", 2.0**-vectors, "", load.cores)


def _line(case: str, metric: str, value: float, unit: str, load: float) -> None:
    report.line("verification", case, metric, value, unit=unit, foreign_load=load)
