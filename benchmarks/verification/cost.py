"""What the check costs, in CPU time, against the product that it checks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

import numpy as np

from benchmarks import report
from benchmarks.verification.data import Array
from opgraph.catalogue.integer_products import add_product, product_scratch
from opgraph.tensors import INTEGERS
from opgraph.verification import ArrayReader
from opgraph.verification.choosing import BlockCheck, check_for
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
        yield 256, "int32", 1
        return
    for size, samples in ((1024, 5), (2048, 5), (4096, 3), (8192, 3)):
        yield size, "float32", samples
    for size, samples in ((1024, 5), (2048, 3), (4096, 2)):
        yield size, "float64", samples
    for dtype in ("int8", "int32", "int64"):
        for size, samples in ((1024, 5), (2048, 3)):
            yield size, dtype, samples


def _measure(size: int, dtype: str, samples: int) -> None:
    a, b = (_numbers(size, dtype, seed) for seed in range(2))
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


def _numbers(size: int, dtype: str, seed: int) -> Array:
    """Normal numbers; of integers all that there are, whose products wrap."""
    rng = np.random.default_rng([size, seed])
    if dtype in INTEGERS:
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, (size, size), dtype, endpoint=True)
    return np.asarray(rng.standard_normal((size, size))).astype(dtype)


def _product(a: Array, b: Array) -> Array:
    """As a client computes it in one piece."""
    if a.dtype.name not in INTEGERS:
        return np.asarray(a @ b)
    result = np.zeros((len(a), b.shape[1]), a.dtype)
    scratch = np.empty(product_scratch(*a.shape, b.shape[1]), np.uint8)
    add_product(result, a, b, scratch, lambda: None)
    return result


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
            seconds, result = _timed(lambda: _product(self._a, self._b))
        self.products.append(seconds)
        preparation, checks = _timed(self._prepare)
        tiles = [_timed_tile(check, rows, result) for check in checks for rows in self._rows()]
        self.checks.append(preparation + sum(tiles))
        self.tiles.append(report.median(tiles))

    def _rows(self) -> Iterator[tuple[int, int]]:
        return pairwise(self._cuts)

    def _prepare(self) -> Sequence[BlockCheck]:
        a, b = ArrayReader(self._a), ArrayReader(self._b)
        return check_for(self._a.dtype.name).prepare_all(_SECRET, self._cuts, self._cuts, a, b)


def _timed_tile(check: BlockCheck, rows: tuple[int, int], result: Array) -> float:
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
