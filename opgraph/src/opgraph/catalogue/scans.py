"""Cumulative operators along one axis. How far sums may be off: see `reductions`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, integer, word
from opgraph.catalogue.declaration import (
    Call,
    ErrorRule,
    Implementation,
    Operator,
    Types,
)
from opgraph.catalogue.halves import ROUNDING_BYTES, round_into, to_float32, with_halves
from opgraph.catalogue.reductions import ACCUMULATORS, DTYPE
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT, per_element
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, HALVES, INTEGERS, Array, Shape, itemsize

_FAMILY = "scans"
_AXIS = Attribute("axis", "integer", "the axis along which it goes, from the first element on")


def same_along_axis(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    """The shape of the first operand; the attribute `axis` must be one of its axes."""
    axis = integer(attributes, "axis")
    if not 0 <= axis < len(shapes[0]):
        raise GraphError("wrong_shape", f"{list(shapes[0])} has no axis {axis}.")
    return (shapes[0],)


def _length(types: Types, attributes: Attributes) -> float:
    return max(1.0, float(types[0].shape[integer(attributes, "axis")]))


def _accumulated(name: str) -> Implementation:
    """`cumsum` or `cumprod`; 16-bit floats are added in float32."""

    def run(call: Call) -> None:
        xp, operand, result = call.xp, call.operands[0], call.results[0]
        accumulate, axis = getattr(xp, name), integer(call.attributes, "axis")
        source, target = call.types[0].dtype, word(call.attributes, "dtype")
        if source in HALVES:
            operand = to_float32(xp, operand, source)
        if target in HALVES:
            accumulate(operand, axis=axis, out=operand)
            round_into(xp, result, operand, target)
        elif operand.dtype == result.dtype:
            accumulate(operand, axis=axis, out=result)
        else:
            # Into the result first: numpy would make a copy of its own in the other dtype.
            result[...] = operand
            accumulate(result, axis=axis, out=result)

    return run


def _accumulating_bytes(types: Types, attributes: Attributes) -> int:
    if types[0].dtype not in HALVES:
        return 0
    rounding = ROUNDING_BYTES if word(attributes, "dtype") in HALVES else 0
    return types[0].elements * (itemsize("float32") + rounding)


def _roundings(types: Types, attributes: Attributes) -> float:
    length = _length(types, attributes)
    return 1.0 + length * 2.0**-13 if word(attributes, "dtype") in HALVES else length


def _scale(name: str) -> Callable[[Sequence[Array], Attributes], Array]:
    def scale(operands: Sequence[Array], attributes: Attributes) -> Array:
        return getattr(numpy, name)(numpy.abs(operands[0]), axis=integer(attributes, "axis"))

    return scale


def _accumulation(name: str, numpy_name: str, summary: str, special: str) -> Operator:
    return Operator(
        name=name,
        family=_FAMILY,
        summary=summary,
        operands=("operand",),
        attributes=(_AXIS, DTYPE),
        dtypes=ACCUMULATORS,
        shapes=same_along_axis,
        run=_accumulated(numpy_name),
        flops=ONE_PER_ELEMENT,
        temporaries=_accumulating_bytes,
        error=ErrorRule(_scale(numpy_name), _roundings, "n u times the same of |operand|"),
        special_values=special,
    )


def by_doubling(call: Call, combine: Callable[[Array, Array], Array]) -> None:
    """A scan in log2(n) steps, for array modules that accumulate with `add` only."""
    axis, xp = integer(call.attributes, "axis"), call.xp
    result = call.results[0]
    result[...] = call.operands[0]
    moved = xp.moveaxis(result, axis, 0)
    step = 1
    while step < len(moved):
        moved[step:] = combine(moved[step:], moved[:-step])
        step *= 2


def _extreme(name: str, summary: str) -> Operator:
    def run(call: Call) -> None:
        axis = integer(call.attributes, "axis")
        getattr(call.xp, name).accumulate(call.operands[0], axis=axis, out=call.results[0])

    def run_cupy(call: Call) -> None:
        by_doubling(call, getattr(call.xp, name))

    return with_halves(
        Operator(
            name=f"cumulative_{name[:3]}",
            family=_FAMILY,
            summary=summary,
            operands=("operand",),
            attributes=(_AXIS,),
            dtypes={(dtype,): (dtype,) for dtype in (*FLOATS, *INTEGERS)},
            shapes=same_along_axis,
            run=run,
            run_cupy=run_cupy,
            flops=ONE_PER_ELEMENT,
            error=EXACT,
            special_values="From the first NaN on it is NaN; of 0 and -0 either may come.",
        )
    )


def _log_sum(call: Call) -> None:
    axis = integer(call.attributes, "axis")
    call.xp.logaddexp.accumulate(call.operands[0], axis=axis, out=call.results[0])


def _log_sum_cupy(call: Call) -> None:
    by_doubling(call, call.xp.logaddexp)


def _log_sum_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    # Each of n steps is off by a few ulp of a value that lies between these.
    return numpy.maximum.accumulate(numpy.abs(operands[0]), axis=integer(attributes, "axis")) + 1


def _log_sum_steps(types: Types, attributes: Attributes) -> float:
    length = _length(types, attributes)
    return 16.0 * length * (1.0 + float(numpy.log(length)))


CUMULATIVE_SUM = _accumulation(
    "cumulative_sum",
    "cumsum",
    "The sum of the elements up to each, itself included.",
    "NaN and infinities as by adding; integers wrap modulo 2^w.",
)
CUMULATIVE_PROD = _accumulation(
    "cumulative_prod",
    "cumprod",
    "The product of the elements up to each, itself included.",
    "NaN and infinities as by multiplying; integers wrap modulo 2^w.",
)
CUMULATIVE_MAX = _extreme("maximum", "The largest of the elements up to each, itself included.")
CUMULATIVE_MIN = _extreme("minimum", "The smallest of the elements up to each, itself included.")
CUMULATIVE_LOGSUMEXP = with_halves(
    Operator(
        name="cumulative_logsumexp",
        family=_FAMILY,
        summary="log of the sum of exp of the elements up to each, without overflow on the way.",
        operands=("operand",),
        attributes=(_AXIS,),
        dtypes={(dtype,): (dtype,) for dtype in FLOATS},
        shapes=same_along_axis,
        run=_log_sum,
        run_cupy=_log_sum_cupy,
        flops=per_element(4),
        error=ErrorRule(_log_sum_scale, _log_sum_steps, "16 n (1 + log n) u (max |operand| + 1)"),
        special_values="From the first NaN on it is NaN; -infinity adds nothing.",
    )
)

OPERATORS = (
    CUMULATIVE_SUM,
    CUMULATIVE_PROD,
    CUMULATIVE_MAX,
    CUMULATIVE_MIN,
    CUMULATIVE_LOGSUMEXP,
)
