"""Pooling of images under windows, and its gradients; a few images at a time stay in cache."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, flag, integers
from opgraph.catalogue.declaration import (
    Call,
    Count,
    DtypeTable,
    ErrorRule,
    Implementation,
    Operator,
    ShapeRule,
    Types,
    Work,
)
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.indexing import require_indices, segments, unchecked
from opgraph.catalogue.references import Define, Definition, defined_by
from opgraph.catalogue.rules import EXACT_FROM_ATTRIBUTES, of_magnitudes
from opgraph.catalogue.window_definitions import added, constant, gathered, padded
from opgraph.catalogue.windows import (
    KERNEL,
    PLACING,
    SIZE,
    Windows,
    blocks,
    images_in,
    pooling_windows,
    space,
    wide,
)
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, INTEGERS, Array, Shape, TensorType, itemsize, room

_PADDING_COUNTS = Attribute(
    "count_include_pad", "boolean", "whether padding counts as elements that are 0"
)


def _pooled(shape: Shape, attributes: Attributes) -> Shape:
    return (*shape[:2], *pooling_windows(space(shape), attributes).places)


def _max_pool_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    return (_pooled(shapes[0], attributes),) * 2


def _average_pool_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    return (_pooled(shapes[0], attributes),)


def _image_sized(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    """Images of the attribute `size`, as many as the gradient has."""
    size = integers(attributes, SIZE.name)
    if len(space(shapes[0])) != len(size) or min(size) < 0:
        raise GraphError("wrong_shape", f"{list(shapes[0])} has not the axes of {list(size)}.")
    return ((*shapes[0][:2], *size),)


def _max_backward_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    if shapes[0] != shapes[1]:
        raise GraphError("wrong_shape", "There is one index for each gradient.")
    return _image_sized(shapes, attributes)


def _average_backward_shapes(shapes: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
    (result,) = _image_sized(shapes, attributes)
    if _pooled(result, attributes) != shapes[0]:
        raise GraphError("wrong_shape", "The gradient has one element for each window.")
    return (result,)


def _together(of: TensorType) -> int:
    """How many images of that type are taken together."""
    return images_in(prod(of.shape[1:]) * itemsize(of.dtype), of.shape[0])


# --- the largest ----------------------------------------------------------------------------------
def _lying(lines: Sequence[Array], combine: Callable[[Array, Array, int], Array]) -> Array:
    """A table over space made of one line for each axis."""
    found = numpy.zeros((1,) * len(lines), numpy.int64)
    for axis, line in enumerate(lines):
        shape = [len(line) if each == axis else 1 for each in range(len(lines))]
        found = combine(found, line.reshape(shape), axis)
    return found


def _flat(lines: Sequence[Array], sizes: Shape) -> Array:
    """Row-major indices into a space of these sizes."""
    return _lying(lines, lambda found, line, axis: found * sizes[axis] + line)


def _starts(around: Windows) -> list[Array]:
    """Along each axis where windows begin."""
    return [
        numpy.arange(around.places[n]) * around.strides[n] - around.before[n] for n in around.axes
    ]


def _firsts(around: Windows) -> list[Array]:
    """Along each axis the first position of each window that meets an element."""
    pairs = zip(_starts(around), around.dilations, strict=True)
    return [numpy.maximum(0, -(start // step)) for start, step in pairs]


def _lowest(dtype: str) -> float:
    return -math.inf if dtype in FLOATS else int(numpy.iinfo(dtype).min)


def _max_pool(call: Call) -> None:
    xp, operand, (values, indices) = call.xp, call.operands[0], call.results
    around = pooling_windows(operand.shape[2:], call.attributes)
    firsts = xp.asarray(_flat(_firsts(around), around.kernel).astype(numpy.uint16))
    starts = xp.asarray(_flat(_starts(around), around.size))
    steps = [numpy.arange(k) * d for k, d in zip(around.kernel, around.dilations, strict=True)]
    table = xp.asarray(_flat(steps, around.size).reshape(-1))
    together = _together(call.types[0])
    candidates = _Candidates(xp, (together, *values.shape[1:]), values.dtype)
    for block in blocks(len(operand), together):
        call.check()
        images, best = operand[block], values[block]
        chosen = candidates.chosen[: len(images)]
        lowest = _lowest(call.types[0].dtype)
        _choose(candidates, images, best, lowest, firsts, around, unordered=False)
        # A NaN stays the largest, so that one is there is seen at the end.
        if best.dtype.kind == "f" and xp.isnan(best).any():
            _choose(candidates, images, best, lowest, firsts, around, unordered=True)
        xp.take(table, chosen, out=indices[block], **unchecked(xp))
        indices[block] += starts
        if best.dtype.kind == "f":
            _fetch(xp, images, indices[block], best)


class _Candidates:
    """Room for one position of each window: its elements, whether they are larger, its number."""

    def __init__(self, xp: Any, shape: Shape, dtype: Any) -> None:
        self.xp = xp
        self.elements = room(xp, shape, dtype)
        self.larger = room(xp, shape, bool)
        self.numbers, self.chosen = xp.empty((2, *shape), xp.uint16)

    def keep_larger(
        self, candidates: Array, best: Array, chosen: Array, number: int, unordered: bool
    ) -> None:
        """Without a choice by element, which costs a branch: numbers rise, so the last stays."""
        xp, shape = self.xp, candidates.shape
        elements, larger, numbers = (
            each.reshape(-1)[: prod(shape)].reshape(shape)
            for each in (self.elements, self.larger, self.numbers)
        )
        elements[...] = candidates
        xp.greater(elements, best, out=larger)
        if unordered:
            larger |= xp.isnan(elements)
        xp.multiply(larger, numbers.dtype.type(number), out=numbers)
        xp.maximum(chosen, numbers, out=chosen)
        xp.maximum(best, elements, out=best)


def _choose(
    candidates: _Candidates,
    images: Array,
    best: Array,
    lowest: float,
    firsts: Array,
    around: Windows,
    *,
    unordered: bool,
) -> None:
    """Fill `best`, but for the sign of 0, and which position of each window it is."""
    chosen = candidates.chosen[: len(images)]
    best.fill(lowest)
    chosen[...] = firsts
    for number, places, elements in around.boxes():
        box = wide(places)
        candidates.keep_larger(images[wide(elements)], best[box], chosen[box], number, unordered)


def _fetch(xp: Any, images: Array, indices: Array, values: Array) -> None:
    """The elements that indices name, bit by bit."""
    lines = indices.shape[0] * indices.shape[1]
    space_of = prod(images.shape[2:])
    begun = xp.arange(0, lines * space_of, space_of or 1, dtype=xp.int64)[:lines, None]
    flat = indices.reshape(lines, prod(indices.shape[2:])) + begun
    if flat.size:
        xp.take(images.reshape(-1), flat, out=values.reshape(flat.shape), **unchecked(xp))


def _max_pool_bytes(types: Types, attributes: Attributes) -> int:
    # An element, whether it is larger, two numbers, and then an index; and the tables.
    around = pooling_windows(types[0].shape[2:], attributes)
    windows = prod(around.places)
    lines = _together(types[0]) * types[0].shape[1]
    each = itemsize(types[0].dtype) + 5 + 8
    return each * lines * windows + 8 * (windows + lines + around.positions) + 2 * windows


def _define_max_pool(define: Define, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
    of = define.type(values[0])
    around = pooling_windows(of.shape[2:], given)
    result = (*of.shape[:2], *around.places)
    parts = gathered(define, padded(define, values[0], around, _lowest(of.dtype)), around)
    line = define("arange", start=0, step=1, length=prod(around.size), dtype="int64")
    numbers = define("reshape", line, shape=(1, 1, *around.size))
    table = gathered(define, padded(define, numbers, around), around)
    spread = define("broadcast_to", table, shape=define.type(parts).shape)
    position = define("argmax", parts, axis=2, keepdims=True)
    index = define("take_along_axis", spread, position, axis=2)
    largest = define("max", parts, axes=(2,), keepdims=False)
    return largest, define("reshape", index, shape=result)


# --- its gradient ---------------------------------------------------------------------------------
def _max_pool_backward(call: Call) -> None:
    xp, (gradient, indices), result = call.xp, call.operands, call.results[0]
    elements = prod(result.shape[2:])
    require_indices(indices, elements)
    result.fill(0)
    if not gradient.size:
        return
    together = _together(call.types[1])
    room = (together, *gradient.shape[1:])
    updates, places = xp.empty(room, gradient.dtype), xp.empty(room, xp.int64)
    starts = xp.arange(together * room[1], dtype=xp.int64) * elements
    for block in blocks(len(gradient), together):
        call.check()
        count = len(gradient[block])
        updates[:count], places[:count] = gradient[block], indices[block]
        lines = places[:count].reshape(count * room[1], -1)
        lines += starts[: len(lines), None]
        _add_at(xp, result[block].reshape(-1), lines.reshape(-1), updates[:count].reshape(-1))


def _add_at(xp: Any, totals: Array, places: Array, updates: Array) -> None:
    """Add updates to their places, always in the same order."""
    if xp is numpy:
        numpy.add.at(totals, places, updates)
        return
    found, sums = segments(xp, places, updates)
    totals[found] += sums


def _max_backward_bytes(types: Types, _attributes: Attributes) -> int:
    gradient, indices = types
    images = _together(indices) * gradient.shape[1]
    return images * (prod(gradient.shape[2:]) * (itemsize(gradient.dtype) + 8) + 8)


def _max_backward_scale(operands: Sequence[Array], attributes: Attributes) -> Array:
    """How many windows chose an element, times the sum of their magnitudes."""
    gradient, indices = numpy.abs(operands[0]), operands[1].astype(numpy.int64)
    shape = (*gradient.shape[:2], *integers(attributes, SIZE.name))
    total, terms = numpy.zeros((2, *shape[:2], prod(shape[2:])))
    sample, channel = (each[..., None] for each in numpy.indices(shape[:2]))
    where = (sample, channel, indices.reshape(*shape[:2], prod(gradient.shape[2:])))
    numpy.add.at(total, where, gradient.reshape(where[2].shape))
    numpy.add.at(terms, where, 1.0)
    return (total * terms).reshape(shape)


def _define_max_backward(
    define: Define, values: Sequence[int], given: Attributes
) -> tuple[int, ...]:
    of = define.type(values[0])
    size = integers(given, SIZE.name)
    lines = (*of.shape[:2], prod(of.shape[2:]))
    updates, places = (define("reshape", each, shape=lines) for each in values)
    nothing = constant(define, of.dtype, (*of.shape[:2], prod(size)))
    total = define("add_along_axis", nothing, places, updates, axis=2)
    return (define("reshape", total, shape=(*of.shape[:2], *size)),)


# --- averages -------------------------------------------------------------------------------------
def _counts(xp: Any, around: Windows, attributes: Attributes, dtype: Any) -> Array:
    """By how many elements each window is divided."""
    if flag(attributes, _PADDING_COUNTS.name):
        return xp.full((1,) * len(around.size), around.positions, dtype)
    lines = []
    for axis, (start, first) in enumerate(zip(_starts(around), _firsts(around), strict=True)):
        last = (around.size[axis] - 1 - start) // around.dilations[axis]
        lines.append(numpy.minimum(around.kernel[axis] - 1, last) - first + 1)
    found = _lying(lines, lambda found, line, axis: line if axis == 0 else found * line)
    return xp.asarray(found.astype(dtype))


def _average_pool(call: Call) -> None:
    operand, result = call.operands[0], call.results[0]
    around = pooling_windows(operand.shape[2:], call.attributes)
    counts = _counts(call.xp, around, call.attributes, result.dtype)
    result.fill(0)
    for block in blocks(len(operand), _together(call.types[0])):
        call.check()
        images, sums = operand[block], result[block]
        for _, places, elements in around.boxes():
            sums[wide(places)] += images[wide(elements)]
        sums /= counts


def _average_pool_backward(call: Call) -> None:
    xp, gradient, result = call.xp, call.operands[0], call.results[0]
    around = pooling_windows(result.shape[2:], call.attributes)
    counts = _counts(xp, around, call.attributes, result.dtype)
    # Windows that do not meet add nothing: each element gets its share, or stays 0.
    apart = all(around.reach(axis) <= around.strides[axis] for axis in around.axes)
    result.fill(0)
    together = _together(call.types[0])
    lent = room(xp, (together, *gradient.shape[1:]), gradient.dtype)
    for block in blocks(len(gradient), together):
        call.check()
        images = result[block]
        shares = xp.divide(gradient[block], counts, out=lent[: len(images)])
        for _, places, elements in around.boxes():
            if apart:
                images[wide(elements)] = shares[wide(places)]
            else:
                images[wide(elements)] += shares[wide(places)]


def _counting_bytes(types: Types, _attributes: Attributes) -> int:
    """For the forward direction, whose operand has at least as many elements as windows."""
    return 2 * 8 * prod(types[0].shape[2:])


def _average_backward_bytes(types: Types, _attributes: Attributes) -> int:
    shares = _together(types[0]) * prod(types[0].shape[1:]) * itemsize(types[0].dtype)
    return shares + 2 * 8 * prod(types[0].shape[2:])


def _define_average(define: Define, values: Sequence[int], given: Attributes) -> tuple[int, ...]:
    of = define.type(values[0])
    around = pooling_windows(of.shape[2:], given)
    total = define.total(gathered(define, padded(define, values[0], around), around), [2])
    return (define("divide", total, _define_counts(define, total, around, given)),)


def _define_counts(define: Define, like: int, around: Windows, given: Attributes) -> int:
    of = define.type(like)
    outside = 1.0 if flag(given, _PADDING_COUNTS.name) else 0.0
    ones = padded(define, constant(define, of.dtype, (1, 1, *around.size), 1.0), around, outside)
    counts = define.total(gathered(define, ones, around), [2])
    return define("broadcast_to", counts, shape=of.shape)


def _define_average_backward(
    define: Define, values: Sequence[int], given: Attributes
) -> tuple[int, ...]:
    around = pooling_windows(integers(given, SIZE.name), given)
    shares = define("divide", values[0], _define_counts(define, values[0], around, given))
    return (added(define, [shares] * around.positions, around),)


# --- declarations ---------------------------------------------------------------------------------
def _positions(_types: Types, attributes: Attributes) -> int:
    return prod(integers(attributes, KERNEL.name))


def _operator(
    name: str,
    summary: str,
    operands: tuple[str, ...],
    attributes: tuple[Attribute, ...],
    shapes: ShapeRule,
    run: Implementation,
    definition: Definition,
    error: ErrorRule,
    special: str,
    *,
    dtypes: DtypeTable,
    flops: Work,
    temporaries: Count,
    contiguous: bool = False,
) -> Operator:
    return with_halves(
        Operator(
            name=name,
            family="neural_gradients" if name.endswith("backward") else "neural",
            summary=summary,
            operands=operands,
            attributes=attributes,
            dtypes=dtypes,
            shapes=shapes,
            run=run,
            reference=defined_by(definition),
            flops=flops,
            temporaries=temporaries,
            contiguous=contiguous,
            error=error,
            special_values=special,
        )
    )


def _average_error(run: Implementation, shapes: ShapeRule) -> ErrorRule:
    return ErrorRule(
        of_magnitudes(run, shapes),
        lambda t, a: _positions(t, a) + 1.0,
        "(positions of a window + 1) u times the same of magnitudes",
    )


def _per_window(shapes: ShapeRule) -> Work:
    def count(types: Types, attributes: Attributes) -> int:
        windows = prod(shapes([each.shape for each in types], attributes)[0])
        return windows * _positions(types, attributes)

    return Work(count, "1 for each position of each window")


_WINDOW = (KERNEL, *PLACING)
MAX_POOL = _operator(
    "max_pool",
    "The largest under a window at each place of images (samples, channels, space), and where it"
    " lies: its row-major index in the space of its image. Padding is below every element.",
    ("operand",), _WINDOW, _max_pool_shapes, _max_pool, _define_max_pool, EXACT_FROM_ATTRIBUTES,
    "Of equal ones the first; NaN gives NaN, and of several the last is named; of 0 and -0 the"
    " first.",
    dtypes={(dtype,): (dtype, "int64") for dtype in FLOATS + INTEGERS},
    flops=_per_window(_max_pool_shapes), temporaries=_max_pool_bytes, contiguous=True,
)  # fmt: skip
MAX_POOL_BACKWARD = _operator(
    "max_pool_backward", "The gradient of `max_pool`: what is added to each element named.",
    ("gradient", "indices"), (SIZE,), _max_backward_shapes, _max_pool_backward,
    _define_max_backward,
    ErrorRule(_max_backward_scale, lambda _t, _a: 1.0, "n u sum of the n |gradient| added"),
    "NaN and infinities as by adding; an index outside of the space is an error.",
    dtypes={(dtype, "int64"): (dtype,) for dtype in FLOATS},
    flops=Work(lambda t, _a: t[0].elements, "1 for each gradient"),
    temporaries=_max_backward_bytes,
)  # fmt: skip
AVERAGE_POOL = _operator(
    "average_pool", "The mean under a window at each place of images (samples, channels, space).",
    ("operand",), (*_WINDOW, _PADDING_COUNTS), _average_pool_shapes, _average_pool, _define_average,
    _average_error(_average_pool, _average_pool_shapes), "NaN and infinities as by adding.",
    dtypes={(dtype,): (dtype,) for dtype in FLOATS}, flops=_per_window(_average_pool_shapes),
    temporaries=_counting_bytes,
)  # fmt: skip
AVERAGE_POOL_BACKWARD = _operator(
    "average_pool_backward", "The gradient of `average_pool`, of its operand.", ("gradient",),
    (SIZE, *_WINDOW, _PADDING_COUNTS), _average_backward_shapes, _average_pool_backward,
    _define_average_backward, _average_error(_average_pool_backward, _average_backward_shapes),
    "NaN and infinities as by adding.", dtypes={(dtype,): (dtype,) for dtype in FLOATS},
    flops=Work(lambda t, a: t[0].elements * _positions(t, a), "1 for each position of each window"),
    temporaries=_average_backward_bytes,
)  # fmt: skip

OPERATORS = (MAX_POOL, AVERAGE_POOL, MAX_POOL_BACKWARD, AVERAGE_POOL_BACKWARD)
