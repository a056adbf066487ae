"""Softmax, normalisation, and the losses on top of them, with their gradients."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, integer, number
from opgraph.catalogue.declaration import (
    Call,
    Count,
    DtypeTable,
    ErrorRule,
    Implementation,
    Operator,
    ShapeRule,
    Types,
)
from opgraph.catalogue.elementwise import block_of
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.indexing import require_indices
from opgraph.catalogue.references import Define, Definition, defined_by
from opgraph.catalogue.rows import (
    block_bytes,
    line_bytes,
    raised_into,
    row_blocks,
    row_dots,
    row_sums,
    shifted_into,
)
from opgraph.catalogue.rules import per_element
from opgraph.catalogue.scans import same_along_axis
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, Array, Shape, room

_AXIS = Attribute("axis", "integer", "the axis that adds up to 1")
_EPSILON = Attribute("epsilon", "float", "what is added to the variance")
Scale = Callable[[Sequence[Array], Attributes], Any]


def _fused(
    name: str,
    summary: str,
    operands: tuple[str, ...],
    shapes: ShapeRule,
    run: Implementation,
    definition: Definition,
    scale: Scale,
    terms: Callable[[Types, Attributes], float],
    special: str,
    *,
    operations: int,
    temporaries: Count,
    attributes: tuple[Attribute, ...] = (),
    dtypes: DtypeTable | None = None,
    results: int = 1,
    gradient: bool = False,
    contiguous: bool = False,
) -> Operator:
    table = dtypes or {(d,) * len(operands): (d,) * results for d in FLOATS}
    return with_halves(
        Operator(
            name=name,
            family="neural_gradients" if gradient else "neural",
            summary=summary,
            operands=operands,
            attributes=attributes,
            dtypes=table,
            shapes=shapes,
            run=run,
            reference=defined_by(definition),
            flops=per_element(operations),
            temporaries=temporaries,
            contiguous=contiguous,
            error=ErrorRule(scale, lambda t, a: 2 * terms(t, a) + 64, "(2 n + 64) u of the parts"),
            special_values=special,
        )
    )


# --- softmax --------------------------------------------------------------------------------------
def _length(types: Types, attributes: Attributes) -> float:
    return float(types[0].shape[integer(attributes, "axis")])


def _alike(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    if shapes[0] != shapes[1]:
        raise GraphError("wrong_shape", "The gradient has the shape of the result.")
    return same_along_axis(shapes, attributes)


def _softmax_lines(xp: Any, operand: Array, axis: int, result: Array) -> None:
    shifted_into(xp, operand, axis, result)
    xp.exp(result, out=result)
    total = xp.sum(result, axis=axis, keepdims=True)
    xp.copyto(total, result.dtype.type(1), where=total == 0)
    result /= total


def _softmax(call: Call) -> None:
    xp, (operand,), (result,) = call.xp, call.operands, call.results
    axis = integer(call.attributes, "axis")
    if axis != operand.ndim - 1:
        _softmax_lines(xp, operand, axis, result)
        return
    ones = xp.ones(operand.shape[-1], operand.dtype)
    for source, target in row_blocks(xp, operand, result):
        total = raised_into(xp, source, target, ones)
        if total is None:
            _softmax_lines(xp, source, 1, target)
        else:
            target /= total[:, None]


def _log_softmax(call: Call) -> None:
    xp, (operand,), (result,) = call.xp, call.operands, call.results
    axis = integer(call.attributes, "axis")
    blocks: Iterable[Sequence[Array]] = [(operand, result)]
    if axis == operand.ndim - 1:
        blocks, axis = row_blocks(xp, operand, result), 1
    for source, target in blocks:
        shifted_into(xp, source, axis, target)
        total = xp.sum(xp.exp(target), axis=axis, keepdims=True)
        xp.copyto(total, target.dtype.type(1), where=total == 0)
        xp.log(total, out=total)
        target -= total


def _softmax_backward(call: Call) -> None:
    """From the result y of `softmax`: y (g - sum(g y))."""
    xp, (gradient, result), (target,) = call.xp, call.operands, call.results
    axis = integer(call.attributes, "axis")
    if axis != gradient.ndim - 1:
        total = xp.sum(gradient * result, axis=axis, keepdims=True)
        xp.subtract(gradient, total, out=target)
        target *= result
        return
    for given, shares, found in row_blocks(xp, gradient, result, target):
        total = row_dots(xp, given, shares)
        xp.subtract(given, total[:, None], out=found)
        found *= shares


def _log_softmax_backward(call: Call) -> None:
    """From the result y of `log_softmax`: g - exp(y) sum(g)."""
    xp, (gradient, result) = call.xp, call.operands
    axis = integer(call.attributes, "axis")
    blocks: Iterable[Sequence[Array]] = [(gradient, result, call.results[0])]
    if axis == gradient.ndim - 1:
        blocks, axis = row_blocks(xp, gradient, result, call.results[0]), 1
    for given, logarithms, found in blocks:
        total = xp.sum(given, axis=axis, keepdims=True)
        xp.exp(logarithms, out=found)
        found *= total
        xp.subtract(given, found, out=found)


def _shifted(operand: Array, axis: int) -> Array:
    return operand - numpy.max(operand, axis=axis, keepdims=True, initial=-numpy.inf)


def _softmax_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    axis = integer(attributes, "axis")
    shifted = _shifted(operands[0], axis)
    share = numpy.exp(shifted)
    share /= numpy.sum(share, axis=axis, keepdims=True)
    size = numpy.abs(shifted)
    return share * (1 + size + numpy.sum(share * size, axis=axis, keepdims=True))


def _log_softmax_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    axis = integer(attributes, "axis")
    size = numpy.abs(operands[0])
    return 1 + size + numpy.max(size, axis=axis, keepdims=True, initial=0.0)


def _gradient_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    gradient, result = operands
    axis = integer(attributes, "axis")
    total = numpy.sum(numpy.abs(gradient * result), axis=axis, keepdims=True)
    return numpy.abs(result) * (numpy.abs(gradient) + total)


def _log_gradient_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    gradient, result = operands
    total = numpy.sum(numpy.abs(gradient), axis=integer(attributes, "axis"), keepdims=True)
    return numpy.abs(gradient) + numpy.exp(result) * (1 + numpy.abs(result)) * total


def _define_shifted(define: Define, operand: int, axis: int) -> int:
    shape = define.type(operand).shape
    highest = define("max", operand, axes=(axis,), keepdims=False)
    # Where all are -infinity nothing is taken off.
    low = define("isfinite", highest)
    kept = define("where", low, highest, define.number(0, highest))
    return define("subtract", operand, define.along(kept, [axis], shape))


def _define_total(define: Define, value: int, axis: int) -> int:
    total = define.total(value, [axis])
    some = define("not_equal", total, define.number(0, total))
    return define("where", some, total, define.number(1, total))


def _define_softmax(define: Define, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
    axis = integer(given, "axis")
    raised = define("exp", _define_shifted(define, values[0], axis))
    total = _define_total(define, raised, axis)
    spread = define.along(total, [axis], define.type(raised).shape)
    return (define("divide", raised, spread),)


def _define_log_softmax(
    define: Define, values: Sequence[int], given: Attributes
) -> tuple[int, ...]:
    axis = integer(given, "axis")
    shifted = _define_shifted(define, values[0], axis)
    total = define("log", _define_total(define, define("exp", shifted), axis))
    spread = define.along(total, [axis], define.type(shifted).shape)
    return (define("subtract", shifted, spread),)


def _define_softmax_backward(
    define: Define, values: Sequence[int], given: Attributes
) -> tuple[int, ...]:
    (gradient, result), axis = values, integer(given, "axis")
    total = define.total(define("multiply", gradient, result), [axis])
    spread = define.along(total, [axis], define.type(result).shape)
    return (define("multiply", define("subtract", gradient, spread), result),)


def _define_log_softmax_backward(
    define: Define, values: Sequence[int], given: Attributes
) -> tuple[int, ...]:
    (gradient, result), axis = values, integer(given, "axis")
    total = define.along(define.total(gradient, [axis]), [axis], define.type(result).shape)
    return (define("subtract", gradient, define("multiply", define("exp", result), total)),)


_MASKED = "Where all along the axis are -infinity the result is"
SOFTMAX = _fused(
    "softmax", "exp(x) / sum(exp(x)) along an axis, the largest taken off first.", ("operand",),
    same_along_axis, _softmax, _define_softmax, _softmax_scale, _length,
    f"NaN and infinity give NaN along the axis; -infinity gives 0. {_MASKED} 0.", operations=6,
    temporaries=line_bytes(0, 3, 0, vectors=1), attributes=(_AXIS,), contiguous=True,
)  # fmt: skip
LOG_SOFTMAX = _fused(
    "log_softmax", "The logarithm of `softmax`.", ("operand",), same_along_axis, _log_softmax,
    _define_log_softmax, _log_softmax_scale, _length,
    f"NaN and infinity give NaN along the axis; -infinity stays. {_MASKED} -infinity.",
    operations=6,
    temporaries=line_bytes(1, 2, 1), attributes=(_AXIS,), contiguous=True,
)  # fmt: skip
SOFTMAX_BACKWARD = _fused(
    "softmax_backward", "The gradient of `softmax`, from its result.", ("gradient", "result"),
    _alike, _softmax_backward, _define_softmax_backward, _gradient_scale, _length,
    "NaN and infinities as by adding and multiplying.", operations=4, gradient=True,
    temporaries=line_bytes(1, 1, 0), attributes=(_AXIS,), contiguous=True,
)  # fmt: skip
LOG_SOFTMAX_BACKWARD = _fused(
    "log_softmax_backward", "The gradient of `log_softmax`, from its result.",
    ("gradient", "result"), _alike, _log_softmax_backward, _define_log_softmax_backward,
    _log_gradient_scale, _length, "NaN and infinities as by adding and multiplying.", operations=5,
    gradient=True, temporaries=line_bytes(0, 1, 0), attributes=(_AXIS,), contiguous=True,
)  # fmt: skip


# --- losses ---------------------------------------------------------------------------------------
def _loss_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    scores, labels = shapes[:2]
    if len(scores) != 2 or labels != scores[:1] or shapes[2:] not in ([], [labels]):
        raise GraphError("wrong_shape", "Scores are samples by classes, with a label for each.")
    return (labels,) if len(shapes) == 2 else (scores,)


def _cross_entropy(call: Call) -> None:
    xp, (scores, labels), (result,) = call.xp, call.operands, call.results
    require_indices(labels, scores.shape[1])
    size = _samples_at_once(xp, scores.shape)
    lent, ones = room(xp, (size, scores.shape[1]), scores.dtype), _ones(xp, scores)
    for start in range(0, len(labels), size):
        part = slice(start, start + size)
        given, raised = scores[part], lent[: len(labels[part])]
        total = raised_into(xp, given, raised, ones)
        if total is None:
            shifted_into(xp, given, 1, raised)
            chosen = raised[xp.arange(len(raised)), labels[part]]
            xp.exp(raised, out=raised)
            total = row_sums(xp, raised, ones)
        else:
            chosen = given[xp.arange(len(given)), labels[part]]
        xp.log(total, out=total)
        xp.subtract(total, chosen, out=result[part])


def _ones(xp: Any, rows: Array) -> Array:
    return xp.ones(rows.shape[1], rows.dtype)


def _samples_at_once(xp: Any, shape: Shape) -> int:
    return max(1, block_of(xp, prod(shape)) // shape[1]) if shape[1] else shape[0] or 1


def _cross_entropy_backward(call: Call) -> None:
    """(softmax - 1 at the label) times the sample's gradient."""
    xp, (scores, labels, gradient) = call.xp, call.operands
    require_indices(labels, scores.shape[1])
    size, ones = _samples_at_once(xp, scores.shape), _ones(xp, scores)
    for start in range(0, len(labels), size):
        part = slice(start, start + size)
        given, result = scores[part], call.results[0][part]
        total = raised_into(xp, given, result, ones)
        if total is None:
            shifted_into(xp, given, 1, result)
            xp.exp(result, out=result)
            total = row_sums(xp, result, ones)
        result *= (gradient[part] / total)[:, None]
        result[xp.arange(len(result)), labels[part]] -= gradient[part]


