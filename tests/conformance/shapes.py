"""ONNX's operators that move elements, and those on indices, in ours."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.conformance.translation import DTYPES, Lowering, Node, Translation, Unsupported


def _given(
    t: Translation, node: Node, name: str, position: int, default: Sequence[int] | None = None
) -> list[int] | None:
    """Integers that are an attribute in one opset and an input in another."""
    value = node.get(position)
    if value is not None:
        return list(t.integers(value))
    found = node.attribute(name)
    return list(found) if found is not None else (None if default is None else list(default))


def reshape(t: Translation, node: Node) -> int:
    own, wanted = t.shape(node[0]), _given(t, node, "shape", 1) or []
    if not node.attribute("allowzero", 0):
        wanted = [own[place] if side == 0 else side for place, side in enumerate(wanted)]
    if -1 in wanted:
        rest = math.prod(side for side in wanted if side != -1)
        wanted[wanted.index(-1)] = math.prod(own) // rest if rest else 0
    return t.reshape(node[0], wanted)


def flatten(t: Translation, node: Node) -> int:
    shape = t.shape(node[0])
    axis = node.attribute("axis", 1)
    axis = axis if axis >= 0 else axis + len(shape)
    return t.reshape(node[0], (math.prod(shape[:axis]), math.prod(shape[axis:])))


def squeeze(t: Translation, node: Node) -> int:
    shape = t.shape(node[0])
    axes = _given(t, node, "axes", 1)
    gone = [axis for axis, side in enumerate(shape) if side == 1] if axes is None else axes
    gone = [axis % len(shape) for axis in gone]
    return t.reshape(node[0], [side for axis, side in enumerate(shape) if axis not in gone])


def unsqueeze(t: Translation, node: Node) -> int:
    axes, shape = _given(t, node, "axes", 1) or [], list(t.shape(node[0]))
    rank = len(shape) + len(axes)
    for axis in sorted(axis % rank for axis in axes):
        shape.insert(axis, 1)
    return t.reshape(node[0], shape)


def transpose(t: Translation, node: Node) -> int:
    rank = len(t.shape(node[0]))
    return t("permute_dims", node[0], axes=tuple(node.attribute("perm", range(rank)[::-1])))


def expand(t: Translation, node: Node) -> int:
    import numpy as np

    shape = np.broadcast_shapes(t.shape(node[0]), t.integers(node[1]))
    return t.spread(node[0], shape)


def concat(t: Translation, node: Node) -> int:
    values = [each for each in node.inputs if each is not None]
    return t("concat", *values, axis=t.axis(node.attribute("axis"), values[0]))


def part(t: Translation, value: int, axis: int, start: int, stop: int) -> int:
    """What lies between two indices of one axis."""
    shape = t.shape(value)
    starts, stops = [0] * len(shape), list(shape)
    starts[axis], stops[axis] = start, stop
    return t("slice", value, starts=tuple(starts), stops=tuple(stops), steps=(1,) * len(shape))


def split(t: Translation, node: Node) -> list[int]:
    axis = t.axis(node.attribute("axis", 0), node[0])
    size = t.shape(node[0])[axis]
    parts = _given(t, node, "split", 1)
    if parts is None:
        count = node.attribute("num_outputs", len(node.outputs))
        each = -(-size // count)
        parts = [min(each, size - each * number) for number in range(count)]
    found, start = [], 0
    for length in parts:
        found.append(part(t, node[0], axis, start, start + length))
        start += length
    return found


def slice_(t: Translation, node: Node) -> int:
    shape = t.shape(node[0])
    starts, stops = _given(t, node, "starts", 1) or [], _given(t, node, "ends", 2) or []
    axes = _given(t, node, "axes", 3, range(len(starts))) or []
    steps = _given(t, node, "steps", 4, [1] * len(starts)) or []
    value = node[0]
    for start, stop, axis, step in zip(starts, stops, axes, steps, strict=True):
        value = _sliced(t, value, axis % len(shape), slice(start, stop, step))
    return value


def _sliced(t: Translation, value: int, axis: int, box: slice) -> int:
    size = t.shape(value)[axis]
    start, stop, step = box.indices(size)
    if step < 0:
        value = t("flip", value, axes=(axis,))
        start, stop, step = size - 1 - start, size - 1 - stop, -step
    shape = t.shape(value)
    starts, stops, steps = [0] * len(shape), list(shape), [1] * len(shape)
    starts[axis], stops[axis], steps[axis] = start, max(start, stop), step
    return t("slice", value, starts=tuple(starts), stops=tuple(stops), steps=tuple(steps))


def tile(t: Translation, node: Node) -> int:
    return t("tile", node[0], counts=t.integers(node[1]))


def pad(t: Translation, node: Node) -> int:
    rank = len(t.shape(node[0]))
    widths = _given(t, node, "pads", 1) or []
    axes = _given(t, node, "", 3, range(rank)) or []
    before, after = [0] * rank, [0] * rank
    for place, axis in enumerate(axes):
        before[axis % rank] = widths[place]
        after[axis % rank] = widths[place + len(axes)]
    if min((*before, *after), default=0) < 0:
        raise Unsupported("padding that takes away")
    mode = node.attribute("mode", "constant")
    if mode != "constant":
        around = {"before": tuple(before), "after": tuple(after)}
        return t("pad", node[0], mode=mode, **around)
    filled = node.get(2)
    shape = tuple(a + b + c for a, b, c in zip(before, t.shape(node[0]), after, strict=True))
    if filled is None:
        return t("pad", node[0], before=tuple(before), after=tuple(after), mode="zero")
    whole = t.spread(t.reshape(filled, (1,) * rank), shape)
    return t("set_slice", whole, node[0], starts=tuple(before), steps=(1,) * rank)


def _positive(t: Translation, indices: int, size: int) -> int:
    """ONNX counts indices below 0 from the end; ours do not."""
    below = t("less", indices, t.number(0, indices))
    return t("where", below, t.plus(indices, size), indices)


def gather(t: Translation, node: Node) -> int:
    axis = t.axis(node.attribute("axis", 0), node[0])
    return t("take", node[0], _positive(t, node[1], t.shape(node[0])[axis]), axis=axis)


def _between(t: Translation, value: int, indices: int, axis: int) -> int:
    """The operand as large as the indices along the other axes."""
    for each, (own, wanted) in enumerate(zip(t.shape(value), t.shape(indices), strict=True)):
        if each != axis and own != wanted:
            value = part(t, value, each, 0, wanted)
    return value


def gather_elements(t: Translation, node: Node) -> int:
    axis = t.axis(node.attribute("axis", 0), node[0])
    indices = _positive(t, node[1], t.shape(node[0])[axis])
    return t("take_along_axis", _between(t, node[0], indices, axis), indices, axis=axis)


def scatter_elements(t: Translation, node: Node) -> int:
    names = {"none": "put_along_axis", "add": "add_along_axis"}
    reduction = node.attribute("reduction", "none")
    if reduction not in names:
        raise Unsupported(f"no operator for it: scatter by {reduction}")
    axis = t.axis(node.attribute("axis", 0), node[0])
    indices = _positive(t, node[1], t.shape(node[0])[axis])
    inner = _between(t, node[0], indices, axis)
    found = t(names[reduction], inner, indices, node[2], axis=axis)
    if t.shape(inner) == t.shape(node[0]):
        return found
    rank = len(t.shape(found))
    return t("set_slice", node[0], found, starts=(0,) * rank, steps=(1,) * rank)


def _flat_indices(t: Translation, shape: Sequence[int], indices: int) -> int:
    """Tuples of indices as places in row-major order."""
    depth = t.shape(indices)[-1]
    total = None
    for place in range(depth):
        column = part(t, indices, len(t.shape(indices)) - 1, place, place + 1)
        step = math.prod(shape[place + 1 : depth])
        moved = t.scaled(_positive(t, column, shape[place]), step)
        total = moved if total is None else t("add", total, moved)
    if total is None:
        raise Unsupported("no indices")
    return t.reshape(total, (math.prod(t.shape(total)),))


def gather_nd(t: Translation, node: Node) -> int:
    if node.attribute("batch_dims", 0):
        raise Unsupported("indices for each of a batch")
    shape, indices = t.shape(node[0]), t.shape(node[1])
    depth = indices[-1]
    rows = t.reshape(node[0], (math.prod(shape[:depth]), *shape[depth:]))
    found = t("take", rows, _flat_indices(t, shape, node[1]), axis=0)
    return t.reshape(found, (*indices[:-1], *shape[depth:]))


def scatter_nd(t: Translation, node: Node) -> int:
    reduction = node.attribute("reduction", "none")
    if reduction not in ("none", "add"):
        raise Unsupported(f"no operator for it: scatter by {reduction}")
    shape, depth = t.shape(node[0]), t.shape(node[1])[-1]
    inner = math.prod(shape[depth:])
    rows = t.reshape(node[0], (math.prod(shape[:depth]), inner))
    flat = _flat_indices(t, shape, node[1])
    count = t.shape(flat)[0]
    updates = t.reshape(node[2], (count, inner))
    if reduction == "add":
        return t.reshape(t("add_rows", rows, flat, updates), shape)
    places = t.spread(t.reshape(flat, (count, 1)), (count, inner))
    return t.reshape(t("put_along_axis", rows, places, updates, axis=0), shape)


def one_hot(t: Translation, node: Node) -> int:
    (depth,) = t.integers(node[1])
    indices = t.cast(node[0], "int64")
    indices = _positive(t, indices, depth)
    # What is outside is off, not an error as with ours.
    outside = t("logical_or", t("less", indices, t.number(0, indices)),
                t("greater_equal", indices, t.number(depth, indices)))  # fmt: skip
    safe = t("where", outside, t.number(0, indices), indices)
    hot = t("one_hot", safe, depth=depth)
    inside = t.reshape(t("logical_not", outside), (*t.shape(indices), 1))
    hot = t("logical_and", hot, t.spread(inside, t.shape(hot)))
    off, on = (t.spread(part(t, node[2], 0, n, n + 1), t.shape(hot)) for n in (0, 1))
    made = t("where", hot, on, off)
    rank = len(t.shape(made))
    axis = node.attribute("axis", -1) % rank
    axes = list(range(rank - 1))
    axes.insert(axis, rank - 1)
    return t("permute_dims", made, axes=tuple(axes))


def trilu(t: Translation, node: Node) -> int:
    second = node.get(1)
    offset = t.integers(second)[0] if second is not None else 0
    return t("triu" if node.attribute("upper", 1) else "tril", node[0], offset=offset)


def eye_like(t: Translation, node: Node) -> int:
    rows, columns = t.shape(node[0])
    target = node.attribute("dtype")
    dtype = DTYPES[target] if target is not None else t.dtype(node[0])
    return t("eye", rows=rows, columns=columns, offset=node.attribute("k", 0), dtype=dtype)


def shape(t: Translation, node: Node) -> int:
    sides = t.shape(node[0])[node.attribute("start", 0) : node.attribute("end")]
    numbers = [t("full_integers", shape=(1,), value=side, dtype="int64") for side in sides]
    if not numbers:
        return t("full_integers", shape=(0,), value=0, dtype="int64")
    return t("concat", *numbers, axis=0)


def size(t: Translation, node: Node) -> int:
    return t("full_integers", shape=(), value=math.prod(t.shape(node[0])), dtype="int64")


def range_(t: Translation, node: Node) -> int:
    dtype = t.dtype(node[0])
    wide = dtype if dtype not in ("float16", "bfloat16") else "float32"
    start, stop, step = (t.known(t.cast(node[n], wide)).item() for n in range(3))
    length = max(0, math.ceil((stop - start) / step))
    if dtype.startswith("int"):
        return t("arange", start=start, step=step, length=length, dtype=dtype)
    numbers = t.cast(t("arange", start=0, step=1, length=length, dtype="int64"), dtype)
    return t.plus(t.scaled(numbers, step), start)


def constant_of_shape(t: Translation, node: Node) -> int:
    from onnx import numpy_helper

    sides = t.integers(node[0]) if t.shape(node[0]) != (0,) else ()
    tensor = node.attribute("value")
    if tensor is None:
        return t("full", shape=sides, value=0.0, dtype="float32")
    value, dtype = numpy_helper.to_array(tensor).item(), DTYPES[tensor.data_type]
    if dtype.startswith(("int", "uint")):
        return t("full_integers", shape=sides, value=int(value), dtype=dtype)
    return t("full", shape=sides, value=float(value), dtype=dtype)


def _blocks(t: Translation, value: int, split: Sequence[int], axes: Sequence[int],
            joined: Sequence[int]) -> int:  # fmt: skip
    moved = t("permute_dims", t.reshape(value, split), axes=tuple(axes))
    return t.reshape(moved, joined)


def depth_to_space(t: Translation, node: Node) -> int:
    n, c, h, w = t.shape(node[0])
    b = node.attribute("blocksize")
    if node.attribute("mode", "DCR") == "DCR":
        split, axes = (n, b, b, c // (b * b), h, w), (0, 3, 4, 1, 5, 2)
    else:
        split, axes = (n, c // (b * b), b, b, h, w), (0, 1, 4, 2, 5, 3)
    return _blocks(t, node[0], split, axes, (n, c // (b * b), h * b, w * b))


def space_to_depth(t: Translation, node: Node) -> int:
    n, c, h, w = t.shape(node[0])
    b = node.attribute("blocksize")
    split = (n, c, h // b, b, w // b, b)
    if node.attribute("mode", "DCR") == "CRD":
        return _blocks(t, node[0], split, (0, 1, 3, 5, 2, 4), (n, c * b * b, h // b, w // b))
    return _blocks(t, node[0], split, (0, 3, 5, 1, 2, 4), (n, c * b * b, h // b, w // b))


def top_k(t: Translation, node: Node) -> tuple[int, ...]:
    axis = t.axis(node.attribute("axis", -1), node[0])
    count = t.integers(node[1])[0] if node.get(1) is not None else node.attribute("k")
    largest = bool(node.attribute("largest", 1))
    return t.all("topk", node[0], axis=axis, k=count, descending=largest)


LOWERINGS: dict[str, Lowering] = {
    "Concat": concat,
    "ConstantOfShape": constant_of_shape,
    "DepthToSpace": depth_to_space,
    "Expand": expand,
    "EyeLike": eye_like,
    "Flatten": flatten,
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "OneHot": one_hot,
    "Pad": pad,
    "Range": range_,
    "Reshape": reshape,
    "Scatter": scatter_elements,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
    "Shape": shape,
    "Size": size,
    "Slice": slice_,
    "SpaceToDepth": space_to_depth,
    "Split": split,
    "Squeeze": squeeze,
    "Tile": tile,
    "TopK": top_k,
    "Transpose": transpose,
    "Trilu": trilu,
    "Unsqueeze": unsqueeze,
}
