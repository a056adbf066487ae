"""Convolution of images, and its gradients.

What lies under the windows of a few images is copied into a buffer (im2col), then one product of
matrices follows; the buffer, and operands in the order that BLAS takes, are lent as scratch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import prod

from opgraph.catalogue.attributes import Attribute, Attributes, integer, integers
from opgraph.catalogue.declaration import Call, ErrorRule, Implementation, Operator, Types, Work
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.references import Define, defined_by
from opgraph.catalogue.rules import of_magnitudes, same_dtype
from opgraph.catalogue.window_definitions import added, gathered, padded
from opgraph.catalogue.windows import (
    BLOCK_BYTES,
    KERNEL,
    PLACING,
    SIZE,
    Windows,
    blocks,
    images_in,
    space,
    wide,
    windows,
)
from opgraph.errors import GraphError
from opgraph.tensors import FLOATS, INTEGERS, Array, Shape, itemsize

_GROUPS = Attribute(
    "groups", "integer", "into how many parts the channels fall, each with weights of its own"
)
Measures = Callable[[Sequence[Shape], Attributes], "_Measures"]


class _Measures:
    """The sizes of a convolution: windows, samples, groups, channels of each on both sides."""

    def __init__(self, around: Windows, samples: int, groups: int, outer: int, inner: int) -> None:
        self.windows = around
        self.samples = samples
        self.groups = groups
        self.outer, self.inner = outer, inner
        self.places = prod(around.places)
        self.depth = inner * around.positions
        """Terms in one element of the convolution."""

    @property
    def operand(self) -> Shape:
        return (self.samples, self.groups * self.inner, *self.windows.size)

    @property
    def weight(self) -> Shape:
        return (self.groups * self.outer, self.inner, *self.windows.kernel)

    @property
    def result(self) -> Shape:
        return (self.samples, self.groups * self.outer, *self.windows.places)

    def together(self, dtype: str, room: int = BLOCK_BYTES) -> int:
        """How many images go into the buffer."""
        return images_in(
            self.groups * self.depth * self.places * itemsize(dtype), self.samples, room
        )


def _divided(channels: int, attributes: Attributes) -> tuple[int, int]:
    groups = integer(attributes, "groups")
    if groups < 1 or channels % groups:
        raise GraphError("wrong_shape", f"{channels} channels do not fall into {groups} groups.")
    return groups, channels // groups


def _forward(shapes: Sequence[Shape], attributes: Attributes) -> _Measures:
    operand, weight = shapes
    around = windows(space(operand), space(weight), attributes)
    groups, outer = _divided(weight[0], attributes)
    if operand[1] != groups * weight[1]:
        raise GraphError("wrong_shape", f"{list(weight)} is not for {operand[1]} channels.")
    return _Measures(around, operand[0], groups, outer, weight[1])


def _of_operand(shapes: Sequence[Shape], attributes: Attributes) -> _Measures:
    gradient, weight = shapes
    groups, outer = _divided(weight[0], attributes) if weight else (1, 0)
    around = windows(integers(attributes, SIZE.name), space(weight), attributes)
    return _fitting(_Measures(around, gradient[0], groups, outer, weight[1]), gradient)


def _of_weight(shapes: Sequence[Shape], attributes: Attributes) -> _Measures:
    gradient, operand = shapes
    around = windows(space(operand), integers(attributes, KERNEL.name), attributes)
    groups, inner = _divided(operand[1], attributes)
    _, outer = _divided(gradient[1], attributes)
    return _fitting(_Measures(around, operand[0], groups, outer, inner), gradient)


def _fitting(measures: _Measures, gradient: Shape) -> _Measures:
    if measures.result != gradient:
        raise GraphError("wrong_shape", f"The gradient is {list(measures.result)} there.")
    return measures


# --- running --------------------------------------------------------------------------------------
def _parts(call: Call, sizes: Sequence[int]) -> list[Array]:
    """The scratch, cut into flat arrays of the result's dtype."""
    flat = call.scratch.view(call.results[0].dtype)
    ends = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    return [flat[start:stop] for start, stop in pairwise(ends)]


def _cut(flat: Array, *shape: int) -> Array:
    return flat[: prod(shape)].reshape(shape)


def _unfold(images: Array, around: Windows, columns: Array) -> None:
    """Copy what lies under each window; `columns` is samples, channels, position, places."""
    for number, places, elements in around.boxes():
        columns[:, :, number][wide(places)] = images[wide(elements)]


def _fold(columns: Array, around: Windows, images: Array) -> None:
    """Add what lies under each window; the other way round."""
    images.fill(0)
    for number, places, elements in around.boxes():
        images[wide(elements)] += columns[:, :, number][wide(places)]


