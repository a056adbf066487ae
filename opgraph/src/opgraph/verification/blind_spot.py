"""What a check can't see, as figures and as a sentence for plans and receipts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike

from opgraph.verification.calibration import LEAST_FACTOR
from opgraph.verification.precision import Precision, relative_scale
from opgraph.verification.product import VECTORS, ColumnBlockCheck
from opgraph.verification.regions import REGULAR


@dataclass(frozen=True)
class BlindSpot:
    """The size of a single wrong entry that the check can miss.

    `factor`: c. `relative`: in units of the typical entry of its row (median over rows).
    `absolute`: the largest over all rows and columns, in the product's own unit; None in a plan,
    where the data are not known. `vectors`: errors that cancel in a row are missed with
    probability 2^-vectors. `tiny`: numbers below it may have been flushed to zero."""

    factor: float
    relative: float
    absolute: float | None
    vectors: int
    tiny: float

    @property
    def sentence(self) -> str:
        """For plans, reports and receipts."""
        size = f"{self.relative:.1e} of the typical entry of its row"
        if self.absolute is not None:
            size += f", at most {self.absolute:.1e}"
        return (
            f"A single wrong entry can hide up to {size} (c = {self.factor:.1f}); errors that "
            f"cancel within a row escape with probability 2^-{self.vectors}; numbers below "
            f"{self.tiny:.1e} may have been flushed to zero."
        )


def blind_spot(check: ColumnBlockCheck) -> BlindSpot:
    """Of a prepared check. A hidden error d in entry (i, j) satisfies |d| w_j <= 2 c base_i:

    once c base_i for the threshold, once for the honest rounding that it may cancel."""
    rows, columns = check.state.regions.rows == REGULAR, check.state.regions.columns == REGULAR
    vectors, tiny = check.state.signs.shape[1], check.state.precision.tiny
    if not (rows.any() and columns.any()):
        return BlindSpot(check.state.factor, _direct(check), None, vectors, tiny)
    hidden = 2 * check.state.factor * check.state.scale[rows]
    typical = np.sqrt(np.square(check.state.projection[rows]).mean(axis=1) / columns.sum())
    shares = hidden[typical > 0] / typical[typical > 0]
    relative = float(np.median(shares)) if shares.size else math.inf
    absolute = float(hidden.max() / check.state.weights[columns].min())
    return BlindSpot(check.state.factor, relative, absolute, vectors, tiny)


def _direct(check: ColumnBlockCheck) -> float:
    """Entry by entry comparison: the threshold on one entry."""
    return check.state.factor * relative_scale(check.state.slice_cuts, 1, check.state.precision)


def planned_blind_spot(
    slice_cuts: Sequence[int], columns: int, dtype: DTypeLike, vectors: int = VECTORS
) -> BlindSpot:
    """Before the data are known: for entries of independent random sign and the least c."""
    precision = Precision.of(np.dtype(dtype))
    scale = relative_scale(slice_cuts, columns, precision)
    relative = 2 * LEAST_FACTOR * scale * math.sqrt(2 * columns)
    return BlindSpot(LEAST_FACTOR, relative, None, vectors, precision.tiny)
