"""ONNX's reductions, scans and products in ours."""

from __future__ import annotations

import math
from collections.abc import Callable

from tests.conformance.translation import Lowering, Node, Translation, Unsupported

Reduce = Callable[[Translation, int, tuple[int, ...], bool], int]


def _axes(t: Translation, node: Node) -> tuple[int, ...] | None:
    """Rising axes; none where nothing is reduced."""
    rank = len(t.shape(node[0]))
    value = node.get(1)
    given = t.integers(value) if value is not None and t.shape(value) != (0,) else None
    given = node.attribute("axes") if given is None else given
    if given is None:
        return None if node.attribute("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted(axis % rank for axis in given))


def _reduction(reduce: Reduce, before: str = "") -> Lowering:
    def lower(t: Translation, node: Node) -> int:
        value = t(before, node[0]) if before else node[0]
        axes = _axes(t, node)
        keep = bool(node.attribute("keepdims", 1))
        return reduce(t, value, () if axes is None else axes, keep)

    return lower


def total(t: Translation, value: int, axes: tuple[int, ...], keep: bool) -> int:
    return t("sum", value, axes=axes, keepdims=keep, dtype=t.dtype(value))


def product(t: Translation, value: int, axes: tuple[int, ...], keep: bool) -> int:
    return t("prod", value, axes=axes, keepdims=keep, dtype=t.dtype(value))


def mean(t: Translation, value: int, axes: tuple[int, ...], keep: bool) -> int:
    return t("mean", value, axes=axes, keepdims=keep)


def _chosen(name: str) -> Reduce:
    def reduce(t: Translation, value: int, axes: tuple[int, ...], keep: bool) -> int:
        if math.prod(t.shape(value)[axis] for axis in axes) == 0:
            raise Unsupported("the largest of nothing: an error with us")
        return t(name, value, axes=axes, keepdims=keep)

    return reduce


def _then(name: str, reduce: Reduce) -> Reduce:
    return lambda t, value, axes, keep: t(name, reduce(t, value, axes, keep))


def log_sum_exp(t: Translation, value: int, axes: tuple[int, ...], keep: bool) -> int:
    if math.prod(t.shape(value)[axis] for axis in axes) == 0:
        return t("log", total(t, t("exp", value), axes, keep))
    highest = t("max", value, axes=axes, keepdims=True)
    shifted = t("subtract", value, t.spread(highest, t.shape(value)))
    found = t("log", total(t, t("exp", shifted), axes, True))
    found = t("add", found, highest)
    if keep:
        return found
    shape = t.shape(value)
    return t.reshape(found, [side for axis, side in enumerate(shape) if axis not in axes])


def _position(name: str) -> Lowering:
    def lower(t: Translation, node: Node) -> int:
        axis = t.axis(node.attribute("axis", 0), node[0])
        keep = bool(node.attribute("keepdims", 1))
        if not node.attribute("select_last_index", 0):
            return t(name, node[0], axis=axis, keepdims=keep)
        found = t(name, t("flip", node[0], axes=(axis,)), axis=axis, keepdims=keep)
        return t("subtract", t.number(t.shape(node[0])[axis] - 1, found), found)

    return lower


def _scan(name: str, neutral: int) -> Lowering:
    def lower(t: Translation, node: Node) -> int:
        value, axis = node[0], t.axis(t.integers(node[1])[0], node[0])
        back = bool(node.attribute("reverse", 0))
        if back:
            value = t("flip", value, axes=(axis,))
        if node.attribute("exclusive", 0):
            value = _moved_on(t, value, axis, neutral)
        found = t(name, value, axis=axis, dtype=t.dtype(value))
        return t("flip", found, axes=(axis,)) if back else found

    return lower


def _moved_on(t: Translation, value: int, axis: int, neutral: int) -> int:
    shape = list(t.shape(value))
    stops = list(shape)
    stops[axis] -= 1
    rank = len(shape)
    rest = t("slice", value, starts=(0,) * rank, stops=tuple(stops), steps=(1,) * rank)
    starts = [0] * rank
    starts[axis] = 1
    whole = t.number(neutral, value)
    return t("set_slice", whole, rest, starts=tuple(starts), steps=(1,) * rank)


def matmul(t: Translation, node: Node) -> int:
    return multiplied(t, node[0], node[1])


def multiplied(t: Translation, left: int, right: int) -> int:
    """numpy's rule: vectors get an axis, leading axes are spread."""
    import numpy as np

    a, b = t.shape(left), t.shape(right)
    left = t.reshape(left, (1, *a)) if len(a) == 1 else left
    right = t.reshape(right, (*b, 1)) if len(b) == 1 else right
    batch = np.broadcast_shapes(t.shape(left)[:-2], t.shape(right)[:-2])
    left = t.spread(left, (*batch, *t.shape(left)[-2:]))
    right = t.spread(right, (*batch, *t.shape(right)[-2:]))
    found = t("matmul", left, right)
    shape = list(t.shape(found))
    if len(b) == 1:
        del shape[-1]
    if len(a) == 1:
        del shape[-1 if len(b) == 1 else -2]
    return t.reshape(found, shape)


def gemm(t: Translation, node: Node) -> int:
    left = t("permute_dims", node[0], axes=(1, 0)) if node.attribute("transA", 0) else node[0]
    right = t("permute_dims", node[1], axes=(1, 0)) if node.attribute("transB", 0) else node[1]
    found = t.scaled(t("matmul", left, right), node.attribute("alpha", 1.0))
    third = node.get(2)
    if third is None:
        return found
    added = t.scaled(third, node.attribute("beta", 1.0))
    return t("add", found, t.spread(added, t.shape(found)))


def lp_normalised(t: Translation, node: Node) -> int:
    axis, order = t.axis(node.attribute("axis", -1), node[0]), node.attribute("p", 2)
    size = t("abs", node[0]) if order == 1 else t("square", node[0])
    length = total(t, size, (axis,), True)
    length = length if order == 1 else t("sqrt", length)
    length = t.spread(length, t.shape(node[0]))
    some = t("greater", length, t.number(0, length))
    safe = t("where", some, length, t.number(1, length))
    return t("divide", node[0], safe)


LOWERINGS: dict[str, Lowering] = {
    "ArgMax": _position("argmax"),
    "ArgMin": _position("argmin"),
    "CumProd": _scan("cumulative_prod", 1),
    "CumSum": _scan("cumulative_sum", 0),
    "Gemm": gemm,
    "LpNormalization": lp_normalised,
    "MatMul": matmul,
    "ReduceL1": _reduction(total, "abs"),
    "ReduceL2": _reduction(_then("sqrt", total), "square"),
    "ReduceLogSum": _reduction(_then("log", total)),
    "ReduceLogSumExp": _reduction(log_sum_exp),
    "ReduceMax": _reduction(_chosen("max")),
    "ReduceMean": _reduction(mean),
    "ReduceMin": _reduction(_chosen("min")),
    "ReduceProd": _reduction(product),
    "ReduceSum": _reduction(total),
    "ReduceSumSquare": _reduction(total, "square"),
}
