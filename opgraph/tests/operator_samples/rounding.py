"""Samples of rounding."""

from __future__ import annotations

import math

import numpy

from operator_samples.sample import Sample, case, elementwise, large

INF, NAN = math.inf, math.nan
VALUES = [0.5, 1.5, -0.5, 2.5, -1.2, 1.8, -0.0, INF, -INF, NAN]


def rounding(function: numpy.ufunc, *expected: float) -> Sample:
    """Sample of a function with what it makes of `VALUES`."""
    edges = tuple((case(dtype, VALUES), (list(expected),)) for dtype in ("float32", "float16"))
    return Sample(elementwise(), function, large(), edges)


SAMPLES = {
    "floor": rounding(numpy.floor, 0.0, 1, -1, 2, -2, 1, -0.0, INF, -INF, NAN),
    "ceil": rounding(numpy.ceil, 1, 2, -0.0, 3, -1, 2, -0.0, INF, -INF, NAN),
    "trunc": rounding(numpy.trunc, 0.0, 1, -0.0, 2, -1, 1, -0.0, INF, -INF, NAN),
    "round": rounding(numpy.rint, 0.0, 2, -0.0, 2, -1, 2, -0.0, INF, -INF, NAN),
}
