"""Thin products are as exact as the scale of the check says."""

from __future__ import annotations

import numpy as np
import pytest

from opgraph.verification import ArrayReader, ColumnBlockCheck, preparation
from opgraph.verification.left import LeftPass
from opgraph.verification.precision import BLOCK, Array
from opgraph.verification.thin import add_product, strips

from .conftest import SECRET


def multiply(values: Array, vectors: Array) -> Array:
    into = np.zeros((len(values), vectors.shape[1]))
    for rows, part in strips(values.shape):
        add_product(values[rows, part], vectors[part], into[rows])
    return into


@pytest.mark.parametrize("shape", [(1, 1), (3, 255), (70, 256), (65, 2049), (9, 4700)])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_strips_cover_the_product(
    rng: np.random.Generator, shape: tuple[int, int], dtype: str
) -> None:
    wide = rng.standard_normal((shape[0], shape[1] + 9)).astype(dtype)
    values, vectors = wide[:, 4:-5], rng.standard_normal((shape[1], 8)).astype(dtype)
    exact = values.astype("f8") @ vectors.astype("f8")
    error = np.abs(multiply(values, vectors) - exact).max()
    assert error <= 1e-13 * shape[1] if dtype == "f8" else 2e-6 * shape[1] ** 0.5


def test_rounding_of_float32_sums_is_what_the_scale_counts(rng: np.random.Generator) -> None:
    """n/6 roundings for each block of n terms, of the size of the sum's standard deviation."""
    values = rng.standard_normal((400, 8192), dtype="f4")
    signs = rng.choice([-1, 1], (8192, 8)).astype("f4")
    error = multiply(values, signs) - values.astype("f8") @ signs
    spread = np.sqrt(np.square(values.astype("f8")).sum(axis=1))[:, None]
    assert np.sqrt(np.square(error / spread).mean()) < 2**-24 * (BLOCK / 6) ** 0.5


def test_sums_in_float32_are_refused_where_they_would_overflow_or_vanish(
    rng: np.random.Generator,
) -> None:
    a = rng.standard_normal((40, 600), dtype="f4")
    a[3] *= np.float32(1e25)
    a[5] *= np.float32(1e-25)
    a[7] = 0
    a[9, 2] = np.nan
    right = rng.standard_normal((600, 8))
    made = LeftPass(ArrayReader(a), 8, 1, True, None)
    with np.errstate(all="ignore"):
        made.multiply((0, 600), right, np.ones((600, 1)))
    wide = a.astype("f8")
    finite = np.arange(40) != 9
    assert np.allclose(made.z[finite], (wide @ right)[finite], rtol=1e-4, atol=1e-30)
    assert np.allclose(made.squares[finite, 0], np.square(wide).sum(axis=1)[finite], rtol=1e-5)
    with np.errstate(all="ignore"):
        norms = made.norms.log2(600)
    assert norms[7] == -np.inf
    assert norms[9] == np.inf


@pytest.mark.parametrize("where", ["late", "sparse", "infinite"])
def test_columns_that_the_first_rows_do_not_show_are_weighted_as_the_others(
    rng: np.random.Generator, where: str
) -> None:
    a, b = (rng.standard_normal(shape, dtype="f4") for shape in ((30, 700), (700, 40)))
    if where == "late":
        b[600, 11] = 1e8
    elif where == "sparse":
        b[:, 11] = 0
        b[650, 11] = 3
    else:
        b[650, 11] = np.inf
    assert preparation._SAMPLE < 600
    check = ColumnBlockCheck.prepare(SECRET, 0, (0, 40), [0, 700], ArrayReader(a), ArrayReader(b))
    with np.errstate(all="ignore"):
        tile = a @ b
    assert check.verify((0, 30), tile).outcome == "accept"
    norms = np.linalg.norm(b.astype("f8"), axis=0)
    used = np.isfinite(norms)
    assert (np.abs(np.log2(check.state.weights[used] * norms[used])) < 2.5).all()
    tile[:, 12] = 0
    assert check.verify((0, 30), tile).outcome == "convict"
