"""Convolution of images, and its gradients.

What lies under the windows of a few images is copied into a buffer (im2col), then one product of
matrices follows. It is copied twice, in long runs: first for each position along the last axis, in
rows as long as those of the result, padding included; then, whole planes of these at a time, for
each position along the other axes. Buffers and operands in the order that BLAS takes are lent as
scratch. Depth, what the product sums over, is (position along the last axis, channel, position
along the others).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from math import prod
from operator import sub
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attribute, Attributes, integer, integers
from opgraph.catalogue.declaration import Call, ErrorRule, Implementation, Operator, Types, Work
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.references import Define, defined_by
from opgraph.catalogue.rules import of_magnitudes, same_dtype
from opgraph.catalogue.window_definitions import added, gathered, padded
from opgraph.catalogue.windows import (
    BLOCK_BYTES,
    KERNEL,
    LONGEST,
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
    if not 1 <= groups <= LONGEST or channels % groups:
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


class _Columns:
    """What lies under the windows of some images, as matrices: groups, depth, places."""

    def __init__(
        self, xp: Any, m: _Measures, together: int, lent: Array, *, samples_last: bool
    ) -> None:
        """With `samples_last` all images make one matrix of each group, else each makes its own."""
        self.measures = m
        self._xp, self._together = xp, together
        self._samples_last = samples_last
        rows, columns = _column_sizes(m, together)
        self._rows = lent[:rows]
        self._columns = lent[rows : rows + columns]
        # Zeros under the padding stay from block to block: what is written lies elsewhere.
        self._rows.fill(0)
        self._ready = _Ready(self, together)

    def of(self, images: Array) -> Array:
        """The matrices of at most `together` images."""
        m, count = self.measures, len(images)
        ready = self._ready if count == self._together else _Ready(self, count)
        given = images.reshape(count, m.groups, m.inner, *m.windows.size)
        for elements, row in ready.shifts:
            row[...] = given[..., elements]
        ready.columns[...] = ready.source
        return ready.matrices

    def rows_of(self, count: int) -> Array:
        """samples, groups, position along the last axis, channels, padded space, last places."""
        return _cut(self._rows, count, *_row_shape(self.measures))

    def columns_of(self, source: Array) -> tuple[Array, Array]:
        """Where a view of the windows is copied to, and the matrices that this then is."""
        m, count = self.measures, len(source)
        if not self._samples_last:
            columns = _cut(self._columns, *source.shape)
            return columns, columns.reshape(count, m.groups, m.depth, m.places)
        depth_ends = 3 + len(m.windows.kernel)
        shape = (*source.shape[1:depth_ends], count, *source.shape[depth_ends:])
        columns = _cut(self._columns, *shape)
        matrices = columns.reshape(m.groups, m.depth, count * m.places)
        return self._xp.moveaxis(columns, depth_ends - 1, 0), matrices


class _Ready:
    """Views for so many images, made once: for a small image they take longer than copying."""

    def __init__(self, under: _Columns, count: int) -> None:
        m = under.measures
        rows = under.rows_of(count)
        self.shifts = list(_shifts(rows, m.windows))
        self.source = _under_windows(rows, m)
        self.columns, self.matrices = under.columns_of(self.source)


def _shifts(rows: Array, around: Windows) -> Iterator[tuple[slice, Array]]:
    """For each position along the last axis: elements of images, and the rows they go to."""
    last = around.axes[-1]
    sizes = zip(around.before[:last], around.size[:last], strict=True)
    inside = [slice(before, before + size) for before, size in sizes]
    for position in range(around.kernel[last]):
        places, elements = around.line(last, position)
        if places.start < places.stop:
            yield elements, rows[(slice(None), slice(None), position, slice(None), *inside, places)]


def _row_shape(m: _Measures) -> Shape:
    around = m.windows
    return (
        m.groups, around.kernel[-1], m.inner, *around.padded[:-1], around.places[-1]
    )  # fmt: skip


def _column_sizes(m: _Measures, together: int) -> tuple[int, int]:
    """Elements of the two buffers."""
    return together * prod(_row_shape(m)), together * m.groups * m.depth * m.places


def _under_windows(rows: Array, m: _Measures) -> Array:
    """A view: samples, groups, last position, channels, other positions, places."""
    around, fixed = m.windows, rows.strides[:4]
    steps = rows.strides[4:]
    others = around.axes[:-1]
    strides = (
        *fixed,
        *(around.dilations[axis] * steps[axis] for axis in others),
        *(around.strides[axis] * steps[axis] for axis in others),
        steps[-1],
    )
    shape = (*rows.shape[:4], *around.kernel[:-1], *around.places)
    return as_strided_of(rows)(rows, shape, strides)


def as_strided_of(array: Array) -> Any:
    """The function of the array's own module: numpy's takes no array of cupy."""
    if isinstance(array, numpy.ndarray):
        return numpy.lib.stride_tricks.as_strided
    from importlib import import_module

    return import_module("cupy.lib.stride_tricks").as_strided


def _weights(weight: Array, m: _Measures, room: Array) -> Array:
    """groups, outer, depth: weights copied into the order of the columns."""
    around = m.windows
    parts = weight.reshape(m.groups, m.outer, m.inner, *around.kernel)
    rank = parts.ndim
    turned = parts.transpose(0, 1, rank - 1, *range(2, rank - 1))
    kept = _cut(room, *turned.shape)
    kept[...] = turned
    return kept.reshape(m.groups, m.outer, m.depth)


def _fold(columns: Array, around: Windows, images: Array) -> None:
    """Add what lies under each window to its place; in columns the position follows the channel."""
    images.fill(0)
    for number, places, elements in around.boxes():
        images[wide(elements)] += columns[:, :, number][wide(places)]


def _sizes(m: _Measures, dtype: str) -> tuple[int, int]:
    """Elements of the buffers, and the weights."""
    return sum(_column_sizes(m, m.together(dtype))), prod(m.weight)


def _is_empty(call: Call) -> bool:
    """Fill the result where there is nothing to add; numpy names no buffer that has no elements
    and sides without end."""
    if all(each.size for each in (*call.operands, *call.results)):
        return False
    call.results[0].fill(0)
    return True


def _convolution(call: Call) -> None:
    if _is_empty(call):
        return
    operand, weight = call.operands
    m = _forward([operand.shape, weight.shape], call.attributes)
    lent, kept = _parts(call, _sizes(m, call.types[0].dtype))
    _correlate(call, m, operand, _weights(weight, m, kept), lent)


def _correlate(call: Call, m: _Measures, images: Array, weights: Array, lent: Array) -> None:
    """Fill the result of a call with weights times what lies under the windows of images."""
    result, together = call.results[0], m.together(call.types[0].dtype)
    under = _Columns(call.xp, m, together, lent, samples_last=False)
    for block in blocks(m.samples, together):
        call.check()
        columns = under.of(images[block])
        out = result[block].reshape(len(columns), m.groups, m.outer, m.places)
        call.xp.matmul(weights, columns, out=out)


# --- its gradients --------------------------------------------------------------------------------
def _turned_around(m: _Measures) -> _Measures | None:
    """The gradient of the operand as a convolution of the gradient; None where it is not one."""
    around = m.windows
    reaches = [around.reach(axis) - 1 for axis in around.axes]
    before = tuple(map(sub, reaches, around.before))
    after = tuple(map(sub, reaches, around.after))
    if max(around.strides) > 1 or min((*before, *after)) < 0:
        return None
    placed = Windows(
        around.places, around.kernel, around.strides, before, after, around.dilations
    )  # fmt: skip
    return _Measures(placed, m.samples, m.groups, m.inner, m.outer)


def _input_sizes(m: _Measures, dtype: str) -> tuple[int, ...]:
    turned = _turned_around(m)
    if turned is not None:
        return _sizes(turned, dtype)
    together = m.together(dtype)
    columns = together * m.groups * m.depth * m.places
    return columns, prod(m.weight), together * prod(m.result[1:])


def _backward_input(call: Call) -> None:
    if _is_empty(call):
        return
    (gradient, weight), dtype = call.operands, call.types[0].dtype
    m = _of_operand([gradient.shape, weight.shape], call.attributes)
    turned = _turned_around(m)
    if turned is None:
        _spread_back(call, m)
        return
    lent, kept = _parts(call, _sizes(turned, dtype))
    parts = weight.reshape(m.groups, m.outer, m.inner, *m.windows.kernel).swapaxes(1, 2)
    backwards = (slice(None, None, -1),) * len(m.windows.kernel)
    weights = _weights(parts[(..., *backwards)], turned, kept)
    _correlate(call, turned, gradient, weights, lent)


def _spread_back(call: Call, m: _Measures) -> None:
    """Each window's share is computed, then added where the window lay."""
    (gradient, weight), result, dtype = call.operands, call.results[0], call.types[0].dtype
    flat, kept, given = _parts(call, _input_sizes(m, dtype))
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