def _loss_scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
    return 2 * (1 + numpy.max(numpy.abs(operands[0]), axis=1, initial=0.0))


def _loss_gradient_scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
    scores, labels, gradient = operands
    parts = _softmax_scale([scores], {"axis": 1})
    parts[numpy.arange(len(labels)), labels.astype("int64")] += 1
    return parts * numpy.abs(gradient)[:, None]


def _classes(types: Types, _attributes: Attributes) -> float:
    return float(types[0].shape[1])


def _define_cross_entropy(
    define: Define, values: Sequence[int], _given: Attributes
) -> tuple[int, ...]:
    scores, labels = values
    (shares,) = _define_log_softmax(define, [scores], {"axis": 1})
    samples = define.type(labels).shape[0]
    column = define("reshape", labels, shape=(samples, 1))
    chosen = define("take_along_axis", shares, column, axis=1)
    return (define("negative", define("reshape", chosen, shape=(samples,))),)


def _define_cross_entropy_backward(
    define: Define, values: Sequence[int], _given: Attributes
) -> tuple[int, ...]:
    scores, labels, gradient = values
    of = define.type(scores)
    (shares,) = _define_softmax(define, [scores], {"axis": 1})
    hot = define("one_hot", labels, depth=of.shape[1])
    rest = define("subtract", shares, define("astype", hot, dtype=of.dtype))
    return (define("multiply", rest, define.vector(gradient, 0, of.shape)),)


