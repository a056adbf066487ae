"""ONNX's pooling, transposed convolution and what is built of them, in our operators."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.conformance.neural import along_channels, convolution_of, padding
from tests.conformance.translation import Lowering, Node, Translation, Unsupported


@dataclass
class Window:
    """A pooling window; `beyond` is what rounding up adds behind, which counts as no element."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    before: list[int]
    after: list[int]
    beyond: list[int]

    @property
    def positions(self) -> int:
        return math.prod(self.kernel)

    def attributes(self, *, padded: bool = False) -> dict[str, Any]:
        """For our operators; `padded`: the operand brings its padding along."""
        rest = self.beyond if padded else list(map(sum, zip(self.after, self.beyond, strict=True)))
        return {
            "kernel": tuple(self.kernel),
            "strides": tuple(self.strides),
            "dilations": tuple(self.dilations),
            "before": (0,) * len(self.kernel) if padded else tuple(self.before),
            "after": tuple(rest),
        }


def window(t: Translation, node: Node) -> Window:
    """Of a pooling node."""
    sizes = t.shape(node[0])[2:]
    kernel, ones = list(node.attribute("kernel_shape")), [1] * len(sizes)
    strides = list(node.attribute("strides", ones))
    dilations = list(node.attribute("dilations", ones))
    before, after = padding(node, sizes, kernel, strides, dilations)
    found = Window(kernel, strides, dilations, list(before), list(after), [0] * len(sizes))
    if node.attribute("ceil_mode", 0):
        found.beyond = [_beyond(found, axis, size) for axis, size in enumerate(sizes)]
    return found