def _sizes(measures: _Measures, dtype: str) -> tuple[int, int, int]:
    """Elements of the buffer, the weights, and a block of the result's images."""
    together = measures.together(dtype)
    columns = together * measures.groups * measures.depth * measures.places
    return columns, prod(measures.weight), together * prod(measures.result[1:])


def _convolution(call: Call) -> None:
    (operand, weight), result = call.operands, call.results[0]
    m = _forward([operand.shape, weight.shape], call.attributes)
    flat, kept = _parts(call, _sizes(m, call.types[0].dtype)[:2])
    weights = _cut(kept, *weight.shape)
    weights[...] = weight
    weights = weights.reshape(m.groups, m.outer, m.depth)
    flat.fill(0)
    together = m.together(call.types[0].dtype)
    for block in blocks(m.samples, together):
        call.check()
        images = operand[block]
        # Zeros under the padding stay from block to block: what is written lies elsewhere.
        if len(images) != together:
            flat.fill(0)
        shape = (len(images), m.groups * m.inner, m.windows.positions, *m.windows.places)
        columns = _cut(flat, *shape)
        _unfold(images, m.windows, columns)
        call.xp.matmul(
            weights,
            columns.reshape(len(images), m.groups, m.depth, m.places),
            out=result[block].reshape(len(images), m.groups, m.outer, m.places),
        )


def _backward_input(call: Call) -> None:
    (gradient, weight), result = call.operands, call.results[0]
    m = _of_operand([gradient.shape, weight.shape], call.attributes)
    dtype = call.types[0].dtype
    flat, kept, given = _parts(call, _sizes(m, dtype))
    weights = _cut(kept, *weight.shape)
    weights[...] = weight
    turned = weights.reshape(m.groups, m.outer, m.depth).swapaxes(1, 2)
    for block in blocks(m.samples, m.together(dtype)):
        call.check()
        images = _cut(given, *gradient[block].shape)
        images[...] = gradient[block]
        columns = _cut(flat, len(images), m.groups, m.depth, m.places)
        call.xp.matmul(
            turned, images.reshape(len(images), m.groups, m.outer, m.places), out=columns
        )
        shape = (len(images), m.groups * m.inner, m.windows.positions, *m.windows.places)
        _fold(columns.reshape(shape), m.windows, result[block])


def _images_for_weight(m: _Measures, dtype: str) -> int:
    # Each block adds to the whole result, so a block is no smaller than that.
    return m.together(dtype, max(BLOCK_BYTES, prod(m.weight) * itemsize(dtype)))


def _sizes_for_weight(m: _Measures, dtype: str) -> tuple[int, int, int]:
    together = _images_for_weight(m, dtype)
    columns = together * m.groups * m.depth * m.places
    return columns, prod(m.weight), together * prod(m.result[1:])


def _backward_weight(call: Call) -> None:
    xp, (gradient, operand), result = call.xp, call.operands, call.results[0]
    m = _of_weight([gradient.shape, operand.shape], call.attributes)
    dtype = call.types[0].dtype
    flat, partial, given = _parts(call, _sizes_for_weight(m, dtype))
    part = _cut(partial, m.groups, m.outer, m.depth)
    together = _images_for_weight(m, dtype)
    result.fill(0)
    flat.fill(0)
    for block in blocks(m.samples, together):
        call.check()
        images = operand[block]
        count = len(images)
        if count != together:
            flat.fill(0)
        columns = _cut(flat, m.groups * m.inner, m.windows.positions, count, *m.windows.places)
        _unfold(images, m.windows, xp.moveaxis(columns, 2, 0))
        left = _cut(given, m.groups * m.outer, count, *m.windows.places)
        left[...] = xp.moveaxis(gradient[block], 0, 1)
        xp.matmul(
            left.reshape(m.groups, m.outer, count * m.places),
            columns.reshape(m.groups, m.depth, count * m.places).swapaxes(1, 2),
            out=part,
        )
        result += part.reshape(result.shape)


# --- definitions ----------------------------------------------------------------------------------
def _define_columns(define: Define, operand: int, m: _Measures) -> int:
    """samples, groups, depth, places."""
    columns = gathered(define, padded(define, operand, m.windows), m.windows)
    return define("reshape", columns, shape=(m.samples, m.groups, m.depth, m.places))


def _define_weights(define: Define, weight: int, m: _Measures) -> int:
    """samples, groups, outer, depth."""
    shape = (m.samples, m.groups, m.outer, m.depth)
    one = define("reshape", weight, shape=(1, *shape[1:]))
    return define("broadcast_to", one, shape=shape)


