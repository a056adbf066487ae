"""Normalisation of images (samples, channels, space): by channel or by groups of channels.

Sums are added in float64 whatever the operands are, but for runs of at most 2,048 elements: one
mean may take millions of elements, and how far float32 may be off then would be too much to tell
right from wrong. What follows the sums is done a few images at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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

_RUN = 2048
"""Added in the dtype of the operand: by pairs, or in the many lanes of BLAS."""

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


def _planes(images: Array) -> Array:
    """Samples, channels, all elements of space; of C-contiguous images."""
    return images.reshape(*images.shape[:2], prod(images.shape[2:]))


def _runs(planes: Array) -> Iterator[Array]:
    """Parts of at most `_RUN` elements along the last axis."""
    for start in range(0, planes.shape[-1], _RUN):
        yield planes[..., start : start + _RUN]


def _sums(call: Call, images: Array) -> Array:
    """For each channel the sum, in float64 but for runs."""
    xp = call.xp
    total = xp.zeros(images.shape[1], xp.float64)
    for block in blocks(len(images), _together(call.types[0])):
        call.check()
        for run in _runs(_planes(images[block])):
            total += xp.sum(xp.sum(run, axis=2), axis=0, dtype=xp.float64)
    return total


def _dots(xp: Any, left: Array, right: Array) -> Array:
    """For each sample and channel (or group) the sum of products, in float64 but for runs."""
    total = xp.zeros(left.shape[:2], xp.float64)
    for one, other in zip(_runs(left), _runs(right), strict=True):
        total += xp.vecdot(one, other) if xp is numpy else xp.einsum("ijk,ijk->ij", one, other)
    return total


def _sum_of_products(call: Call, left: Array, right: Array) -> Array:
    """For each channel the sum of products."""
    xp = call.xp
    total = xp.zeros(left.shape[1], xp.float64)
    for block in blocks(len(left), _together(call.types[0])):
        call.check()
        total += xp.sum(_dots(xp, _planes(left[block]), _planes(right[block])), axis=0)
    return total


def _rstd(xp: Any, variance: Array, epsilon: float) -> Array:
    found = variance + variance.dtype.type(epsilon)
    xp.sqrt(found, out=found)
    return xp.divide(1, found, out=found)


def _batch_norm_train(call: Call) -> None:
    xp, (operand, weight, bias) = call.xp, call.operands
    result, mean, variance = call.results
    rank, count = operand.ndim, max(1, operand.size // max(1, operand.shape[1]))
    mean[...] = _sums(call, operand) / count
    middle, total = _spread(mean, rank), xp.zeros(operand.shape[1], xp.float64)
    parts = list(blocks(len(operand), _together(call.types[0])))
    for block in parts:
        call.check()
        deviation = xp.subtract(operand[block], middle, out=result[block])
        total += xp.sum(_dots(xp, _planes(deviation), _planes(deviation)), axis=0)
    variance[...] = total / count
    factor = _rstd(xp, variance, number(call.attributes, "epsilon"))
    factor *= weight
    for block in parts:
        call.check()
        found = result[block]
        found *= _spread(factor, rank)
        found += _spread(bias, rank)


def _batch_norm_infer(call: Call) -> None:
    xp, (operand, weight, bias, mean, variance) = call.xp, call.operands
    result, rank = call.results[0], operand.ndim
    factor = _rstd(xp, variance, number(call.attributes, "epsilon"))
    factor *= weight
    for block in blocks(len(operand), _together(call.types[0])):
        call.check()
        found = xp.subtract(operand[block], _spread(mean, rank), out=result[block])
        found *= _spread(factor, rank)
        found += _spread(bias, rank)


def _batch_norm_backward(call: Call) -> None:
    """With d = x - mean, n elements: w rstd (g - mean(g) - d rstd^2 mean(g d)), sum(g d) rstd."""
    xp, (gradient, operand, weight, mean, variance) = call.xp, call.operands
    result, of_weight, of_bias = call.results
    rank, kind = operand.ndim, operand.dtype
    count = max(1, operand.size // max(1, operand.shape[1]))
    rstd = _rstd(xp, variance, number(call.attributes, "epsilon"))
    total, products = xp.zeros((2, operand.shape[1]), xp.float64)
    parts = list(blocks(len(operand), _together(call.types[0])))
    for block in parts:
        call.check()
        given = _planes(gradient[block])
        deviation = xp.subtract(operand[block], _spread(mean, rank), out=result[block])
        products += xp.sum(_dots(xp, given, _planes(deviation)), axis=0)
        for run in _runs(given):
            total += xp.sum(xp.sum(run, axis=2), axis=0, dtype=xp.float64)
    of_weight[...] = products * rstd
    of_bias[...] = total
    shared = (products * xp.square(rstd.astype(xp.float64)) / -count).astype(kind)
    middle = _spread((total / count).astype(kind), rank)
    factor = _spread(weight * rstd, rank)
    for block in parts:
        call.check()
        found = result[block]
        found *= _spread(shared, rank)
        found += gradient[block]
        found -= middle
        found *= factor


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
    """For each sample and group the sum of products."""
    total = call.xp.empty(left.shape[:2], call.xp.float64)
    for block in blocks(len(left), _together(call.types[0])):
        call.check()
        total[block] = _dots(call.xp, left[block], right[block])
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
    contiguous: bool = True,
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
            contiguous=contiguous,
            error=ErrorRule(
                scale, _roundings, "32 u of the parts, and 2 n u64 where n elements are added"
            ),
            special_values="NaN and infinities as by adding and multiplying.",
        )
    )


def _room(types: Types, attributes: Attributes) -> int:
    """For each channel or group of a block of images: the sum of a run, and both in float64."""
    shape = types[0].shape
    lines = integer(attributes, "groups") if "groups" in attributes else shape[1]
    kept = 6 * 8 * shape[1] + 16 * shape[0] * lines * ("groups" in attributes)
    return _together(types[0]) * lines * (itemsize(types[0].dtype) + 16) + kept


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
    temporaries=_channel_bytes, contiguous=False,
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
