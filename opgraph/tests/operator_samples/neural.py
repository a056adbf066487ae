"""Samples of activations and their gradients, in `longdouble`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Draw, Sample, case, elementwise, large

INF, NAN = math.inf, math.nan
HALF = numpy.longdouble(1) / 2
PI = numpy.longdouble("3.14159265358979323846264338327950288")


def sigmoid(x: Any) -> Any:
    return 1 / (1 + numpy.exp(-x))


def normal(x: Any) -> Any:
    """The distribution function; erf is exact to float64 only, which is enough for float32."""
    erf = numpy.vectorize(lambda v: math.erf(v), otypes=[numpy.longdouble])
    return HALF * (1 + erf(x * numpy.sqrt(HALF)))


def density(x: Any) -> Any:
    return numpy.exp(-x * x / 2) / numpy.sqrt(2 * PI)


def bent(x: Any) -> Any:
    return numpy.tanh(numpy.sqrt(2 / PI) * (x + numpy.longdouble(0.044715) * x**3))


def gelu_tanh_slope(x: Any) -> Any:
    inner = numpy.sqrt(2 / PI) * (1 + 3 * numpy.longdouble(0.044715) * x * x)
    return HALF * (1 + bent(x)) + HALF * x * (1 - bent(x) ** 2) * inner


def one(exact: Callable[..., Any], *edges: tuple[float, float], attributes: Any = None) -> Sample:
    tried = tuple((case("float32", [x], **(attributes or {})), ([y],)) for x, y in edges)
    given = (lambda _draw: attributes) if attributes else None
    return Sample(elementwise(attributes=given), exact, large(**(attributes or {})), tried)


def two(
    exact: Callable[..., Any], *, low: float = -4.0, high: float = 4.0, attributes: Any = None
) -> Sample:
    given: Callable[[Draw], Any] | None = (lambda _draw: attributes) if attributes else None
    return Sample(elementwise(low, high, given), exact, large(arity=2, **(attributes or {})))


SLOPE, ALPHA = {"slope": 0.25}, {"alpha": 1.5}

SAMPLES = {
    "relu": one(lambda x: numpy.maximum(x, 0), (NAN, NAN), (INF, INF), (-INF, 0.0)),
    "leaky_relu": one(
        lambda x, slope: numpy.where(x > 0, x, slope * x), (NAN, NAN), (-8, -2), attributes=SLOPE
    ),
    "elu": one(
        lambda x, alpha: numpy.where(x > 0, x, alpha * numpy.expm1(x)),
        (NAN, NAN),
        (-INF, -1.5),
        attributes=ALPHA,
    ),
    "sigmoid": one(sigmoid, (NAN, NAN), (INF, 1), (-INF, 0.0)),
    "silu": one(lambda x: x * sigmoid(x), (NAN, NAN), (INF, INF), (-INF, NAN)),
    "softplus": one(lambda x: numpy.log1p(numpy.exp(x)), (NAN, NAN), (INF, INF), (-INF, 0.0)),
    "gelu": one(lambda x: x * normal(x), (NAN, NAN), (INF, INF), (-INF, NAN)),
    "gelu_tanh": one(lambda x: x * HALF * (1 + bent(x)), (NAN, NAN), (INF, INF), (-INF, NAN)),
    "relu_backward": two(lambda g, x: numpy.where(x > 0, g, 0)),
    "leaky_relu_backward": two(
        lambda g, x, slope: numpy.where(x > 0, g, slope * g), attributes=SLOPE
    ),
    "elu_backward": two(
        lambda g, x, alpha: numpy.where(x > 0, g, alpha * numpy.exp(x) * g), attributes=ALPHA
    ),
    "sigmoid_backward": two(lambda g, y: g * y * (1 - y), low=0, high=1),
    "tanh_backward": two(lambda g, y: g * (1 - y * y), low=-1, high=1),
    "silu_backward": two(lambda g, x: g * sigmoid(x) * (1 + x * (1 - sigmoid(x)))),
    "softplus_backward": two(lambda g, x: g * sigmoid(x)),
    "gelu_backward": two(lambda g, x: g * (normal(x) + x * density(x))),
    "gelu_tanh_backward": two(lambda g, x: g * gelu_tanh_slope(x)),
}
