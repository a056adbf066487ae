"""Orders of summation that honest machines use, all within what the graph prescribes."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.verification.data import Array, product

_FLUSH_SOURCE = """
#include <xmmintrin.h>
/* Results (0x8000) and operands (0x0040) that are subnormal count as zero. */
void flush_to_zero(void) { _mm_setcsr(_mm_getcsr() | 0x8040); }
"""


def blas(a: Array, b: Array, slice_cuts: list[int]) -> Array:
    """BLAS, slice by slice."""
    return product(a, b, slice_cuts)


def sequential(a: Array, b: Array, slice_cuts: list[int]) -> Array:
    """One term after the other within a slice: the least exact order."""
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for start, end in pairwise(slice_cuts):
        partial = np.zeros_like(total)
        for k in range(start, end):
            partial += a[:, k, None] * b[k]
        total += partial
    return total


def sequential_flushed(a: Array, b: Array, slice_cuts: list[int]) -> Array:
    """`sequential` on a machine that reads and writes subnormal numbers as zero."""
    tiny = np.finfo(a.dtype).smallest_normal

    def flush(values: Array) -> Array:
        return np.where(np.abs(values) < tiny, values.dtype.type(0), values)

    left, right = flush(a), flush(b)
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for start, end in pairwise(slice_cuts):
        partial = np.zeros_like(total)
        for k in range(start, end):
            partial = flush(partial + flush(left[:, k, None] * right[k]))
        total = flush(total + partial)
    return total


def einsum(a: Array, b: Array, slice_cuts: list[int]) -> Array:
    """numpy's own loops, which follow the processor's vector width."""
    total = np.zeros((a.shape[0], b.shape[1]), a.dtype)
    for start, end in pairwise(slice_cuts):
        columns = np.ascontiguousarray(b[start:end].T)
        total += np.einsum("ik,jk->ij", a[:, start:end], columns, optimize=False)
    return total


def by_rows(a: Array, b: Array, slice_cuts: list[int]) -> Array:
    """Matrix times vector, row by row: another BLAS routine."""
    return np.concatenate([product(a[i : i + 1], b, slice_cuts) for i in range(len(a))])


SUMS: dict[str, Callable[[Array, Array, list[int]], Array]] = {
    "blas": blas,
    "sequential": sequential,
    "einsum": einsum,
    "rows": by_rows,
}


def build_flush_library(folder: Path) -> Path | None:
    """A library that switches this thread to flush-to-zero; None where none can be compiled."""
    source, library = folder / "flush.c", folder / "flush.so"
    source.write_text(_FLUSH_SOURCE)
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(source)]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return library


def flush_to_zero(library: Path) -> None:
    """From now on subnormal numbers count as zero in this thread."""
    ctypes.CDLL(str(library)).flush_to_zero()
