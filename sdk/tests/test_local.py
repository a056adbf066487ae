"""The same expression in this process."""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpugoblin import errors, local

sizes = st.integers(0, 6)


@given(sizes, sizes, sizes, st.sampled_from(["float32", "float64"]))
def test_products_are_numpys(m: int, k: int, n: int, dtype: str) -> None:
    chance = numpy.random.default_rng(m * 100 + k * 10 + n)
    a = chance.standard_normal((m, k)).astype(dtype)
    b = chance.standard_normal((k, n)).astype(dtype)
    result = (local.array(a) @ local.array(b)).compute()
    assert result.dtype == a.dtype
    assert numpy.allclose(result, a @ b, atol=1e-5)


def test_special_values_are_numpys() -> None:
    a = numpy.array([[numpy.nan, 1.0], [numpy.inf, -numpy.inf]])
    b = numpy.array([[1.0, 0.0], [2.0, numpy.inf]])
    with numpy.errstate(all="ignore"):
        wanted = a @ b
    assert numpy.array_equal((local.array(a) @ b).compute(), wanted, equal_nan=True)


def test_products_of_products() -> None:
    a = numpy.arange(9.0).reshape(3, 3)
    assert numpy.array_equal((local.array(a) @ a @ a[0]).compute(), a @ a @ a[0])


def test_a_file_of_this_machine(tmp_path: Path) -> None:
    a = numpy.asfortranarray(numpy.arange(12, dtype=">f8").reshape(3, 4))
    numpy.save(tmp_path / "a.npy", a)
    lazy = local.open(tmp_path / "a.npy")
    assert numpy.array_equal((lazy @ numpy.ones(4)).compute(), a @ numpy.ones(4))
    assert numpy.array_equal(lazy.compute(), a)


def test_files_that_are_no_arrays(tmp_path: Path) -> None:
    with pytest.raises(errors.FileMissing):
        local.open(tmp_path / "gone.npy")
    (tmp_path / "text.npy").write_text("hello")
    with pytest.raises(errors.BadArray):
        local.open(tmp_path / "text.npy")
    numpy.save(tmp_path / "objects.npy", numpy.array([{}]), allow_pickle=True)
    with pytest.raises((errors.BadArray, errors.DtypeUnsupported)):
        local.open(tmp_path / "objects.npy")
    whole = tmp_path / "whole.npy"
    numpy.save(whole, numpy.ones(1000))
    whole.write_bytes(whole.read_bytes()[:500])
    with pytest.raises(errors.BadArray):
        local.open(whole)


def test_nothing_is_copied() -> None:
    a = numpy.eye(3)
    lazy = local.array(a)
    a[0, 0] = 5
    assert lazy.compute()[0, 0] == 5


def test_a_job_needs_a_lab() -> None:
    lazy = local.array(numpy.eye(3)) @ numpy.eye(3)
    with pytest.raises(errors.UnsupportedComputation, match=r"gpugoblin\.connect"):
        lazy.submit()
    with pytest.raises(errors.UnsupportedComputation, match="takes no options, not out"):
        lazy.compute(out="x.npy")
