"""Reductions along axes.

How far a sum may be off holds for the worst order in which honest machines add: one term after the
other (N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy

from opgraph.catalogue.attributes import (
    Attribute,
    Attributes,
    flag,
    integer,
    integers,
    number,
    word,
)
from opgraph.catalogue.declaration import (
    Call,
    Count,
    DtypeTable,
    ErrorRule,
    Implementation,
    Operator,
    Types,
    Work,
)
from opgraph.catalogue.halves import ROUNDING_BYTES, round_into, to_float32, with_halves
from opgraph.catalogue.rules import EXACT, ONE_PER_ELEMENT, per_element
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, HALVES, INTEGERS, Array, Shape, TensorType, itemsize

_FAMILY = "reductions"
_AXES = (
    Attribute("axes", "integers", "the axes that are reduced, rising; none: nothing is reduced"),
    Attribute("keepdims", "boolean", "whether reduced axes stay, with size 1"),
)
_AXIS = (
    Attribute("axis", "integer", "the axis that is reduced"),
    Attribute("keepdims", "boolean", "whether the reduced axis stays, with size 1"),
)
_SIGNED = tuple(dtype for dtype in INTEGERS if dtype.startswith("int"))


def reduced_axes(attributes: Attributes) -> tuple[int, ...]:
    """The axes of a reduction, by whichever attribute names them."""
    return (integer(attributes, "axis"),) if "axis" in attributes else integers(attributes, "axes")


def _reduced(shape: Shape, attributes: Attributes) -> Shape:
    axes = reduced_axes(attributes)
    if list(axes) != sorted(set(axes)) or not all(0 <= axis < len(shape) for axis in axes):
        raise GraphError("wrong_shape", f"{list(axes)} are no rising axes of {list(shape)}.")
    if flag(attributes, "keepdims"):
        return tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    return tuple(size for axis, size in enumerate(shape) if axis not in axes)


def _shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    return (_reduced(shapes[0], attributes),)


def _shapes_of_some(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    found = _shapes(shapes, attributes)
    if terms_in(shapes[0], attributes) == 0:
        raise GraphError("wrong_shape", f"{list(shapes[0])} has nothing to choose from there.")
    return found


def terms_in(shape: Shape, attributes: Attributes) -> int:
    """How many elements go into one of the result."""
    return prod(shape[axis] for axis in reduced_axes(attributes))


def _terms(types: Types, attributes: Attributes) -> float:
    return float(terms_in(types[0].shape, attributes))


def _along(function: Callable[..., Any], operand: Array, attributes: Attributes) -> Array:
    return function(operand, axis=reduced_axes(attributes), keepdims=flag(attributes, "keepdims"))


def _ufunc(name: str) -> Implementation:
    """A reduction of numpy and cupy that takes axes and writes into its result."""

    def run(call: Call) -> None:
        axes, keepdims = reduced_axes(call.attributes), flag(call.attributes, "keepdims")
        getattr(call.xp, name)(call.operands[0], axis=axes, keepdims=keepdims, out=call.results[0])

    return run


# --- sums that name what they add in --------------------------------------------------------------
_WIDER = ("int64", "uint64", *FLOATS)
ACCUMULATORS: DtypeTable = {
    **{(d, d): (d,) for d in (*FLOATS, *HALVES, *INTEGERS)},
    **{(d, "int64"): ("int64",) for d in (*_SIGNED, "bool")},
    **{(d, "uint64"): ("uint64",) for d in INTEGERS if d.startswith("uint")},
    **{(d, "float32"): ("float32",) for d in HALVES},
    ("float32", "float64"): ("float64",),
}
DTYPE = Attribute("dtype", "dtype", "what is added in, and the dtype of the result")


_ROW = 16
"""Elements of a row from which on a product adds rows faster; its ones are that much less."""


def _is_of_rows(of: TensorType, axes: tuple[int, ...]) -> bool:
    """Whether rows of floats are added: the reduced axes are the first ones."""
    count = len(axes)
    row = prod(of.shape[count:])
    return of.dtype in FLOATS and 0 < count < of.rank and axes[-1] == count - 1 and row >= _ROW


def _add_rows(xp: Any, operand: Array, axes: int, result: Array) -> None:
    """A vector of ones times the rows takes a third of the time that adding them does."""
    if not operand.flags.c_contiguous:
        xp.sum(operand, axis=tuple(range(axes)), out=result.reshape(operand.shape[axes:]))
        return
    rows = operand.reshape(prod(operand.shape[:axes]), prod(operand.shape[axes:]))
    ones = xp.ones(len(rows), operand.dtype)
    xp.matmul(ones, rows, out=result.reshape(-1))


def _accumulated(name: str) -> Implementation:
    """`sum` or `prod`; 16-bit floats are added in float32."""

    def run(call: Call) -> None:
        xp, operand, result = call.xp, call.operands[0], call.results[0]
        axes, keepdims = reduced_axes(call.attributes), flag(call.attributes, "keepdims")
        reduce = getattr(xp, name)
        source, target = call.types[0].dtype, word(call.attributes, "dtype")
        if source in HALVES:
            operand = to_float32(xp, operand, source)
        if name == "sum" and source == target and _is_of_rows(call.types[0], axes):
            _add_rows(xp, operand, len(axes), result)
            return
        if target not in HALVES:
            reduce(operand, axis=axes, keepdims=keepdims, dtype=result.dtype, out=result)
            return
        total = reduce(operand, axis=axes, keepdims=keepdims)
        round_into(xp, result, xp.asarray(total, dtype=xp.float32).reshape(result.shape), target)

    return run


def _accumulating_bytes(types: Types, attributes: Attributes) -> int:
    source, target = types[0].dtype, word(attributes, "dtype")
    results = prod(_reduced(types[0].shape, attributes))
    wide = itemsize("float32") * types[0].elements if source in HALVES else 0
    if source == target and _is_of_rows(types[0], reduced_axes(attributes)):
        return terms_in(types[0].shape, attributes) * itemsize(source)
    rounding = (itemsize("float32") + ROUNDING_BYTES) * results if target in HALVES else 0
    return wide + rounding


def _sum_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    return _along(numpy.sum, numpy.abs(operands[0]), attributes)


def _prod_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    return numpy.abs(_along(numpy.prod, operands[0], attributes))


def _roundings(types: Types, attributes: Attributes) -> float:
    """One for each operation in the format of the result; 16-bit results round once more."""
    terms = _terms(types, attributes)
    target = word(attributes, "dtype")
    return 1.0 + terms * 2.0**-13 if target in HALVES else max(1.0, terms)


def _accumulation(name: str, summary: str, scale: Callable[..., Array], special: str) -> Operator:
    return Operator(
        name=name,
        family=_FAMILY,
        summary=summary,
        operands=("operand",),
        attributes=(*_AXES, DTYPE),
        dtypes=ACCUMULATORS,
        shapes=_shapes,
        run=_accumulated(name),
        flops=ONE_PER_ELEMENT,
        temporaries=_accumulating_bytes,
        error=ErrorRule(scale, _roundings, "n u times the same of |operand|"),
        special_values=special,
    )


SUM = _accumulation(
    "sum",
    "The sum along axes.",
    _sum_scale,
    "NaN and infinities as by adding; integers wrap modulo 2^w; of nothing it is 0.",
)
PROD = _accumulation(
    "prod",
    "The product along axes.",
    _prod_scale,
    "NaN and infinities as by multiplying; integers wrap modulo 2^w; of nothing it is 1.",
)


# --- moments --------------------------------------------------------------------------------------
_CORRECTION = Attribute("correction", "float", "what is taken from the number of elements: 0 or 1")


def _mean(call: Call) -> None:
    _mean_into(call, call.results[0], keepdims=flag(call.attributes, "keepdims"))


def _mean_into(call: Call, result: Array, *, keepdims: bool) -> None:
    """As numpy's own mean, which warns where there is nothing to add."""
    operand = call.operands[0]
    call.xp.sum(operand, axis=reduced_axes(call.attributes), keepdims=keepdims, out=result)
    count = operand.dtype.type(terms_in(operand.shape, call.attributes))
    call.xp.divide(result, count, out=result)


