"""What the check costs, in CPU time, against the product that it checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import TypeVar

import numpy as np

from benchmarks import report
from benchmarks.verification.data import Array
from opgraph.verification import ArrayReader, ColumnBlockCheck
from opgraph.verification.threads import one_blas_thread

T = TypeVar("T")

_SECRET = bytes(range(32))
_TILE = 2048


def measure(quick: bool) -> None:
    """Print overheads. One BLAS thread for both sides; medians of interleaved samples."""
    for size, dtype, samples in _sizes(quick):
        report.progress(f"cost at {size} {dtype}")
        _measure(size, dtype, samples)


def _sizes(quick: bool) -> Iterator[tuple[int, str, int]]:
    if quick:
        yield 512, "float32", 1
        return
    for size, samples in ((1024, 5), (2048, 5), (4096, 3), (8192, 3)):
        yield size, "float32", samples
    for size, samples in ((1024, 5), (2048, 3), (4096, 2)):
        yield size, "float64", samples


def _measure(size: int, dtype: str, samples: int) -> None:
    rng = np.random.default_rng(size)
    a, b = (rng.standard_normal((size, size), dtype=dtype) for _ in range(2))  # type: ignore[call-overload]
    run = _Run(a, b)
    run.once()  # warms caches and libraries
    with report.ForeignLoad() as load:
        for _ in range(samples):
            run.once()
    name = f"{size}-{dtype}"
    shares = [check / whole for check, whole in zip(run.checks[1:], run.products[1:], strict=True)]
    _line(name, "overhead", shares, "of the product's CPU time", load.cores)
    _line(name, "check_cpu_s", run.checks[1:], "s", load.cores)
    _line(name, "product_cpu_s", run.products[1:], "s", load.cores)
    _line(name, "tile_cpu_ms", [1e3 * tile for tile in run.tiles[1:]], "ms", load.cores)


class _Run:
    """Samples of one size, in CPU seconds; `tiles`: per tile."""

    def __init__(self, a: Array, b: Array) -> None:
        self._a, self._b = a, b
        self._cuts = [*range(0, len(a), _TILE), len(a)]
        self.products: list[float] = []
        self.checks: list[float] = []
        self.tiles: list[float] = []

    def once(self) -> None:
        with one_blas_thread():
            seconds, result = _timed(lambda: self._a @ self._b)
        self.products.append(seconds)
        preparation, checks = _timed(self._prepare)
        tiles = [_timed_tile(check, rows, result) for check in checks for rows in self._rows()]
        self.checks.append(preparation + sum(tiles))
        self.tiles.append(report.median(tiles))

    def _rows(self) -> Iterator[tuple[int, int]]:
        return pairwise(self._cuts)

    def _prepare(self) -> list[ColumnBlockCheck]:
        a, b = ArrayReader(self._a), ArrayReader(self._b)
        return ColumnBlockCheck.prepare_all(_SECRET, self._cuts, self._cuts, a, b)


def _timed_tile(check: ColumnBlockCheck, rows: tuple[int, int], result: Array) -> float:
    tile = np.ascontiguousarray(result[rows[0] : rows[1], slice(*check.columns)])
    seconds, judged = _timed(lambda: check.verify(rows, tile))
    if judged.outcome != "accept":
        raise SystemExit(f"An honest tile was met with: {judged.reason}")
    return seconds


def _timed(call: Callable[[], T]) -> tuple[float, T]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def _line(case: str, metric: str, samples: list[float], unit: str, load: float) -> None:
    value = report.median(samples)
    report.line("verification", case, metric, value, unit=unit, samples=samples, foreign_load=load)
