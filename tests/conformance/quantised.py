"""ONNX's quantised numbers in our operators."""

from __future__ import annotations

from tests.conformance.reductions import multiplied
from tests.conformance.translation import DTYPES, Lowering, Node, Translation, Unsupported

INTEGERS = ("int8", "uint8", "int16", "uint16")


def _along(t: Translation, value: int, like: int, node: Node) -> int:
    """Scales or zero points: one for all, for each place along an axis, or for blocks there."""
    shape, own = t.shape(like), t.shape(value)
    if own in ((), (1,)):
        return t.spread(t.reshape(value, ()), shape)
    axis = t.axis(node.attribute("axis", 1), like)
    if len(own) == 1 and not node.attribute("block_size", 0):
        sides = [1] * len(shape)
        sides[axis] = own[0]
        return t.spread(t.reshape(value, sides), shape)
    block = node.attribute("block_size", 0) or -(-shape[axis] // own[axis])
    wide = t("repeat_elements", value, axis=axis, count=block)
    rank = len(shape)
    return t("slice", wide, starts=(0,) * rank, stops=tuple(shape), steps=(1,) * rank)


def dequantize(t: Translation, node: Node) -> int:
    target = t.dtype(node[1])
    if node.attribute("output_dtype", 0):
        target = DTYPES.get(node.attribute("output_dtype"), "")
    value = t.cast(node[0], "float32")
    if node.get(2) is not None:
        point = t.cast(node[2], "float32")
        value = t("subtract", value, _along(t, point, value, node))
    scale = t.cast(node[1], "float32")
    return t.cast(t("multiply", value, _along(t, scale, value, node)), target)


def quantize(t: Translation, node: Node) -> int:
    target = "uint8" if node.get(2) is None else t.dtype(node[2])
    if node.attribute("output_dtype", 0):
        target = DTYPES.get(node.attribute("output_dtype"), "")
    if target not in INTEGERS:
        raise Unsupported(f"dtype {target or 'of fewer bits'}")
    value = t.cast(node[0], "float32")
    scale = _along(t, t.cast(node[1], "float32"), value, node)
    whole = t("round", t("divide", value, scale))
    if node.get(2) is not None:
        point = t.cast(node[2], "float32")
        whole = t("add", whole, _along(t, point, whole, node))
    # Floats beyond the range become its ends.
    return t("astype", whole, dtype=target)


def dynamic(t: Translation, node: Node) -> list[int]:
    value = node[0]
    axes = tuple(range(len(t.shape(value))))
    zero = t("full", shape=(), value=0.0, dtype="float32")
    high = t("maximum", t("max", value, axes=axes, keepdims=False), zero)
    low = t("minimum", t("min", value, axes=axes, keepdims=False), zero)
    scale = t("divide", t("subtract", high, low), t.number(255, high))
    point = t("round", t("negative", t("divide", low, scale)))
    point = t("clip", point, t.number(0, point), t.number(255, point))
    whole = t("round", t("divide", value, t.spread(scale, t.shape(value))))
    moved = t("add", whole, t.spread(point, t.shape(value)))
    return [t("astype", moved, dtype="uint8"), scale, t("astype", point, dtype="uint8")]


def quantized_matmul(t: Translation, node: Node) -> int:
    """a, its scale and zero point; b, its scale and zero point; those of the result."""
    parts = []
    for place in (0, 3):
        value = t.cast(node[place], "int32")
        point = t.cast(node[place + 2], "int32")
        if t.shape(point) not in ((), (1,)):
            raise Unsupported("a zero point for each row")
        parts.append(t("subtract", value, t.spread(t.reshape(point, ()), t.shape(value))))
    found = t.cast(multiplied(t, *parts), "float32")
    scales = [t.reshape(t.cast(node[place], "float32"), ()) for place in (1, 4, 6)]
    factor = t("divide", t("multiply", scales[0], scales[1]), scales[2])
    whole = t("round", t("multiply", found, t.spread(factor, t.shape(found))))
    point = t.reshape(t.cast(node[7], "float32"), ())
    moved = t("add", whole, t.spread(point, t.shape(whole)))
    return t("astype", moved, dtype=t.dtype(node[7]))


LOWERINGS: dict[str, Lowering] = {
    "DequantizeLinear": dequantize,
    "DynamicQuantizeLinear": dynamic,
    "QLinearMatMul": quantized_matmul,
    "QuantizeLinear": quantize,
}