def _sizes_for_weight(m: _Measures, dtype: str) -> tuple[int, ...]:
    together = _images_for_weight(m, dtype)
    images = together * prod(m.result[1:])
    return sum(_column_sizes(m, together)), prod(m.weight), prod(m.weight), images


def _backward_weight(call: Call) -> None:
    if _is_empty(call):
        return
    xp, (gradient, operand) = call.xp, call.operands
    m = _of_weight([gradient.shape, operand.shape], call.attributes)
    dtype = call.types[0].dtype
    lent, partial, total, given = _parts(call, _sizes_for_weight(m, dtype))
    part = _cut(partial, m.groups, m.depth, m.outer)
    whole = _cut(total, *part.shape)
    whole.fill(0)
    together = _images_for_weight(m, dtype)
    under = _Columns(xp, m, together, lent, samples_last=True)
    for block in blocks(m.samples, together):
        call.check()
        columns = under.of(operand[block])
        count = len(operand[block])
        right = xp.moveaxis(gradient[block], 0, 1)
        if count > 1 or not gradient.flags.c_contiguous:
            kept = _cut(given, *right.shape)
            kept[...] = right
            right = kept
        right = right.reshape(m.groups, m.outer, count * m.places).swapaxes(1, 2)
        # This way round: BLAS is slow at products of few rows over a great depth.
        xp.matmul(columns, right, out=part)
        whole += part
    _put_weights(whole, m, call.results[0])


