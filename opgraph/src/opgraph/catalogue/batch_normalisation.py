"""Normalisation of images (samples, channels, space): by channel or by groups of channels.

Means are added in float64 whatever the operands are: one mean may take millions of elements, and
how far float32 may be off then would be too much to tell right from wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, integer, number
from opgraph.catalogue.declaration import (
    Call,
    Count,
    ErrorRule,
    Implementation,
    Operator,
    ShapeRule,
    Types,
)
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.references import Define, Definition, defined_by
from opgraph.catalogue.rules import per_element
from opgraph.catalogue.windows import blocks, images_in
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, Array, Shape, TensorType, itemsize

_EPSILON = Attribute("epsilon", "float", "what is added to the variance")
_GROUPS = Attribute("groups", "integer", "into how many parts the channels of a sample fall")


def _others(rank: int) -> tuple[int, ...]:
    """All axes but that of the channels."""
    return (0, *range(2, rank))


def _spread(channels: Array, rank: int) -> Array:
    """One number for each channel, as what goes with images."""
    return channels.reshape(-1, *(1,) * (rank - 2))


# --- shapes ---------------------------------------------------------------------------------------
def _require_channels(shape: Shape, vectors: Sequence[Shape]) -> None:
    if len(shape) < 2 or any(each != shape[1:2] for each in vectors):
        raise GraphError("wrong_shape", f"{list(shape)} needs one number for each channel.")


def _require_elements(shape: Shape, least: int) -> None:
    if not least:
        raise GraphError("wrong_shape", f"{list(shape)} has no elements to take a mean of.")


def _train_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    _require_channels(shapes[0], shapes[1:])
    _require_elements(shapes[0], prod(shapes[0][axis] for axis in _others(len(shapes[0]))))
    return shapes[0], shapes[1], shapes[1]


def _infer_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    _require_channels(shapes[0], shapes[1:])
    return (shapes[0],)


def _batch_backward_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    if shapes[0] != shapes[1]:
        raise GraphError("wrong_shape", "The gradient has the shape of the operand.")
    _train_shapes(shapes[1:], attributes)
    return shapes[1], shapes[2], shapes[2]


def _grouped(shape: Shape, attributes: Attributes) -> tuple[int, int, int]:
    """Samples, groups, elements of a group."""
    groups = integer(attributes, "groups")
    if len(shape) < 2 or groups < 1 or shape[1] % groups:
        raise GraphError("wrong_shape", f"{list(shape)} does not fall into {groups} groups.")
    elements = prod(shape[1:]) // groups
    _require_elements(shape, elements)
    return shape[0], groups, elements


def _group_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    moments = _grouped(shapes[0], attributes)[:2]
    _require_channels(shapes[0], shapes[1:])
    return shapes[0], moments, moments


def _group_backward_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    gradient, operand, weight, mean, rstd = shapes
    if gradient != operand or not mean == rstd == _grouped(operand, attributes)[:2]:
        raise GraphError("wrong_shape", "Gradient, operand and moments are those of `group_norm`.")
    _require_channels(operand, [weight])
    return operand, weight, weight


# --- by channel -----------------------------------------------------------------------------------
def _together(of: TensorType) -> int:
    return images_in(prod(of.shape[1:]) * itemsize(of.dtype), of.shape[0])


def _sum_of_products(call: Call, left: Array, right: Array) -> Array:
    """For each channel the sum of products, in float64; products are rounded once."""
    xp, together = call.xp, _together(call.types[0])
    total = xp.zeros(left.shape[1], xp.float64)
    room = xp.empty((together, *left.shape[1:]), left.dtype)
    for block in blocks(len(left), together):
        call.check()
        products = xp.multiply(left[block], right[block], out=room[: len(left[block])])
        total += xp.sum(products, axis=_others(left.ndim), dtype=xp.float64)
    return total


def _rstd(xp: Any, variance: Array, epsilon: float) -> Array:
    found = variance + variance.dtype.type(epsilon)
    xp.sqrt(found, out=found)
    return xp.divide(1, found, out=found)


def _batch_norm_train(call: Call) -> None:
    xp, (operand, weight, bias) = call.xp, call.operands
    result, mean, variance = call.results
    rank, count = operand.ndim, operand.size // max(1, operand.shape[1])
    mean[...] = xp.mean(operand, axis=_others(rank), dtype=xp.float64)
    xp.subtract(operand, _spread(mean, rank), out=result)
    variance[...] = _sum_of_products(call, result, result) / max(1, count)
    factor = _rstd(xp, variance, number(call.attributes, "epsilon"))
    factor *= weight
    result *= _spread(factor, rank)
    result += _spread(bias, rank)


def _batch_norm_infer(call: Call) -> None:
    xp, (operand, weight, bias, mean, variance) = call.xp, call.operands
    result, rank = call.results[0], operand.ndim
    factor = _rstd(xp, variance, number(call.attributes, "epsilon"))
    factor *= weight
    xp.subtract(operand, _spread(mean, rank), out=result)
    result *= _spread(factor, rank)
    result += _spread(bias, rank)


def _batch_norm_backward(call: Call) -> None:
    """With d = x - mean, n elements: w rstd (g - mean(g) - d rstd^2 mean(g d)), sum(g d) rstd."""
    xp, (gradient, operand, weight, mean, variance) = call.xp, call.operands
    result, of_weight, of_bias = call.results
    rank, kind = operand.ndim, operand.dtype
    count = max(1, operand.size // max(1, operand.shape[1]))
    rstd = _rstd(xp, variance, number(call.attributes, "epsilon"))
    total = xp.sum(gradient, axis=_others(rank), dtype=xp.float64)
    xp.subtract(operand, _spread(mean, rank), out=result)
    products = _sum_of_products(call, gradient, result)
    of_weight[...] = products * rstd
    of_bias[...] = total
    shared = (products * xp.square(rstd.astype(xp.float64)) / -count).astype(kind)
    result *= _spread(shared, rank)
    result += gradient
    result -= _spread((total / count).astype(kind), rank)
    result *= _spread(weight * rstd, rank)


# --- by groups ------------------------------------------------------------------------------------
def _group_norm(call: Call) -> None:
    xp, (operand, weight, bias) = call.xp, call.operands
    result, mean, rstd = call.results
    samples, groups, elements = _grouped(operand.shape, call.attributes)
    lines = result.reshape(samples, groups, elements)
    result[...] = operand
    mean[...] = xp.mean(lines, axis=2, dtype=xp.float64)
    lines -= mean[..., None]
    rstd[...] = _sums_of_products(call, lines, lines) / elements
    rstd[...] = _rstd(xp, rstd, number(call.attributes, "epsilon"))
    lines *= rstd[..., None]
    result *= _spread(weight, operand.ndim)
    result += _spread(bias, operand.ndim)


def _sums_of_products(call: Call, left: Array, right: Array) -> Array:
    """For each sample and group the sum of products, in float64."""
    xp, together = call.xp, _together(call.types[0])
    total = xp.empty(left.shape[:2], xp.float64)
    room = xp.empty((together, *left.shape[1:]), left.dtype)
    for block in blocks(len(left), together):
        call.check()
        products = xp.multiply(left[block], right[block], out=room[: len(left[block])])
        xp.sum(products, axis=2, dtype=xp.float64, out=total[block])
    return total


def _group_norm_backward(call: Call) -> None:
    """With h = (x - mean) rstd, p = g w: rstd (p - mean(p) - h mean(p h)), sum(g h), sum(g)."""
    xp, (gradient, operand, weight, mean, rstd) = call.xp, call.operands
    result, of_weight, of_bias = call.results
    samples, groups, elements = _grouped(operand.shape, call.attributes)
    rank, shape = operand.ndim, (samples, groups, elements)
    normal = xp.empty(operand.shape, operand.dtype)
    normal[...] = operand
    lines = normal.reshape(shape)
    lines -= mean[..., None]
    lines *= rstd[..., None]
    of_weight[...] = _sum_of_products(call, gradient, normal)
    of_bias[...] = xp.sum(gradient, axis=_others(rank), dtype=xp.float64)
    xp.multiply(gradient, _spread(weight, rank), out=result)
    products = result.reshape(shape)
    shared = _sums_of_products(call, products, lines) / elements
    lines *= shared.astype(operand.dtype)[..., None]
    middle = xp.mean(products, axis=2, dtype=xp.float64)
    products -= middle.astype(operand.dtype)[..., None]
    products -= lines
    products *= rstd[..., None]


# --- how far it may be off ------------------------------------------------------------------------
def _by_channel(operand: Array) -> Array:
    """Channels by all elements of each."""
    elements = prod(operand.shape[axis] for axis in _others(operand.ndim))
    return numpy.moveaxis(operand, 1, 0).reshape(operand.shape[1], elements)


def _moments(lines: Array) -> tuple[Array, Array, Array]:
    """Mean magnitude, variance, and how far the variance may be off (in u)."""
    size = numpy.mean(numpy.abs(lines), axis=-1)
    variance = numpy.var(lines, axis=-1)
    # The mean is rounded: that enters each square twice with the deviation and once with itself.
    return size, variance, variance + size * numpy.sqrt(variance) + 2.0**-24 * size**2


def _normal_scale(operand: Array, mean: Array, size: Array, rstd: Array, loose: Array) -> Array:
    """Of the normalised: each deviation is off by magnitudes, the factor by `loose`."""
    spread = numpy.abs(operand) + size
    return rstd * (spread + numpy.abs(operand - mean) * loose)


def _loose(variance: Array, off: Array, epsilon: float) -> Array:
    """How far 1 / sqrt(variance + epsilon) is off, relative to itself (in u)."""
    return 1 + off / (variance + epsilon)


def _train_scale(operands: Sequence[Array], attributes: Attributes) -> Any:
    operand, weight, bias = operands
    rank, epsilon = operand.ndim, number(attributes, "epsilon")
    size, variance, off = _moments(_by_channel(operand))
    mean = numpy.mean(_by_channel(operand), axis=-1)
    rstd = 1 / numpy.sqrt(variance + epsilon)
    parts = [_spread(each, rank) for each in (mean, size, rstd, _loose(variance, off, epsilon))]
    result = _normal_scale(operand, *parts) * _spread(numpy.abs(weight), rank)
    return result + _spread(numpy.abs(bias), rank), size, off


def _infer_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    operand, weight, bias, mean, variance = operands
    rank = operand.ndim
    factor = numpy.abs(weight) / numpy.sqrt(variance + number(attributes, "epsilon"))
    size = numpy.abs(operand) + _spread(numpy.abs(mean), rank)
    return size * _spread(factor, rank) + _spread(numpy.abs(bias), rank)


def _batch_backward_scale(operands: Sequence[Array], attributes: Attributes) -> Any:
    gradient, operand, weight, mean, variance = operands
    rank = operand.ndim
    rstd = 1 / numpy.sqrt(variance + number(attributes, "epsilon"))
    size, magnitude = numpy.abs(gradient), numpy.abs(operand) + _spread(numpy.abs(mean), rank)
    products = numpy.sum(_by_channel(size * magnitude), axis=-1)
    total = numpy.sum(_by_channel(size), axis=-1)
    count = max(1, operand.size // max(1, operand.shape[1]))
    inner = size + _spread(total / count, rank)
    inner = inner + magnitude * _spread(rstd**2 * products / count, rank)
    return inner * _spread(numpy.abs(weight) * rstd, rank), products * rstd, total


def _group_scale(operands: Sequence[Array], attributes: Attributes) -> Any:
    operand, weight, bias = operands
    rank, epsilon = operand.ndim, number(attributes, "epsilon")
    lines = operand.reshape(_grouped(operand.shape, attributes))
    size, variance, off = _moments(lines)
    mean = numpy.mean(lines, axis=-1)
    rstd, loose = 1 / numpy.sqrt(variance + epsilon), _loose(variance, off, epsilon)
    normal = _normal_scale(lines, *(each[..., None] for each in (mean, size, rstd, loose)))
    result = normal.reshape(operand.shape) * _spread(numpy.abs(weight), rank)
    return result + _spread(numpy.abs(bias), rank), size, rstd * loose


def _group_backward_scale(operands: Sequence[Array], attributes: Attributes) -> Any:
    gradient, operand, weight, mean, rstd = (numpy.abs(each) for each in operands)
    shape, rank = _grouped(operand.shape, attributes), operand.ndim
    normal = (operand.reshape(shape) + mean[..., None]) * rstd[..., None]
    products = (gradient * _spread(weight, rank)).reshape(shape)
    shared = numpy.mean(products * normal, axis=2, keepdims=True)
    inner = products + numpy.mean(products, axis=2, keepdims=True) + normal * shared
    return (
        (inner * rstd[..., None]).reshape(operand.shape),
        numpy.sum(_by_channel(gradient * normal.reshape(operand.shape)), axis=-1),
        numpy.sum(_by_channel(gradient), axis=-1),
    )


def _roundings(types: Types, _attributes: Attributes) -> float:
    """Of single steps, and of sums over a channel and over a sample, which are in float64."""
    samples, channels = types[0].shape[:2]
    terms = types[0].elements / max(1, channels) + types[0].elements / max(1, samples)
    return 32 + (2 * terms if types[0].dtype == "float64" else terms * 2.0**-28)


# --- definitions ----------------------------------------------------------------------------------
def _define_normal(
    define: Define, operand: int, axes: Sequence[int], epsilon: float
) -> tuple[int, int, int, int]:
    """The normalised, then mean, variance and 1 / standard deviation."""
    shape = define.type(operand).shape
    mean = define.mean(operand, axes)
    deviation = define("subtract", operand, define.along(mean, axes, shape))
    variance = define.mean(define("square", deviation), axes)
    rstd = define("rsqrt", define.plus(variance, epsilon))
    normal = define("multiply", deviation, define.along(rstd, axes, shape))
    return normal, mean, variance, rstd


def _define_weighted(define: Define, normal: int, weight: int, bias: int) -> int:
    shape = define.type(normal).shape
    scaled = define("multiply", normal, define.vector(weight, 1, shape))
    return define("add", scaled, define.vector(bias, 1, shape))


def _define_train(define: Define, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
    operand, weight, bias = values
    axes = _others(define.type(operand).rank)
    normal, mean, variance, _ = _define_normal(define, operand, axes, number(given, "epsilon"))
    return _define_weighted(define, normal, weight, bias), mean, variance


def _define_infer(define: Define, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
    operand, weight, bias, mean, variance = values
    shape = define.type(operand).shape
    rstd = define("rsqrt", define.plus(variance, number(given, "epsilon")))
    deviation = define("subtract", operand, define.vector(mean, 1, shape))
    normal = define("multiply", deviation, define.vector(rstd, 1, shape))
    return (_define_weighted(define, normal, weight, bias),)


def _define_inner(define: Define, product: int, normal: int, rstd: int, axes: Sequence[int]) -> int:
    """rstd (p - mean(p) - h mean(p h))."""
    shape = define.type(product).shape
    shared = define.along(define.mean(define("multiply", product, normal), axes), axes, shape)
    inner = define("subtract", product, define.along(define.mean(product, axes), axes, shape))
    inner = define("subtract", inner, define("multiply", normal, shared))
    return define("multiply", inner, define.along(rstd, axes, shape))


def _define_batch_backward(
    define: Define, values: Sequence[int], given: Attributes
) -> tuple[int, ...]:
    gradient, operand, weight, mean, variance = values
    shape = define.type(operand).shape
    axes = _others(len(shape))
    rstd = define("rsqrt", define.plus(variance, number(given, "epsilon")))
    deviation = define("subtract", operand, define.along(mean, axes, shape))
    normal = define("multiply", deviation, define.along(rstd, axes, shape))
    product = define("multiply", gradient, define.vector(weight, 1, shape))
    return (
        _define_inner(define, product, normal, rstd, axes),
        define.total(define("multiply", gradient, normal), axes),
        define.total(gradient, axes),
    )


def _define_group(define: Define, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
    operand, weight, bias = values
    shape = define.type(operand).shape
    lines = define("reshape", operand, shape=_grouped(shape, given))
    normal, mean, _, rstd = _define_normal(define, lines, [2], number(given, "epsilon"))
    normal = define("reshape", normal, shape=shape)
    return _define_weighted(define, normal, weight, bias), mean, rstd


def _define_group_backward(
    define: Define, values: Sequence[int], given: Attributes
) -> tuple[int, ...]:
    gradient, operand, weight, mean, rstd = values
    shape = define.type(operand).shape
    lines = _grouped(shape, given)
    deviation = define(
        "subtract", define("reshape", operand, shape=lines), define.along(mean, [2], lines)
    )
    normal = define("multiply", deviation, define.along(rstd, [2], lines))
    product = define("multiply", gradient, define.vector(weight, 1, shape))
    inner = _define_inner(define, define("reshape", product, shape=lines), normal, rstd, [2])
    images = define("reshape", normal, shape=shape)
    axes = _others(len(shape))
    return (
        define("reshape", inner, shape=shape),
        define.total(define("multiply", gradient, images), axes),
        define.total(gradient, axes),
    )


# --- declarations ---------------------------------------------------------------------------------
def _operator(
    name: str,
    summary: str,
    operands: tuple[str, ...],
    attributes: tuple[Attribute, ...],
    shapes: ShapeRule,
    run: Implementation,
    definition: Definition,
    scale: Callable[[Sequence[Array], Attributes], Any],
    *,
    operations: int,
    temporaries: Count,
    results: int = 3,
) -> Operator:
    return with_halves(
        Operator(
            name=name,
            family="neural_gradients" if "gradient" in operands else "neural",
            summary=summary,
            operands=operands,
            attributes=attributes,
            dtypes={(d,) * len(operands): (d,) * results for d in FLOATS},
            shapes=shapes,
            run=run,
            reference=defined_by(definition),
            flops=per_element(operations),
            temporaries=temporaries,
            error=ErrorRule(
                scale, _roundings, "32 u of the parts, and 2 n u64 where n elements are added"
            ),
            special_values="NaN and infinities as by adding and multiplying.",
        )
    )


def _room(types: Types, _attributes: Attributes) -> int:
    """A block of products, and what is kept for each channel or group."""
    images = _together(types[0]) * prod(types[0].shape[1:])
    return images * itemsize(types[0].dtype)


def _group_backward_bytes(types: Types, attributes: Attributes) -> int:
    return types[0].nbytes + _room(types, attributes)


def _channel_bytes(types: Types, _attributes: Attributes) -> int:
    return 2 * types[1].nbytes


BATCH_NORM_TRAIN = _operator(
    "batch_norm_train", "Each channel of images (samples, channels, space) brought to mean 0 and"
    " variance 1, then weighted: the result, the means, and the mean square deviations.",
    ("operand", "weight", "bias"), (_EPSILON,), _train_shapes, _batch_norm_train, _define_train,
    _train_scale, operations=8, temporaries=_room,
)  # fmt: skip
BATCH_NORM_INFER = _operator(
    "batch_norm_infer", "(operand - mean) / sqrt(variance + epsilon) * weight + bias, with numbers"
    " given for each channel.", ("operand", "weight", "bias", "mean", "variance"), (_EPSILON,),
    _infer_shapes, _batch_norm_infer, _define_infer, _infer_scale, operations=3, results=1,
    temporaries=_channel_bytes,
)  # fmt: skip
GROUP_NORM = _operator(
    "group_norm", "Each group of channels of each sample brought to mean 0 and variance 1, then"
    " weighted by channel: the result, the means, and 1 / sqrt(variance + epsilon).",
    ("operand", "weight", "bias"), (_GROUPS, _EPSILON), _group_shapes, _group_norm, _define_group,
    _group_scale, operations=8, temporaries=_room,
)  # fmt: skip
BATCH_NORM_BACKWARD = _operator(
    "batch_norm_backward", "The gradients of `batch_norm_train`: of its operand, weight and bias.",
    ("gradient", "operand", "weight", "mean", "variance"), (_EPSILON,), _batch_backward_shapes,
    _batch_norm_backward, _define_batch_backward, _batch_backward_scale, operations=10,
    temporaries=_room,
)  # fmt: skip
GROUP_NORM_BACKWARD = _operator(
    "group_norm_backward", "The gradients of `group_norm`: of its operand, weight and bias.",
    ("gradient", "operand", "weight", "mean", "rstd"), (_GROUPS,), _group_backward_shapes,
    _group_norm_backward, _define_group_backward, _group_backward_scale, operations=14,
    temporaries=_group_backward_bytes,
)  # fmt: skip

OPERATORS = (
    BATCH_NORM_TRAIN, BATCH_NORM_INFER, GROUP_NORM, BATCH_NORM_BACKWARD, GROUP_NORM_BACKWARD,
)  # fmt: skip