def _variance(call: Call) -> None:
    xp, operand, result = call.xp, call.operands[0], call.results[0]
    axes = reduced_axes(call.attributes)
    left = terms_in(operand.shape, call.attributes) - number(call.attributes, "correction")
    mean = xp.empty(_reduced(operand.shape, {**call.attributes, "keepdims": True}), operand.dtype)
    _mean_into(call, mean, keepdims=True)
    deviation = xp.subtract(operand, mean, out=xp.empty(operand.shape, operand.dtype))
    xp.square(deviation, out=deviation)
    xp.sum(deviation, axis=axes, keepdims=flag(call.attributes, "keepdims"), out=result)
    xp.divide(result, operand.dtype.type(max(left, 0.0)), out=result)


def _deviation(call: Call) -> None:
    _variance(call)
    call.xp.sqrt(call.results[0], out=call.results[0])


def _variance_bytes(types: Types, attributes: Attributes) -> int:
    means = prod(_reduced(types[0].shape, {**attributes, "keepdims": True}))
    return (types[0].elements + means) * itemsize(types[0].dtype)


def _mean_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    return _along(numpy.mean, numpy.abs(operands[0]), attributes)


def _moments(operand: Array, attributes: Attributes) -> tuple[Array, Array, float, float]:
    """Standard deviation, mean magnitude, n / (n - correction), n."""
    count = float(terms_in(operand.shape, attributes))
    left = count - number(attributes, "correction")
    spread = _along(numpy.std, operand, attributes)
    factor = count / left if left > 0 else numpy.inf
    return spread, _mean_scale([operand], attributes), factor, count


