"""Layers of neural networks as operators of the catalogue, each with its gradient.

Matrices are rows by features, images samples by channels by rows by columns. A function takes the
tape first, then values; it returns the value of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from benchmarks.executor.tape import Tape

Gradients = Sequence["int | None"]


def only(given: Gradients) -> int:
    """The gradient of a layer with one result."""
    (gradient,) = given
    assert gradient is not None
    return gradient


def reshape(t: Tape, value: int, *shape: int) -> int:
    before = t.shape(value)
    result = t("reshape", value, shape=shape)
    t.note([result], [value], lambda g: t.give(value, t("reshape", only(g), shape=before)))
    return result


def permute(t: Tape, value: int, *axes: int) -> int:
    back = tuple(axes.index(axis) for axis in range(len(axes)))
    result = t("permute_dims", value, axes=axes)
    t.note([result], [value], lambda g: t.give(value, t("permute_dims", only(g), axes=back)))
    return result


def transposed(t: Tape, value: int) -> int:
    """The last two axes the other way round; no gradient."""
    rank = len(t.shape(value))
    return t("permute_dims", value, axes=(*range(rank - 2), rank - 1, rank - 2))


def spread(t: Tape, vector: int, axis: int, like: int) -> int:
    """A vector along one axis of another value, spread over the others; no gradient."""
    shape = t.shape(like)
    thin = tuple(size if each == axis else 1 for each, size in enumerate(shape))
    return t("broadcast_to", t("reshape", vector, shape=thin), shape=shape)


def total(t: Tape, value: int, *axes: int) -> int:
    return t("sum", value, axes=axes, keepdims=False, dtype="float32")


def number(t: Tape, value: float, like: int) -> int:
    """One number spread to the shape of another value."""
    shape = t.shape(like)
    one = t("full", shape=(1,) * len(shape), value=value, dtype="float32")
    return t("broadcast_to", one, shape=shape)


def add(t: Tape, left: int, right: int) -> int:
    result = t("add", left, right)

    def backward(given: Gradients) -> None:
        for each in (left, right):
            if t.wants(each):
                t.give(each, only(given))

    t.note([result], [left, right], backward)
    return result


def multiply(t: Tape, left: int, right: int) -> int:
    result = t("multiply", left, right)

    def backward(given: Gradients) -> None:
        for each, other in ((left, right), (right, left)):
            if t.wants(each):
                t.give(each, t("multiply", only(given), other))

    t.note([result], [left, right], backward)
    return result


def scale(t: Tape, value: int, factor: float) -> int:
    def scaled(each: int) -> int:
        return t("multiply", each, number(t, factor, each))

    result = scaled(value)
    t.note([result], [value], lambda g: t.give(value, scaled(only(g))))
    return result


def add_along(t: Tape, value: int, vector: int, axis: int) -> int:
    """Add a vector along one axis: a bias."""
    result = t("add", value, spread(t, vector, axis, value))
    others = [each for each in range(len(t.shape(value))) if each != axis]

    def backward(given: Gradients) -> None:
        t.give(vector, total(t, only(given), *others))
        t.give(value, only(given))

    t.note([result], [value, vector], backward)
    return result


def add_to_each(t: Tape, value: int, addend: int) -> int:
    """Add the same to each sample: what is learnt for each position."""
    shape = t.shape(value)
    one = t("reshape", addend, shape=(1, *shape[1:]))
    result = t("add", value, t("broadcast_to", one, shape=shape))

    def backward(given: Gradients) -> None:
        summed = total(t, only(given), 0)
        t.give(addend, t("reshape", summed, shape=t.shape(addend)))
        t.give(value, only(given))

    t.note([result], [value, addend], backward)
    return result


def matmul(t: Tape, left: int, right: int) -> int:
    result = t("matmul", left, right)

    def backward(given: Gradients) -> None:
        gradient = only(given)
        if t.wants(left):
            t.give(left, t("matmul", gradient, transposed(t, right)))
        if t.wants(right):
            t.give(right, t("matmul", transposed(t, left), gradient))

    t.note([result], [left, right], backward)
    return result


def product_with(t: Tape, value: int, weight: int, *, weigh: bool = True) -> int:
    """value @ weight^T: PyTorch keeps weights as (features out, features in).

    Without `weigh` the gradient of the weight is left to the caller.
    """
    result = t("matmul", value, transposed(t, weight))

    def backward(given: Gradients) -> None:
        gradient = only(given)
        if weigh:
            t.give(weight, t("matmul", transposed(t, gradient), value))
        if t.wants(value):
            t.give(value, t("matmul", gradient, weight))

    t.note([result], [value, weight], backward)
    return result


def linear(t: Tape, value: int, weight: int, bias: int) -> int:
    return add_along(t, product_with(t, value, weight), bias, 1)


def split(
    t: Tape, value: int, axis: int, count: int, also: Callable[[int], None] | None = None
) -> tuple[int, ...]:
    """Equal parts along an axis; `also` is told the gradient of the whole when it is there."""
    shape = t.shape(value)
    size = shape[axis] // count
    parts = []
    for number_ in range(count):
        starts = tuple(number_ * size if each == axis else 0 for each in range(len(shape)))
        stops = tuple(
            (number_ + 1) * size if each == axis else full for each, full in enumerate(shape)
        )
        parts.append(t("slice", value, starts=starts, stops=stops, steps=(1,) * len(shape)))

    def backward(given: Gradients) -> None:
        whole = [
            t("full", shape=t.shape(part), value=0.0, dtype="float32") if each is None else each
            for part, each in zip(parts, given, strict=True)
        ]
        gradient = t("concat", *whole, axis=axis)
        t.give(value, gradient)
        if also is not None:
            also(gradient)

    t.note(parts, [value], backward)
    return tuple(parts)


def _activation(t: Tape, name: str, value: int, from_result: bool) -> int:
    result = t(name, value)
    kept = result if from_result else value
    t.note([result], [value], lambda g: t.give(value, t(f"{name}_backward", only(g), kept)))
    return result


def relu(t: Tape, value: int) -> int:
    return _activation(t, "relu", value, from_result=True)


def sigmoid(t: Tape, value: int) -> int:
    return _activation(t, "sigmoid", value, from_result=True)


def tanh(t: Tape, value: int) -> int:
    return _activation(t, "tanh", value, from_result=True)


def gelu(t: Tape, value: int) -> int:
    return _activation(t, "gelu_tanh", value, from_result=False)


def softmax(t: Tape, value: int) -> int:
    axis = len(t.shape(value)) - 1
    result = t("softmax", value, axis=axis)
    t.note(
        [result],
        [value],
        lambda g: t.give(value, t("softmax_backward", only(g), result, axis=axis)),
    )
    return result


def layer_norm(t: Tape, value: int, weight: int, bias: int) -> int:
    result, mean, rstd = t.all("layer_norm", value, weight, bias, epsilon=1e-5)

    def backward(given: Gradients) -> None:
        found = t.all("layer_norm_backward", only(given), value, weight, mean, rstd)
        for each, gradient in zip((value, weight, bias), found, strict=True):
            t.give(each, gradient)

    t.note([result], [value, weight, bias], backward)
    return result


def embedding(t: Tape, table: int, indices: int) -> int:
    """Rows of a table for indices of rank 1."""
    result = t("take", table, indices, axis=0)

    def backward(given: Gradients) -> None:
        nothing = t("full", shape=t.shape(table), value=0.0, dtype="float32")
        t.give(table, t("add_rows", nothing, indices, only(given)))

    t.note([result], [table], backward)
    return result


def mean_of(t: Tape, value: int, *axes: int) -> int:
    """The mean along axes."""
    shape = t.shape(value)
    result = t("mean", value, axes=axes, keepdims=False)
    thin = tuple(1 if each in axes else size for each, size in enumerate(shape))
    share = 1.0 / prod(shape[axis] for axis in axes)

    def backward(given: Gradients) -> None:
        gradient = t("multiply", only(given), number(t, share, only(given)))
        t.give(value, t("broadcast_to", t("reshape", gradient, shape=thin), shape=shape))

    t.note([result], [value], backward)
    return result


def cross_entropy(t: Tape, scores: int, labels: int) -> int:
    """The mean over the samples, a scalar."""
    each = t("cross_entropy", scores, labels)

    def backward(given: Gradients) -> None:
        t.give(scores, t("cross_entropy_backward", scores, labels, only(given)))

    t.note([each], [scores], backward)
    return mean_of(t, each, 0)


# --- images ---------------------------------------------------------------------------------------
def _placing(stride: int, padding: int) -> dict[str, Any]:
    pads = (padding, padding)
    return {"strides": (stride, stride), "before": pads, "after": pads, "dilations": (1, 1)}


def convolution(t: Tape, images: int, weight: int, stride: int = 1, padding: int = 0) -> int:
    placing = {**_placing(stride, padding), "groups": 1}
    result = t("convolution", images, weight, **placing)
    size, kernel = t.shape(images)[2:], t.shape(weight)[2:]

    def backward(given: Gradients) -> None:
        gradient = only(given)
        if t.wants(images):
            back = t("convolution_backward_input", gradient, weight, size=size, **placing)
            t.give(images, back)
        t.give(weight, t("convolution_backward_weight", gradient, images, kernel=kernel, **placing))

    t.note([result], [images, weight], backward)
    return result


def batch_norm(
    t: Tape, images: int, weight: int, bias: int, mean: int, variance: int
) -> tuple[int, ...]:
    """The result, and in training the new running mean and variance (momentum 0.1)."""
    if not t.training:
        result = t("batch_norm_infer", images, weight, bias, mean, variance, epsilon=1e-5)
        return (result,)
    result, of_batch, spread_ = t.all("batch_norm_train", images, weight, bias, epsilon=1e-5)

    def backward(given: Gradients) -> None:
        gradient = only(given)
        found = t.all(
            "batch_norm_backward", gradient, images, weight, of_batch, spread_, epsilon=1e-5
        )
        for each, part in zip((images, weight, bias), found, strict=True):
            t.give(each, part)

    t.note([result], [images, weight, bias], backward)
    shape = t.shape(images)
    count = prod(shape) // shape[1]
    moved = _moved(t, mean, of_batch, 0.1)
    return result, moved, _moved(t, variance, spread_, 0.1 * count / (count - 1))


def _moved(t: Tape, running: int, fresh: int, share: float) -> int:
    kept = t("multiply", running, number(t, 0.9, running))
    return t("add", kept, t("multiply", fresh, number(t, share, fresh)))


def max_pool(t: Tape, images: int, size: int) -> int:
    placing = _placing(size, 0)
    result, indices = t.all("max_pool", images, kernel=(size, size), **placing)
    space = t.shape(images)[2:]
    t.note(
        [result],
        [images],
        lambda g: t.give(images, t("max_pool_backward", only(g), indices, size=space)),
    )
    return result


def average_pool(t: Tape, images: int, size: int) -> int:
    placing = {"kernel": (size, size), **_placing(size, 0), "count_include_pad": True}
    result = t("average_pool", images, **placing)
    space = t.shape(images)[2:]

    def backward(given: Gradients) -> None:
        t.give(images, t("average_pool_backward", only(given), size=space, **placing))

    t.note([result], [images], backward)
    return result
