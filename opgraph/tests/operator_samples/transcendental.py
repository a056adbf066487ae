"""Samples of elementary functions; the exact value is numpy's in `longdouble`."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from operator_samples.sample import Sample, case, elementwise, large

INF, NAN = math.inf, math.nan


def function(
    exact: Callable[..., Any],
    low: float = -4.0,
    high: float = 4.0,
    *,
    edges: Sequence[tuple[float, ...]] = (),
    arity: int = 1,
) -> Sample:
    """`edges`: operands, then the result."""
    tried = tuple(
        (case(dtype, *([each] for each in edge[:-1])), ([edge[-1]],))
        for edge in [*edges, (*(NAN,) * arity, NAN)]
        for dtype in ("float32", "float64")
    )
    return Sample(elementwise(low, high), exact, large(arity=arity), tried)


SAMPLES = {
    "sqrt": function(numpy.sqrt, 0, 100, edges=[(-1, NAN), (-0.0, -0.0), (INF, INF)]),
    "rsqrt": function(
        lambda x: 1 / numpy.sqrt(x),
        0.01,
        100,
        edges=[(-1, NAN), (0.0, INF), (-0.0, -INF), (INF, 0.0)],
    ),
    "cbrt": function(numpy.cbrt, edges=[(-INF, -INF), (-0.0, -0.0)]),
    "exp": function(numpy.exp, -30, 30, edges=[(-INF, 0.0), (INF, INF), (0.0, 1.0)]),
    "exp2": function(numpy.exp2, -30, 30, edges=[(-INF, 0.0), (INF, INF)]),
    "expm1": function(numpy.expm1, edges=[(-INF, -1), (-0.0, -0.0)]),
    "log": function(numpy.log, 0, 9, edges=[(0.0, -INF), (-0.0, -INF), (-1, NAN), (INF, INF)]),
    "log2": function(numpy.log2, 0, 9, edges=[(0.0, -INF), (-1, NAN)]),
    "log10": function(numpy.log10, 0, 9, edges=[(0.0, -INF), (-1, NAN)]),
    "log1p": function(numpy.log1p, -1, 9, edges=[(-1, -INF), (-2, NAN), (-0.0, -0.0)]),
    "sin": function(numpy.sin, -100, 100, edges=[(INF, NAN), (-INF, NAN), (-0.0, -0.0)]),
    "cos": function(numpy.cos, -100, 100, edges=[(INF, NAN), (-INF, NAN)]),
    "tan": function(numpy.tan, -100, 100, edges=[(INF, NAN), (-0.0, -0.0)]),
    "asin": function(numpy.arcsin, -1, 1, edges=[(2, NAN), (-2, NAN), (-0.0, -0.0)]),
    "acos": function(numpy.arccos, -1, 1, edges=[(2, NAN), (-2, NAN)]),
    "atan": function(numpy.arctan, -9, 9, edges=[(-0.0, -0.0)]),
    "atan2": function(numpy.arctan2, edges=[(0.0, 1, 0.0), (-0.0, 1, -0.0)], arity=2),
    "sinh": function(numpy.sinh, edges=[(-INF, -INF), (-0.0, -0.0)]),
    "cosh": function(numpy.cosh, edges=[(-INF, INF)]),
    "tanh": function(numpy.tanh, edges=[(INF, 1), (-INF, -1), (-0.0, -0.0)]),
    "asinh": function(numpy.arcsinh, -50, 50, edges=[(-INF, -INF), (-0.0, -0.0)]),
    "acosh": function(numpy.arccosh, 1, 50, edges=[(0.5, NAN)]),
    "atanh": function(numpy.arctanh, -1, 1, edges=[(1, INF), (-1, -INF), (2, NAN), (-0.0, -0.0)]),
    "hypot": function(numpy.hypot, edges=[(INF, NAN, INF), (NAN, -INF, INF)], arity=2),
    "pow": function(
        numpy.power,
        0.01,
        4,
        edges=[(NAN, 0.0, 1), (1, NAN, 1), (-2, 0.5, NAN), (-2, 3, -8), (0.0, -1, INF)],
        arity=2,
    ),
    "logaddexp": function(numpy.logaddexp, -20, 20, edges=[(-INF, -INF, -INF)], arity=2),
    "erf": function(
        numpy.vectorize(lambda x: numpy.longdouble(math.erf(x)), otypes=[numpy.longdouble]),
        -7,
        7,
        edges=[(INF, 1), (-INF, -1), (-0.0, -0.0)],
    ),
}