def _variance_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    # The mean is off by up to n u M, M the mean magnitude; that enters each square twice with the
    # deviation and once with itself (2^-24 stands for u there).
    spread, size, factor, count = _moments(operands[0], attributes)
    return factor * (spread**2 + size * spread + count * 2.0**-24 * size**2)


def _deviation_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    spread, size, factor, _ = _moments(operands[0], attributes)
    return numpy.sqrt(factor) * (spread + size)


def _moment(
    name: str,
    summary: str,
    run: Implementation,
    scale: Callable[..., Array],
    *,
    passes: int,
    words: str,
    attributes: tuple[Attribute, ...] = _AXES,
    temporaries: Count | None = None,
) -> Operator:
    return with_halves(
        Operator(
            name=name,
            family=_FAMILY,
            summary=summary,
            operands=("operand",),
            attributes=attributes,
            dtypes={(dtype,): (dtype,) for dtype in FLOATS},
            shapes=_shapes,
            run=run,
            flops=per_element(passes),
            temporaries=temporaries or (lambda _types, _attributes: 0),
            error=ErrorRule(scale, lambda t, a: passes * _terms(t, a) + 8, words),
            special_values="NaN and infinities as by adding; of too few elements it is NaN.",
        )
    )


MEAN = _moment(
    "mean", "The mean along axes.", _mean, _mean_scale, passes=1, words="n u mean |operand|"
)
VAR = _moment(
    "var",
    "The mean square deviation along axes, in two passes.",
    _variance,
    _variance_scale,
    passes=3,
    words="3 n u (var + std mean |operand|)",
    attributes=(*_AXES, _CORRECTION),
    temporaries=_variance_bytes,
)
STD = _moment(
    "std",
    "The square root of `var`.",
    _deviation,
    _deviation_scale,
    passes=3,
    words="3 n u (std + mean |operand|)",
    attributes=(*_AXES, _CORRECTION),
    temporaries=_variance_bytes,
)


# --- choices --------------------------------------------------------------------------------------
EXACT_OF_RESULT = ErrorRule(
    lambda operands, attributes: 0.0 * _along(numpy.max, numpy.abs(operands[0]), attributes),
    lambda _types, _attributes: 0.0,
    "exact",
)