def _beyond(w: Window, axis: int, size: int) -> int:
    """What lets one more window in, unless it would begin in the padding behind."""
    stride, reach = w.strides[axis], w.dilations[axis] * (w.kernel[axis] - 1) + 1
    whole = w.before[axis] + size + w.after[axis]
    places = -(-(whole - reach) // stride) + 1
    if (places - 1) * stride >= size + w.before[axis]:
        places -= 1
    return max(0, (places - 1) * stride + reach - whole)


def max_pool(t: Translation, node: Node) -> list[int]:
    found, inside = t.all("max_pool", node[0], **window(t, node).attributes())
    if len(node.outputs) < 2:
        return [found]
    shape = t.shape(node[0])
    if node.attribute("storage_order", 0):
        inside = _by_columns(t, inside, shape[2:])
    count = math.prod(shape[:2])
    images = t("arange", start=0, step=math.prod(shape[2:]), length=count, dtype="int64")
    first = t.reshape(images, (*shape[:2], *(1,) * (len(shape) - 2)))
    return [found, t("add", inside, t.spread(first, t.shape(inside)))]


def _by_columns(t: Translation, places: int, space: Sequence[int]) -> int:
    """Row-major places of a plane, counted down its columns."""
    if len(space) != 2:
        raise Unsupported("an order of memory that is not ours")
    rows, columns = space
    wide = t.number(columns, places)
    column = t("multiply", t("remainder", places, wide), t.number(rows, places))
    return t("add", column, t("floor_divide", places, wide))


def average_pool(t: Translation, node: Node) -> int:
    w = window(t, node)
    if not node.attribute("count_include_pad", 0):
        return t("average_pool", node[0], count_include_pad=False, **w.attributes())
    # Padding counts, and what rounding up adds does not.
    around = {"before": (0, 0, *w.before), "after": (0, 0, *w.after)}
    padded = t("pad", node[0], mode="zero", **around)
    return t("average_pool", padded, count_include_pad=False, **w.attributes(padded=True))


def lp_pool(t: Translation, node: Node) -> int:
    w, power = window(t, node), node.attribute("p", 2)
    size = t("abs", node[0])
    raised = t("pow", size, t.number(power, size))
    mean = t("average_pool", raised, count_include_pad=True, **w.attributes())
    added = t.scaled(mean, w.positions)
    return t("pow", added, t.number(1 / power, added))


def max_unpool(t: Translation, node: Node) -> int:
    """The gradient of max pooling puts each where it was."""
    shape = t.shape(node[0])
    kernel = list(node.attribute("kernel_shape"))
    strides = list(node.attribute("strides", [1] * len(kernel)))
    pads = list(node.attribute("pads", [0] * 2 * len(kernel)))
    size = [
        (side - 1) * stride + wide - pads[axis] - pads[axis + len(kernel)]
        for axis, (side, stride, wide) in enumerate(zip(shape[2:], strides, kernel, strict=True))
    ]
    inside = t("remainder", node[1], t.number(math.prod(size), node[1]))
    found = t("max_pool_backward", node[0], inside, size=tuple(size))
    wanted = node.get(2)
    if wanted is None:
        return found
    more = tuple(a - b for a, b in zip(t.integers(wanted), t.shape(found), strict=True))
    return t("pad", found, mode="zero", before=(0,) * len(more), after=more)


def transposed(t: Translation, node: Node) -> int:
    """The gradient of a convolution, of its operand."""
    sizes, weight = t.shape(node[0])[2:], t.shape(node[1])
    ones = [1] * len(sizes)
    strides = list(node.attribute("strides", ones))
    dilations = list(node.attribute("dilations", ones))
    more = list(node.attribute("output_padding", [0] * len(sizes)))
    reach = [d * (k - 1) + 1 for d, k in zip(dilations, weight[2:], strict=True)]
    whole = [
        stride * (side - 1) + extra + far
        for stride, side, extra, far in zip(strides, sizes, more, reach, strict=True)
    ]
    before, size = _cut_off(node, sizes, strides, whole)
    after = [
        stride * (side - 1) + far - first - out
        for stride, side, far, first, out in zip(strides, sizes, reach, before, size, strict=True)
    ]
    found = t(
        "convolution_backward_input",
        node[0],
        node[1],
        size=tuple(size),
        strides=tuple(strides),
        before=tuple(before),
        after=tuple(max(0, each) for each in after),
        dilations=tuple(dilations),
        groups=node.attribute("group", 1),
    )
    bias = node.get(2)
    return found if bias is None else t("add", found, along_channels(t, bias, t.shape(found)))


def _cut_off(
    node: Node, sizes: Sequence[int], strides: Sequence[int], whole: Sequence[int]
) -> tuple[list[int], list[int]]:
    """What is taken away in front, and the size that is left."""
    auto, wanted = node.attribute("auto_pad", "NOTSET"), node.attribute("output_shape")
    if wanted is None and auto.startswith("SAME"):
        wanted = [side * stride for side, stride in zip(sizes, strides, strict=True)]
    if wanted is None:
        count = len(sizes)
        pads = node.attribute("pads", [0] * 2 * count)
        ends = zip(whole, pads[:count], pads[count:], strict=True)
        return list(pads[:count]), [side - first - last for side, first, last in ends]
    off = [max(0, side - out) for side, out in zip(whole, wanted, strict=True)]
    lower = auto == "SAME_UPPER"
    return [each // 2 if lower else each - each // 2 for each in off], list(wanted)


def convolution_integer(t: Translation, node: Node) -> int:
    operand, weight = (t.cast(node[place], "int32") for place in (0, 1))
    for place, value in ((2, operand), (3, weight)):
        if node.get(place) is None:
            continue
        point = t.cast(node[place], "int32")
        if place == 3 and t.shape(point) not in ((), (1,)):
            point = t.reshape(point, (*t.shape(point), *(1,) * (len(t.shape(value)) - 1)))
        moved = t("subtract", value, t.spread(point, t.shape(value)))
        operand, weight = (moved, weight) if place == 2 else (operand, moved)
    return convolution_of(t, node, operand, weight)


def local_response(t: Translation, node: Node) -> int:
    """Squares are added over neighbouring channels, which are an axis of space here."""
    shape, size = t.shape(node[0]), node.attribute("size")
    flat = t.reshape(t("square", node[0]), (shape[0], 1, shape[1], math.prod(shape[2:])))
    mean = t(
        "average_pool",
        flat,
        kernel=(size, 1),
        strides=(1, 1),
        dilations=(1, 1),
        before=((size - 1) // 2, 0),
        after=(size // 2, 0),
        count_include_pad=True,
    )
    share = t.scaled(t.reshape(mean, shape), node.attribute("alpha", 1e-4))
    base = t.plus(share, node.attribute("bias", 1.0))
    return t("divide", node[0], t("pow", base, t.number(node.attribute("beta", 0.75), base)))


def upsample(t: Translation, node: Node) -> int:
    if node.attribute("mode", "nearest") != "nearest":
        raise Unsupported("images in another size")
    value = node[0]
    for axis, scale in enumerate(t.known(node[1])):
        if scale != int(scale):
            raise Unsupported("images in another size")
        value = t("repeat_elements", value, axis=axis, count=int(scale))
    return value


LOWERINGS: dict[str, Lowering] = {
    "AveragePool": average_pool,
    "ConvInteger": convolution_integer,
    "ConvTranspose": transposed,
    "LRN": local_response,
    "LpPool": lp_pool,
    "MaxPool": max_pool,
    "MaxUnpool": max_unpool,
    "Upsample": upsample,
}
