"""Products to be checked, small enough for a test."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from opgraph.verification import ArrayReader, ColumnBlockCheck

SECRET = bytes(range(32))

Prepare = Callable[..., ColumnBlockCheck]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260101)


@pytest.fixture
def prepare() -> Prepare:
    """Prepare a check of all columns of a @ b, in one slice unless told otherwise."""

    def make(
        a: NDArray[np.floating],
        b: NDArray[np.floating],
        *,
        secret: bytes = SECRET,
        slice_cuts: list[int] | None = None,
        vectors: int = 8,
        generation: int = 0,
    ) -> ColumnBlockCheck:
        cuts = slice_cuts or [0, a.shape[1]]
        readers = ArrayReader(a), ArrayReader(b)
        columns = (0, b.shape[1])
        return ColumnBlockCheck.prepare(
            secret, 0, columns, cuts, *readers, vectors=vectors, generation=generation
        )

    return make