def _define_convolution(define: Define, values: Sequence[int], given: Attributes) -> int:
    m = _forward([define.type(each).shape for each in values], given)
    columns = _define_columns(define, values[0], m)
    found = define("matmul", _define_weights(define, values[1], m), columns)
    return define("reshape", found, shape=m.result)


def _define_backward_input(define: Define, values: Sequence[int], given: Attributes) -> int:
    m = _of_operand([define.type(each).shape for each in values], given)
    weights = define("permute_dims", _define_weights(define, values[1], m), axes=(0, 1, 3, 2))
    shape = (m.samples, m.groups, m.outer, m.places)
    columns = define("matmul", weights, define("reshape", values[0], shape=shape))
    leading, positions = (m.samples, m.groups * m.inner), m.windows.positions
    columns = define("reshape", columns, shape=(*leading, positions, m.places))
    parts = []
    for number in range(positions):
        part = define(
            "slice", columns, starts=(0, 0, number, 0), stops=(*leading, number + 1, m.places),
            steps=(1,) * 4,
        )  # fmt: skip
        parts.append(define("reshape", part, shape=(*leading, *m.windows.places)))
    return added(define, parts, m.windows)


def _define_backward_weight(define: Define, values: Sequence[int], given: Attributes) -> int:
    m = _of_weight([define.type(each).shape for each in values], given)
    columns = define("permute_dims", _define_columns(define, values[1], m), axes=(0, 1, 3, 2))
    shape = (m.samples, m.groups, m.outer, m.places)
    product = define("matmul", define("reshape", values[0], shape=shape), columns)
    return define("reshape", define.total(product, [0]), shape=m.weight)


# --- declarations ---------------------------------------------------------------------------------
def _operator(
    name: str,
    summary: str,
    operands: tuple[str, str],
    attribute: Attribute | None,
    measures: Measures,
    run: Implementation,
    definition: Callable[[Define, Sequence[int], Attributes], int],
    terms: Callable[[_Measures], int],
    *,
    result: str,
    words: str,
    sizes: Callable[[_Measures, str], tuple[int, ...]],
) -> Operator:
    def of(types: Types, attributes: Attributes) -> _Measures:
        return measures([each.shape for each in types], attributes)

    def shapes(given: Sequence[Shape], attributes: Attributes) -> tuple[Shape, ...]:
        return (getattr(measures(given, attributes), result),)

    def scratch(types: Types, attributes: Attributes) -> int:
        dtype = types[0].dtype
        return sum(sizes(of(types, attributes), dtype)) * itemsize(dtype)

    def flops(types: Types, attributes: Attributes) -> int:
        m = of(types, attributes)
        return 2 * prod(m.result) * m.depth

    return with_halves(
        Operator(
            name=name,
            family="neural" if run is _convolution else "neural_gradients",
            summary=summary,
            operands=operands,
            attributes=(*((attribute,) if attribute else ()), *PLACING, _GROUPS),
            dtypes=same_dtype(2, FLOATS + INTEGERS),
            shapes=shapes,
            run=run,
            reference=defined_by(definition),
            flops=Work(flops, "2 for each weight of each element of the convolution"),
            scratch=scratch,
            error=ErrorRule(
                of_magnitudes(run, shapes, scratch),
                lambda t, a: terms(of(t, a)) + 1.0,
                f"({words} + 1) u times the same of magnitudes",
            ),
            special_values="NaN and infinities as by multiplying and adding, and padding is 0;"
            " integers wrap.",
        )
    )


CONVOLUTION = _operator(
    "convolution",
    "Images (samples, channels, space) weighted and summed under a window at each place; `weight`"
    " is (channels of the result, channels of a group, window), and is not turned around.",
    ("operand", "weight"), None, _forward, _convolution, _define_convolution, lambda m: m.depth,
    result="result", words="weights of one result", sizes=lambda m, dtype: _sizes(m, dtype)[:2],
)  # fmt: skip
BACKWARD_INPUT = _operator(
    "convolution_backward_input",
    "The gradient of `convolution`, of its operand; also the transposed convolution.",
    ("gradient", "weight"), SIZE, _of_operand, _backward_input, _define_backward_input,
    lambda m: m.outer * m.windows.positions,
    result="operand", words="weights of one channel in a group", sizes=_sizes,
)  # fmt: skip
BACKWARD_WEIGHT = _operator(
    "convolution_backward_weight", "The gradient of `convolution`, of its weight.",
    ("gradient", "operand"), KERNEL, _of_weight, _backward_weight, _define_backward_weight,
    lambda m: m.samples * m.places,
    result="weight", words="samples times places", sizes=_sizes_for_weight,
)  # fmt: skip

OPERATORS = (CONVOLUTION, BACKWARD_INPUT, BACKWARD_WEIGHT)
