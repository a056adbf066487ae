"""Whether the executor computes what PyTorch does in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

NEAR = 1e-5
"""Of the largest element of a tensor: how far float32 may be off."""

NEAR_OF_ALL = 1e-6
"""The same of the largest gradient of the model: a gradient may be 0 but for roundings."""

SEEDS = range(5)
"""Where an element before a relu lies within rounding of 0, its gradient may rightly be either; so
one set of numbers is not enough to tell that the two differ, and on one of five they must agree."""


def deviation(found: Sequence[Any], wanted: Sequence[Any], gradients: int) -> float:
    """The largest deviation of an output, in tolerances; above 1 is wrong.

    The first output is the scores or the loss, then come so many gradients, then statistics.
    Raises RuntimeError where their number or shapes differ.
    """
    shapes = [[each.shape for each in outputs] for outputs in (found, wanted)]
    if shapes[0] != shapes[1]:
        raise RuntimeError(f"The outputs are {shapes[0]}, not {shapes[1]}.")
    everything = max(float(np.abs(each).max()) for each in wanted[: 1 + gradients])
    return max(
        float(np.abs(ours - theirs).max())
        / (NEAR * float(np.abs(theirs).max()) + NEAR_OF_ALL * everything)
        for ours, theirs in zip(found, wanted, strict=True)
    )
