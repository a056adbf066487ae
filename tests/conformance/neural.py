"""ONNX's operators of neural networks in ours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.conformance.reductions import multiplied, total
from tests.conformance.translation import Lowering, Node, Translation, Unsupported


def _softmax(name: str) -> Lowering:
    def lower(t: Translation, node: Node) -> int:
        value, shape = node[0], t.shape(node[0])
        if t.opset >= 13:
            return t(name, value, axis=t.axis(node.attribute("axis", -1), value))
        axis = node.attribute("axis", 1) % len(shape)
        flat = t.reshape(value, (math.prod(shape[:axis]), math.prod(shape[axis:])))
        return t.reshape(t(name, flat, axis=1), shape)

    return lower


def hardmax(t: Translation, node: Node) -> int:
    axis = t.axis(node.attribute("axis", -1), node[0])
    shape = t.shape(node[0])
    best = t("argmax", node[0], axis=axis, keepdims=False)
    hot = t.cast(t("one_hot", best, depth=shape[axis]), t.dtype(node[0]))
    axes = list(range(len(shape) - 1))
    axes.insert(axis, len(shape) - 1)
    return t("permute_dims", hot, axes=tuple(axes))


def layer_norm(t: Translation, node: Node) -> list[int]:
    value, shape = node[0], t.shape(node[0])
    axis = node.attribute("axis", -1) % len(shape)
    inner = math.prod(shape[axis:])
    rows = t.reshape(value, (*shape[:axis], inner))
    weight = t.reshape(t.spread(node[1], shape[axis:]), (inner,))
    third = node.get(2)
    bias = (
        t.number(0, weight) if third is None else t.reshape(t.spread(third, shape[axis:]), (inner,))
    )
    epsilon = float(node.attribute("epsilon", 1e-5))
    found, mean, rstd = t.all("layer_norm", rows, weight, bias, epsilon=epsilon)
    outer = (*shape[:axis], *(1,) * (len(shape) - axis))
    return [t.reshape(found, shape), t.reshape(mean, outer), t.reshape(rstd, outer)]


def rms_norm(t: Translation, node: Node) -> int:
    value, shape = node[0], t.shape(node[0])
    axis = node.attribute("axis", -1) % len(shape)
    inner = math.prod(shape[axis:])
    weight = t.reshape(t.spread(node[1], shape[axis:]), (inner,))
    epsilon = float(node.attribute("epsilon", 1e-5))
    found, _ = t.all("rms_norm", t.reshape(value, (*shape[:axis], inner)), weight, epsilon=epsilon)
    return t.reshape(found, shape)


def along_channels(t: Translation, vector: int, shape: Sequence[int]) -> int:
    """A vector along the second axis, spread to that shape."""
    rank = len(shape)
    return t.spread(t.reshape(vector, (1, t.shape(vector)[0], *(1,) * (rank - 2))), shape)


def _standardised(t: Translation, value: int, axes: tuple[int, ...], epsilon: float) -> int:
    shape = t.shape(value)
    mean = t.spread(t("mean", value, axes=axes, keepdims=True), shape)
    spread = t("var", value, axes=axes, keepdims=True, correction=0.0)
    rstd = t("rsqrt", t.plus(spread, epsilon))
    return t("multiply", t("subtract", value, mean), t.spread(rstd, shape))


def instance_norm(t: Translation, node: Node) -> int:
    shape = t.shape(node[0])
    axes = tuple(range(2, len(shape)))
    plain = _standardised(t, node[0], axes, node.attribute("epsilon", 1e-5))
    scaled = t("multiply", plain, along_channels(t, node[1], shape))
    return t("add", scaled, along_channels(t, node[2], shape))


def group_norm(t: Translation, node: Node) -> int:
    shape, groups = t.shape(node[0]), node.attribute("num_groups")
    n, c = shape[:2]
    grouped = t.reshape(node[0], (n, groups, c // groups * math.prod(shape[2:])))
    plain = _standardised(t, grouped, (2,), node.attribute("epsilon", 1e-5))
    plain = t.reshape(plain, shape)
    scaled = t("multiply", plain, along_channels(t, node[1], shape))
    return t("add", scaled, along_channels(t, node[2], shape))


def batch_norm(t: Translation, node: Node) -> int:
    if node.attribute("training_mode", 0):
        raise Unsupported("running statistics are a graph of their own")
    shape = t.shape(node[0])
    scale, bias, mean, variance = (along_channels(t, node[n], shape) for n in range(1, 5))
    rstd = t("rsqrt", t.plus(variance, node.attribute("epsilon", 1e-5)))
    plain = t("multiply", t("subtract", node[0], mean), rstd)
    return t("add", t("multiply", plain, scale), bias)


def mean_variance(t: Translation, node: Node) -> int:
    axes = tuple(sorted(node.attribute("axes", [0, 2, 3])))
    return _standardised(t, node[0], axes, 1e-18)


# --- losses ---------------------------------------------------------------------------------------
def nll(t: Translation, node: Node) -> int:
    return _picked(t, node, node[0])


def cross_entropy(t: Translation, node: Node) -> list[int]:
    shares = t("log_softmax", node[0], axis=1)
    return [_picked(t, node, shares), shares]


def _picked(t: Translation, node: Node, shares: int) -> int:
    """-shares at the labels, weighted and reduced."""
    labels = t.cast(node[1], "int64")
    classes = t.shape(shares)[1]
    ignored = node.attribute("ignore_index")
    keep = None
    if ignored is not None:
        keep = t("not_equal", labels, t.number(ignored, labels))
        labels = t("where", keep, labels, t.number(0, labels))
    shape = t.shape(labels)
    column = t.reshape(labels, (shape[0], 1, *shape[1:]))
    loss = t("negative", t.reshape(t("take_along_axis", shares, column, axis=1), shape))
    weights = node.get(2)
    weight = t.number(1, loss) if weights is None else t("take", weights, labels, axis=0)
    if keep is not None:
        weight = t("where", keep, weight, t.number(0, weight))
    loss = t("multiply", loss, weight)
    if keep is not None:
        loss = t("where", keep, loss, t.number(0, loss))
    reduction = node.attribute("reduction", "mean")
    every = tuple(range(len(shape)))
    assert classes > 0
    if reduction == "none":
        return loss
    added = total(t, loss, every, False)
    return added if reduction == "sum" else t("divide", added, total(t, weight, every, False))


# --- windows --------------------------------------------------------------------------------------
def padding(
    node: Node,
    sizes: Sequence[int],
    kernel: Sequence[int],
    strides: Sequence[int],
    dilations: Sequence[int],
) -> tuple[list[int], list[int]]:
    """Before and after each axis of space."""
    count = len(sizes)
    auto = node.attribute("auto_pad", "NOTSET")
    if auto in ("NOTSET", ""):
        pads = list(node.attribute("pads", [0] * 2 * count))
        return pads[:count], pads[count:]
    if auto == "VALID":
        return [0] * count, [0] * count
    before, after = [], []
    for size, wide, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        out = -(-size // stride)
        extra = max(0, (out - 1) * stride + (wide - 1) * dilation + 1 - size)
        less = extra // 2
        first = less if auto == "SAME_UPPER" else extra - less
        before.append(first)
        after.append(extra - first)
    return before, after


def convolution(t: Translation, node: Node) -> int:
    found = convolution_of(t, node, node[0], node[1])
    bias = node.get(2)
    if bias is None:
        return found
    return t("add", found, along_channels(t, bias, t.shape(found)))


def convolution_of(t: Translation, node: Node, operand: int, weight: int) -> int:
    """A convolution of these, as the attributes of the node say."""
    sizes, kernel = t.shape(operand)[2:], t.shape(weight)[2:]
    count = len(sizes)
    strides = list(node.attribute("strides", [1] * count))
    dilations = list(node.attribute("dilations", [1] * count))
    before, after = padding(node, sizes, kernel, strides, dilations)
    return t(
        "convolution",
        operand,
        weight,
        strides=tuple(strides),
        before=tuple(before),
        after=tuple(after),
        dilations=tuple(dilations),
        groups=node.attribute("group", 1),
    )


def global_pool(name: str) -> Lowering:
    def lower(t: Translation, node: Node) -> int:
        axes = tuple(range(2, len(t.shape(node[0]))))
        return t(name, node[0], axes=axes, keepdims=True)

    return lower


def dropout(t: Translation, node: Node) -> list[int]:
    """Out of training it changes nothing."""
    training = node.get(2)
    if training is not None and bool(t.known(training)):
        raise Unsupported("random numbers that are not ours")
    whole = t("equal", node[0], node[0])
    return [node[0], t("logical_or", whole, t("logical_not", whole))]


def matmul_integer(t: Translation, node: Node) -> int:
    left, right = (t.cast(node[n], "int32") for n in (0, 1))
    for position, name in ((2, "left"), (3, "right")):
        zero = node.get(position)
        if zero is not None:
            value = left if name == "left" else right
            shape = t.shape(value)
            point = t.cast(zero, "int32")
            if name == "left" and t.shape(point) not in ((), (1,)):
                point = t.reshape(point, (t.shape(point)[0], 1))
            value = t("subtract", value, t.spread(point, shape))
            left, right = (value, right) if name == "left" else (left, value)
    return multiplied(t, left, right)


LOWERINGS: dict[str, Lowering] = {
    "BatchNormalization": batch_norm,
    "Conv": convolution,
    "Dropout": dropout,
    "GlobalAveragePool": global_pool("mean"),
    "GlobalMaxPool": global_pool("max"),
    "GroupNormalization": group_norm,
    "Hardmax": hardmax,
    "InstanceNormalization": instance_norm,
    "LayerNormalization": layer_norm,
    "LogSoftmax": _softmax("log_softmax"),
    "MatMulInteger": matmul_integer,
    "MeanVarianceNormalization": mean_variance,
    "NegativeLogLikelihoodLoss": nll,
    "RMSNormalization": rms_norm,
    "Softmax": _softmax("softmax"),
    "SoftmaxCrossEntropyLoss": cross_entropy,
}
