"""Conversions between dtypes. Nothing else in a graph changes a dtype.

16-bit floats are converted from and to float32 only: numpy and CUDA differ on how often other
pairs are rounded, and two casts in a row say what happens.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opgraph.catalogue.declaration import Attribute, Attributes, Call, Operator, Types
from opgraph.catalogue.halves import ROUNDING_BYTES, round_into
from opgraph.catalogue.rules import ONE_PER_ELEMENT, rounded_once, same_shape
from opgraph.tensors import DTYPES, FLOATS, HALVES, INTEGERS, Array, itemsize

_WIDE = tuple(dtype for dtype in DTYPES if dtype not in HALVES)
_PAIRS = [(source, target) for source in _WIDE for target in _WIDE] + [
    pair for half in HALVES for pair in ((half, "float32"), ("float32", half))
]


def _float_to_integer(call: Call) -> None:
    xp, operand, result = call.xp, call.operands[0], call.results[0]
    bounds = numpy.iinfo(result.dtype)
    below, above = operand <= float(bounds.min), operand >= float(bounds.max + 1)
    outside = below | above
    outside |= xp.isnan(operand)
    result[...] = xp.where(outside, operand.dtype.type(0), operand)
    xp.copyto(result, result.dtype.type(bounds.min), where=below)
    xp.copyto(result, result.dtype.type(bounds.max), where=above)


def _astype(call: Call) -> None:
    source, target = call.types[0].dtype, call.attributes["dtype"]
    if target == "bfloat16":
        round_into(call.xp, call.results[0], call.operands[0], target)
    elif source == "bfloat16":
        bits = call.results[0].view(call.xp.uint32)
        bits[...] = call.operands[0]
        bits <<= 16
    elif target == "bool":
        call.xp.not_equal(call.operands[0], 0, out=call.results[0])
    elif source in FLOATS and target in INTEGERS:
        _float_to_integer(call)
    else:
        call.results[0][...] = call.operands[0]


def _temporaries(types: Types, attributes: Attributes) -> int:
    source, target = types[0].dtype, attributes["dtype"]
    if target == "bfloat16":
        return types[0].elements * ROUNDING_BYTES
    if source in FLOATS and target in INTEGERS:
        return types[0].elements * (itemsize(source) + 4)
    return 0


def _scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
    return abs(operands[0])


ASTYPE = Operator(
    name="astype",
    family="casts",
    summary="The same values in another dtype, rounded to nearest even.",
    operands=("operand",),
    attributes=(Attribute("dtype", "dtype", "the dtype of the result"),),
    dtypes={pair: pair[1:] for pair in _PAIRS},
    shapes=same_shape,
    run=_astype,
    flops=ONE_PER_ELEMENT,
    temporaries=_temporaries,
    error=rounded_once(_scale, "u |operand|"),
    special_values=(
        "Float to integer goes towards zero, saturates, and NaN gives 0; integers wrap modulo 2^w;"
        " to bool is `!= 0`, so NaN gives true; too large for the float gives infinity."
    ),
)

OPERATORS = (ASTYPE,)