_LABELS: DtypeTable = {(d, i): (d,) for d in FLOATS for i in ("int32", "int64")}
_LABELLED: DtypeTable = {(d, i, d): (d,) for d in FLOATS for i in ("int32", "int64")}
CROSS_ENTROPY = _fused(
    "cross_entropy", "log(sum(exp(scores))) - scores[label], for each sample.",
    ("scores", "labels"), _loss_shapes, _cross_entropy, _define_cross_entropy, _loss_scale,
    _classes, "NaN and infinity give NaN; a label that is no class is an error.", operations=6,
    temporaries=lambda t, _a: block_bytes(t, 1, 8, vectors=1), dtypes=_LABELS,
)  # fmt: skip
CROSS_ENTROPY_BACKWARD = _fused(
    "cross_entropy_backward", "The gradient of `cross_entropy`, of its scores.",
    ("scores", "labels", "gradient"), _loss_shapes, _cross_entropy_backward,
    _define_cross_entropy_backward, _loss_gradient_scale, _classes,
    "NaN and infinity give NaN; a label that is no class is an error.", operations=8,
    gradient=True, temporaries=lambda t, _a: block_bytes(t, 0, 8, vectors=1), dtypes=_LABELLED,
)  # fmt: skip


# --- layer norm and rms norm ----------------------------------------------------------------------
def _rows(shapes: Sequence[Shape], vectors: int) -> Shape:
    shape = shapes[0]
    if not shape or any(each != shape[-1:] for each in shapes[1 : 1 + vectors]):
        raise GraphError("wrong_shape", f"{list(shapes)}: weights go along the last axis.")
    return shape


