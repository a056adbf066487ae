"""The error function, which numpy does not have.

Polynomials through Chebyshev points, made with 50 digits: erf(x) / x in x^2 for |x| < 1, and
erfc(x) exp(x^2) in (x - 2) / (x + 2) up to 6, beyond which erf is 1. They are computed in float64;
those for float32 are off by less than 4e-11, those for float64 by less than rounding.

`normal_share` needs less. In float32 erf(x) is tanh(x p(x^2)) there, with p fitted by weighted
least squares to artanh(erf(x)) / x up to 4, so that erf is off by less than 1e-7 of itself; with
roundings 3 ulp were measured. Beyond, p rises on, and so tanh is 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opgraph.catalogue.attributes import Attributes
from opgraph.catalogue.declaration import Call, Types
from opgraph.tensors import Array

_NEAR = {
    "float32": (
        1.1283791670615435, -0.3761263846802871, 0.11283782495236845, -0.026865430727670243,
        0.005221031807858023, -0.0008484080405535107, 0.00011265959025606609,
        -9.667044571486996e-06,
    ),
    "float64": (
        1.1283791670955126, -0.3761263890318375, 0.11283791670954879, -0.026866170645076792,
        0.0052239776248180145, -0.000854832698083379, 0.0001205533111164271,
        -1.4925595266831182e-05, 1.6461000484121368e-06, -1.6350312701054695e-07,
        1.4659775274047436e-08, -1.1372848856791674e-09, 5.957176147748911e-11,
    ),
}  # fmt: skip
_FAR = {
    "float32": (
        0.25539567631236165, -0.4271858473759557, 0.24165819356819077, -0.07897858535157931,
        0.0037329340584509128, 0.006997582871807913, -0.0008480989405872785,
        -0.0009829776229116636, 5.300529587986208e-05, 0.00017342403118983182,
        -7.782381574628639e-06,
    ),
    "float64": (
        0.25539567631050575, -0.4271858474139584, 0.24165819424246635, -0.07897858101573307,
        0.003732892404344617, 0.006997461739289359, -0.0008471432519791012,
        -0.0009819770300382499, 4.355563625422083e-05, 0.0001743612301523324,
        2.7524858073592343e-05, -2.758040999497952e-05, -1.3961435485530436e-05,
        1.3933694614170019e-06, 3.749252793129386e-06, 1.1954890930098656e-06,
        -4.114710965297881e-07, -5.143808653845284e-07, -1.363330829462481e-07,
        9.610629801816115e-08, 5.5122843241217635e-08,
    ),
}  # fmt: skip
_BY_TANH = (
    1.128379225730896, 0.1027698665857315, -0.0001952876045834273, -0.0006148389657028019,
    8.459702075924724e-05, -4.794723281520419e-06, 2.7590687068368425e-08, 5.4209521316295195e-09,
)  # fmt: skip
_SHARE = tuple(each * 0.5 ** (power + 0.5) for power, each in enumerate(_BY_TANH))
"""The same for erf(x / sqrt(2))."""

_EDGE = 6.0
_BLOCK = 1 << 15
"""Elements computed at a time, so that what is needed on the way stays in cache."""


def erf_bytes(types: Types, _attributes: Attributes) -> int:
    """What `erf` needs inside."""
    return 50 * min(_BLOCK, types[0].elements)


def erf(call: Call) -> None:
    """Fill the result of one operand."""
    fill(call.xp, call.operands[0], call.results[0])


def fill(xp: Any, operand: Array, result: Array) -> None:
    """Write erf(operand) into a C-contiguous result of the same shape and dtype."""
    source, target = operand.reshape(-1), result.reshape(-1)
    near, far = _NEAR[str(result.dtype)], _FAR[str(result.dtype)]
    for start in range(0, target.size, _BLOCK):
        part = slice(start, start + _BLOCK)
        target[part] = _block(xp, source[part].astype(xp.float64), near, far)


def normal_share(xp: Any, operand: Array, share: Array, room: Array) -> None:
    """Write the normal distribution function of an operand: (1 + erf(x / sqrt(2))) / 2."""
    kind = operand.dtype.type
    if operand.dtype == xp.float32:
        xp.square(operand, out=room)
        xp.multiply(room, kind(_SHARE[-1]), out=share)
        for coefficient in _SHARE[-2:0:-1]:
            share += kind(coefficient)
            share *= room
        share += kind(_SHARE[0])
        share *= operand
        xp.tanh(share, out=share)
    else:
        xp.multiply(operand, kind(0.5**0.5), out=share)
        fill(xp, share, share)
    share += 1
    share *= kind(0.5)


def _block(xp: Any, x: Array, near: Sequence[float], far: Sequence[float]) -> Array:
    size = xp.minimum(xp.abs(x), _EDGE)
    inner = size < 1
    square = size * size
    small = _polynomial(xp, square, near)
    small *= size
    size[inner] = 1.0
    place = size - 2.0
    size += 2.0
    place /= size
    large = _polynomial(xp, place, far)
    xp.negative(square, out=square)
    xp.exp(square, out=square)
    large *= square
    xp.subtract(1.0, large, out=large)
    xp.copyto(large, small, where=inner)
    return xp.copysign(large, x, out=large)


def _polynomial(xp: Any, x: Array, coefficients: Sequence[float]) -> Array:
    """By Horner's rule."""
    value = xp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value *= x
        value += coefficient
    return value