def _chosen(name: str, summary: str) -> Operator:
    return with_halves(
        Operator(
            name=name,
            family=_FAMILY,
            summary=summary,
            operands=("operand",),
            attributes=_AXES,
            dtypes={(dtype,): (dtype,) for dtype in (*FLOATS, *INTEGERS, "bool")},
            shapes=_shapes_of_some,
            run=_ufunc(name),
            flops=ONE_PER_ELEMENT,
            error=EXACT_OF_RESULT,
            special_values="NaN anywhere gives NaN; of 0 and -0 either may come.",
        )
    )


def _position(name: str) -> Implementation:
    def run(call: Call) -> None:
        operand, axis = call.operands[0], integer(call.attributes, "axis")
        keepdims = flag(call.attributes, "keepdims")
        found = getattr(call.xp, name)(operand, axis=axis, keepdims=keepdims)
        call.results[0][...] = found

    return run


def _position_cupy(name: str) -> Implementation:
    plain = _position(name)

    def run(call: Call) -> None:
        plain(call)
        operand, axis = call.operands[0], integer(call.attributes, "axis")
        if operand.dtype.kind != "f":
            return
        # The first NaN wins, as in numpy.
        unordered = call.xp.isnan(operand)
        keepdims = flag(call.attributes, "keepdims")
        first = call.xp.argmax(unordered, axis=axis, keepdims=keepdims)
        some = call.xp.any(unordered, axis=axis, keepdims=keepdims)
        call.xp.copyto(call.results[0], first, where=some)

    return run


def _position_bytes(types: Types, attributes: Attributes) -> int:
    return 8 * prod(_reduced(types[0].shape, attributes))


def _argument(name: str, summary: str) -> Operator:
    return with_halves(
        Operator(
            name=name,
            family=_FAMILY,
            summary=summary,
            operands=("operand",),
            attributes=_AXIS,
            dtypes={(dtype,): ("int64",) for dtype in (*FLOATS, *INTEGERS, "bool")},
            shapes=_shapes_of_some,
            run=_position(name),
            run_cupy=_position_cupy(name),
            flops=ONE_PER_ELEMENT,
            temporaries=_position_bytes,
            contiguous=True,
            error=EXACT,
            special_values="Of equal ones the first, of NaN the first.",
        )
    )


MAX = _chosen("max", "The largest along axes.")
MIN = _chosen("min", "The smallest along axes.")
ARGMAX = _argument("argmax", "The index of the largest along an axis.")
ARGMIN = _argument("argmin", "The index of the smallest along an axis.")


# --- logic ----------------------------------------------------------------------------------------
def _logical(name: str, summary: str, special: str) -> Operator:
    return Operator(
        name=name,
        family=_FAMILY,
        summary=summary,
        operands=("operand",),
        attributes=_AXES,
        dtypes={("bool",): ("bool",)},
        shapes=_shapes,
        run=_ufunc(name),
        flops=ONE_PER_ELEMENT,
        error=EXACT,
        special_values=special,
    )


def _count(call: Call) -> None:
    axes, keepdims = reduced_axes(call.attributes), flag(call.attributes, "keepdims")
    call.xp.sum(
        call.operands[0], axis=axes, keepdims=keepdims, dtype=call.xp.int64, out=call.results[0]
    )


ALL = _logical("all", "Whether all along axes are true.", "Of nothing it is true.")
ANY = _logical("any", "Whether any along axes is true.", "Of nothing it is false.")
COUNT_TRUE = Operator(
    name="count_true",
    family=_FAMILY,
    summary="How many along axes are true.",
    operands=("operand",),
    attributes=_AXES,
    dtypes={("bool",): ("int64",)},
    shapes=_shapes,
    run=_count,
    flops=Work(lambda types, _attributes: types[0].elements, "1 for each element"),
    error=EXACT,
    special_values="Of nothing it is 0.",
)

OPERATORS = (SUM, PROD, MEAN, VAR, STD, MAX, MIN, ARGMAX, ARGMIN, ALL, ANY, COUNT_TRUE)