def _layer_norm_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    shape = _rows(shapes, 2)
    return shape, shape[:-1], shape[:-1]


def _rms_norm_shapes(shapes: Sequence[Shape], _attributes: Attributes) -> tuple[Shape, ...]:
    shape = _rows(shapes, 1)
    return shape, shape[:-1]


def _last(types: Types, _attributes: Attributes) -> float:
    return float(types[0].shape[-1])


def _inverse_root(xp: Any, mean_square: Array, epsilon: float) -> None:
    mean_square += mean_square.dtype.type(epsilon)
    xp.sqrt(mean_square, out=mean_square)
    xp.divide(1, mean_square, out=mean_square)


def _layer_norm(call: Call) -> None:
    xp, (operand, weight, bias) = call.xp, call.operands
    result, mean, rstd = call.results
    length = operand.shape[-1]
    ones, count = xp.ones(length, operand.dtype), operand.dtype.type(length)
    start = 0
    for source, target in row_blocks(xp, operand, result):
        part = slice(start, start + len(source))
        start = part.stop
        middle, spread = mean.reshape(-1)[part], rstd.reshape(-1)[part]
        xp.divide(row_sums(xp, source, ones), count, out=middle)
        xp.subtract(source, middle[:, None], out=target)
        xp.divide(row_dots(xp, target, target), count, out=spread)
        _inverse_root(xp, spread, number(call.attributes, "epsilon"))
        target *= spread[:, None]
        target *= weight
        target += bias


