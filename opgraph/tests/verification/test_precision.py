"""The figures of the formats and the bounds made of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from opgraph.verification.precision import Precision, gamma, relative_scale, summation_terms


def test_float32_has_the_ieee_figures() -> None:
    precision = Precision.of(np.dtype(np.float32))
    assert (precision.unit, precision.tiny, precision.least) == (2**-24, 2**-126, 2**-149)
    assert precision.largest == float(2**128 - 2**104)


def test_byte_order_does_not_matter() -> None:
    assert Precision.of(np.dtype(">f8")) == Precision.of(np.dtype("<f8"))


@pytest.mark.parametrize("dtype", ["float16", "int32", "complex64"])
def test_other_dtypes_are_refused(dtype: str) -> None:
    with pytest.raises(ValueError, match="can't be checked"):
        Precision.of(np.dtype(dtype))


def test_gamma_is_highams_and_infinite_where_it_bounds_nothing() -> None:
    assert gamma(1024, 2**-24) == float(Fraction(1024, 2**24 - 1024))
    assert gamma(2**24, 2**-24) == math.inf


@pytest.mark.parametrize(("cuts", "terms"), [([0, 5], 6), ([0, 2048, 4096, 5000], 2051)])
def test_a_term_meets_its_slice_and_one_addition_per_slice(cuts: list[int], terms: int) -> None:
    assert summation_terms(cuts) == terms


def test_a_k_in_slices_has_the_scale_of_the_roundings_that_a_term_meets() -> None:
    cuts = [*range(0, 65536, 2048), 65536]
    wide, narrow = (Precision.of(np.dtype(name)) for name in ("float64", "float32"))
    own = 2**-53 * (65536**0.5 + 1)
    assert relative_scale(cuts, 1, wide) == pytest.approx(2**-53 * 2079**0.5 + own)
    # Three sums of blocks of 256 terms in float32 beside it.
    assert relative_scale(cuts, 1, narrow) == pytest.approx(2**-24 * (2079 + 128) ** 0.5, rel=1e-6)


def test_the_checks_own_rounding_only_counts_for_float64() -> None:
    narrow, wide = (Precision.of(np.dtype(name)) for name in ("float32", "float64"))
    assert relative_scale([0, 400], 900, narrow) == pytest.approx(20 * narrow.unit, rel=1e-7)
    assert relative_scale([0, 400], 900, wide) == pytest.approx((20 + 20 + 30) * wide.unit)
