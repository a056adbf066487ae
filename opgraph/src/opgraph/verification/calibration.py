"""How far an honest but unlucky order of summation strays on this data.

Four rows by 32 columns are summed one term after the other in the format of the product, the
worst order that honest machines use, and compared with a better sum. The square-root law that the
acceptance threshold follows fails on structured data (constant, one-signed); the measured factor
makes up for that."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from opgraph.verification.precision import Array, Precision, relative_scale
from opgraph.verification.vectors import Draws

ROWS, COLUMNS = 4, 32
LEAST_FACTOR, SAFETY = 4.0, 6.0
_BETTER = {4: np.float64, 8: np.longdouble}


class Calibration:
    """Sums that grow while B streams by; one per column block."""

    def __init__(
        self,
        draws: Draws,
        rows: int,
        eligible: Array,
        slice_cuts: Sequence[int],
        precision: Precision,
    ) -> None:
        """`eligible`: columns of the block with finite, non-zero data."""
        self.rows = draws.choice("calibration rows", rows, ROWS)
        self.columns = eligible[draws.choice("calibration columns", len(eligible), COLUMNS)]
        self._cuts = slice_cuts
        self._precision = precision
        pairs = len(self.rows) * len(self.columns)
        self._better = _BETTER[precision.dtype.itemsize]
        self._partial = np.zeros(pairs, dtype=precision.dtype)
        self._total = np.zeros(pairs, dtype=precision.dtype)
        self._reference = np.zeros(pairs, dtype=self._better)
        self._squares = np.zeros(pairs, dtype=self._better)

    def add(self, a_rows: Array, b_rows: Array, first: int) -> None:
        """Terms first..first+t of K: `a_rows` is 4 x t, `b_rows` t x 32 (the drawn ones)."""
        end = first + len(b_rows)
        inner = [cut for cut in self._cuts if first < cut < end]
        for start, stop in zip([first, *inner], [*inner, end], strict=True):
            part = slice(start - first, stop - first)
            self._add_within_slice(a_rows[:, part], b_rows[part])
            if stop in self._cuts:
                self._total += self._partial
                self._partial[:] = 0

    def _add_within_slice(self, a_rows: Array, b_rows: Array) -> None:
        if not (b_rows.size and a_rows.size):
            return
        left = np.ascontiguousarray(a_rows.T)
        terms = (left[:, :, None] * b_rows[:, None, :]).reshape(len(b_rows), -1)
        terms[0] += self._partial
        # Along the outer axis numpy adds one row after the other.
        self._partial[:] = np.add.reduce(terms, axis=0)
        better = a_rows.astype(self._better), b_rows.astype(self._better)
        self._reference += np.matmul(*better).ravel()
        self._squares += np.matmul(*map(np.square, better)).ravel()

    def factor(self) -> float:
        """c = max(4, 6 q), q the largest |error| / scale of the entries that stayed finite."""
        precision = self._precision
        scale = relative_scale(self._cuts, 1, precision) * np.hypot(
            self._reference, np.sqrt(self._squares)
        )
        error = np.abs(self._total - self._reference)
        ratios = (error / (scale + self._cuts[-1] * precision.tiny)).astype(np.float64)
        return max(LEAST_FACTOR, SAFETY * float(ratios[np.isfinite(ratios)].max(initial=0.0)))