def _rms_norm(call: Call) -> None:
    xp, (operand, weight) = call.xp, call.operands
    result, rstd = call.results
    # Not `mean`, which warns of rows without elements.
    xp.sum(xp.square(operand), axis=-1, out=rstd)
    rstd /= operand.dtype.type(operand.shape[-1])
    _inverse_root(xp, rstd, number(call.attributes, "epsilon"))
    xp.multiply(operand, rstd[..., None], out=result)
    result *= weight


def _moments(operand: Array, epsilon: float) -> tuple[Array, Array, Array]:
    """Deviations, mean magnitude, 1 / standard deviation, of rows that stay rows."""
    mean = numpy.mean(operand, axis=-1, keepdims=True)
    size = numpy.mean(numpy.abs(operand), axis=-1, keepdims=True)
    variance = numpy.mean((operand - mean) ** 2, axis=-1, keepdims=True)
    return operand - mean, size, 1 / numpy.sqrt(variance + epsilon)


def _layer_norm_scale(operands: Sequence[Array], attributes: Attributes) -> Any:
    operand, weight, bias = operands
    deviation, size, rstd = _moments(operand, number(attributes, "epsilon"))
    # How far the variance is off, relative to itself and epsilon: see `var`.
    loose = 1 + size * rstd
    result = numpy.abs(weight) * rstd * (size + numpy.abs(deviation) * loose) + numpy.abs(bias)
    return result, size[..., 0], (rstd * loose)[..., 0]


def _rms_norm_scale(operands: Sequence[Array], attributes: Attributes) -> Any:
    operand, weight = operands
    mean = numpy.mean(operand**2, axis=-1, keepdims=True)
    rstd = 1 / numpy.sqrt(mean + number(attributes, "epsilon"))
    return numpy.abs(weight * operand) * rstd, rstd[..., 0]


def _define_rstd(define: Define, mean_square: int, epsilon: float) -> int:
    return define("rsqrt", define.plus(mean_square, epsilon))