def _put_weights(whole: Array, m: _Measures, result: Array) -> None:
    """Weights from groups, depth, outer into their own order."""
    kernel = m.windows.kernel
    parts = whole.reshape(m.groups, kernel[-1], m.inner, *kernel[:-1], m.outer)
    rank = parts.ndim
    shape = (m.groups, m.outer, m.inner, *kernel)
    result.reshape(shape)[...] = parts.transpose(0, rank - 1, *range(2, rank - 1), 1)


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
    result="result", words="weights of one result", sizes=_sizes,
)  # fmt: skip
BACKWARD_INPUT = _operator(
    "convolution_backward_input",
    "The gradient of `convolution`, of its operand; also the transposed convolution.",
    ("gradient", "weight"), SIZE, _of_operand, _backward_input, _define_backward_input,
    lambda m: m.outer * m.windows.positions,
    result="operand", words="weights of one channel in a group", sizes=_input_sizes,
)  # fmt: skip
BACKWARD_WEIGHT = _operator(
    "convolution_backward_weight", "The gradient of `convolution`, of its weight.",
    ("gradient", "operand"), KERNEL, _of_weight, _backward_weight, _define_backward_weight,
    lambda m: m.samples * m.places,
    result="weight", words="samples times places", sizes=_sizes_for_weight,
)  # fmt: skip

OPERATORS = (CONVOLUTION, BACKWARD_INPUT, BACKWARD_WEIGHT)