def _define_layer_norm(define: Define, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
    operand, weight, bias = values
    shape = define.type(operand).shape
    last = len(shape) - 1
    mean = define.mean(operand, [last])
    deviation = define("subtract", operand, define.along(mean, [last], shape))
    variance = define.mean(define("square", deviation), [last])
    rstd = _define_rstd(define, variance, number(given, "epsilon"))
    scaled = define("multiply", deviation, define.along(rstd, [last], shape))
    weighted = define("multiply", scaled, define.vector(weight, last, shape))
    return define("add", weighted, define.vector(bias, last, shape)), mean, rstd


def _define_rms_norm(define: Define, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
    operand, weight = values
    shape = define.type(operand).shape
    last = len(shape) - 1
    mean = define.mean(define("square", operand), [last])
    rstd = _define_rstd(define, mean, number(given, "epsilon"))
    scaled = define("multiply", operand, define.along(rstd, [last], shape))
    return define("multiply", scaled, define.vector(weight, last, shape)), rstd


def _layer_norm_backward_shapes(
    shapes: Sequence[Shape], _attributes: Attributes
) -> tuple[Shape, ...]:
    gradient, operand, weight, mean, rstd = shapes
    if gradient != operand or mean != operand[:-1] or rstd != mean:
        raise GraphError("wrong_shape", "Gradient, operand and moments are those of `layer_norm`.")
    _rows([operand, weight], 1)
    return operand, weight, weight


def _layer_norm_backward(call: Call) -> None:
    """With h = (x - mean) rstd and p = g w: rstd (p - mean(p) - h mean(p h)), sum(g h), sum(g)."""
    xp, (gradient, operand, weight, mean, rstd) = call.xp, call.operands
    result, of_weight, of_bias = call.results
    count = operand.dtype.type(operand.shape[-1])
    of_weight.fill(0)
    of_bias.fill(0)
    start, lent = 0, xp.empty((0, 0), operand.dtype)
    for given, source, target in row_blocks(xp, gradient, operand, result):
        part = slice(start, start + len(source))
        start = part.stop
        lent = lent if lent.size else room(xp, source.shape, source.dtype)
        deviation, spread = lent[: len(source)], rstd.reshape(-1)[part]
        xp.subtract(source, mean.reshape(-1)[part, None], out=deviation)
        xp.multiply(given, deviation, out=target)
        of_weight += xp.matmul(spread, target)
        of_bias += xp.matmul(xp.ones(len(source), operand.dtype), given)
        shared, middle = xp.matmul(target, weight), xp.matmul(given, weight)
        shared *= spread
        shared *= spread
        shared /= count
        middle /= count
        deviation *= shared[:, None]
        xp.multiply(given, weight, out=target)
        target -= middle[:, None]
        target -= deviation
        target *= spread[:, None]


def _layer_norm_backward_scale(operands: Sequence[Array], _attributes: Attributes) -> Any:
    gradient, operand, weight, mean, rstd = (numpy.abs(each) for each in operands)
    normal = (operand + mean[..., None]) * rstd[..., None]
    product = gradient * weight
    shared = numpy.mean(product * normal, axis=-1, keepdims=True)
    inner = product + numpy.mean(product, axis=-1, keepdims=True) + normal * shared
    rows = tuple(range(operand.ndim - 1))
    return (
        rstd[..., None] * inner,
        numpy.sum(gradient * normal, axis=rows),
        numpy.sum(gradient, axis=rows),
    )


def _all_terms(types: Types, _attributes: Attributes) -> float:
    return float(types[0].elements)


def _define_layer_norm_backward(
    define: Define, values: Sequence[int], _given: Attributes
) -> tuple[int, ...]:
    gradient, operand, weight, mean, rstd = values
    shape = define.type(operand).shape
    last = len(shape) - 1
    rows = list(range(last))
    spread = define.along(rstd, [last], shape)
    deviation = define("subtract", operand, define.along(mean, [last], shape))
    normal = define("multiply", deviation, spread)
    product = define("multiply", gradient, define.vector(weight, last, shape))
    shared = define.along(define.mean(define("multiply", product, normal), [last]), [last], shape)
    centre = define.along(define.mean(product, [last]), [last], shape)
    inner = define("subtract", product, centre)
    inner = define("subtract", inner, define("multiply", normal, shared))
    return (
        define("multiply", inner, spread),
        define.total(define("multiply", gradient, normal), rows),
        define.total(gradient, rows),
    )


LAYER_NORM = _fused(
    "layer_norm", "Rows along the last axis brought to mean 0 and variance 1, then weighted: the"
    " result, the means, and 1 / sqrt(variance + epsilon).", ("operand", "weight", "bias"),
    _layer_norm_shapes, _layer_norm, _define_layer_norm, _layer_norm_scale, _last,
    "NaN and infinities give NaN in their row.", operations=8, results=3,
    temporaries=lambda t, _a: block_bytes(t, 0, 1, vectors=1), attributes=(_EPSILON,),
    contiguous=True,
)  # fmt: skip
RMS_NORM = _fused(
    "rms_norm", "Rows along the last axis brought to mean square 1, then weighted: the result, and"
    " 1 / sqrt(mean square + epsilon).", ("operand", "weight"), _rms_norm_shapes, _rms_norm,
    _define_rms_norm, _rms_norm_scale, _last, "NaN and infinities give NaN in their row.",
    operations=5, results=2, temporaries=lambda t, _a: t[0].nbytes, attributes=(_EPSILON,),
)  # fmt: skip
LAYER_NORM_BACKWARD = _fused(
    "layer_norm_backward", "The gradients of `layer_norm`: of its operand, weight and bias.",
    ("gradient", "operand", "weight", "mean", "rstd"), _layer_norm_backward_shapes,
    _layer_norm_backward, _define_layer_norm_backward, _layer_norm_backward_scale, _all_terms,
    "NaN and infinities as by adding and multiplying.", operations=14, results=3, gradient=True,
    temporaries=lambda t, _a: block_bytes(t, 1, 3, vectors=2), contiguous=True,
)  # fmt: skip

OPERATORS = (
    SOFTMAX, LOG_SOFTMAX, CROSS_ENTROPY, LAYER_NORM, RMS_NORM, SOFTMAX_BACKWARD,
    LOG_SOFTMAX_BACKWARD, CROSS_ENTROPY_BACKWARD, LAYER_NORM_BACKWARD,
)  # fmt: skip
