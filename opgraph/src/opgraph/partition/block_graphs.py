"""The graphs of blocks, and of what joins them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

from opgraph.catalogue.attributes import integers
from opgraph.catalogue.rules import same_shape
from opgraph.nodes import Node
from opgraph.partition.grid import DEEPEST_SLICE
from opgraph.partition.groups import Group, Product
from opgraph.partition.parts import Box, Part, PartBuilder, Source, Span, Whole
from opgraph.tensors import HALVES, TensorType

_SHAPED = ("full", "full_integers")


def even_spans(span: Span, most: int) -> list[Span]:
    """Parts of at most so much, whose sizes differ by at most one."""
    first, beyond = span
    count = max(1, math.ceil((beyond - first) / most))
    cuts = [first + (beyond - first) * part // count for part in range(count + 1)]
    return list(pairwise(cuts))


def block_part(whole: Whole, group: Group, span: Span, made: Mapping[int, Source]) -> Part:
    """One block of a group: the span of its columns, or of the rows of its weight.

    It gives a partial sum where the group ends with a product by rows, and else the columns of
    each value that leaves. Partial sums of 16-bit floats are in float32.
    """
    return _Block(whole, group, span, made).part()


def join_part(group: Group, dtype: str, blocks: Sequence[tuple[int, Part]]) -> Part:
    """What makes the values that leave a group out of its blocks, each with its part number.

    Columns are put side by side; partial sums are added one after the other, in this order, and
    then rounded to `dtype`.
    """
    build = PartBuilder()
    outputs = []
    for place in range(len(group.leaving)):
        pieces = [
            build.take(Source(number, place), part.graph.output_types[place])
            for number, part in blocks
        ]
        join = _joined_columns if group.down is None else _sum
        outputs.append(_cast(build, join(build, pieces), dtype if group.down else None))
    return build.part(outputs)


def _joined_columns(build: PartBuilder, pieces: Sequence[int]) -> int:
    return build.apply("concat", pieces, {"axis": 1})


def _sum(build: PartBuilder, pieces: Sequence[int]) -> int:
    total = pieces[0]
    for piece in pieces[1:]:
        total = build.apply("add", (total, piece), {})
    return total


def _cast(build: PartBuilder, value: int, dtype: str | None) -> int:
    if dtype is None or build.type(value).dtype == dtype:
        return value
    return build.apply("astype", (value,), {"dtype": dtype})


class _Block:
    """Builds one block. Values are known here by their number in the whole, and their span."""

    def __init__(self, whole: Whole, group: Group, span: Span, made: Mapping[int, Source]) -> None:
        self.whole = whole
        self.group = group
        self.span = span
        self.made = made
        self.build = PartBuilder()
        self.inside: dict[int, int] = {}
        self.known: dict[tuple[int, Span], int] = {}

    def part(self) -> Part:
        ups = {each.position: each for each in self.group.ups}
        for position in sorted((*ups, *self.group.inner)):
            if position in ups:
                self._up(ups[position])
            else:
                self._inner(position)
        down = self.group.down
        outputs = [self._down(down)] if down else [self.inside[each] for each in self.group.leaving]
        return self.build.part(outputs, self.group.nodes)

    def _inner(self, position: int) -> None:
        node = self.whole.graph.nodes[position]
        operands = [self.columns(each, self.span) for each in node.operands]
        results = self.build.apply_all(node.operator, operands, node.attributes)
        self.inside.update(zip(self.whole.results(position), results, strict=True))

    def _up(self, product: Product) -> None:
        value = self._product(product, (0, product.k), self.span)
        (result,) = self.whole.results(product.position)
        dtype = self.whole.graph.types[result].dtype
        self.inside[result] = _cast(self.build, value, dtype)

    def _down(self, product: Product) -> int:
        return self._product(product, self.span, (0, product.n))

    def _product(self, product: Product, rows: Span, columns: Span) -> int:
        """left[:, rows] @ weight[rows, columns], a slice of rows at a time."""
        slices = even_spans(rows, DEEPEST_SLICE)
        is_partial = len(slices) > 1 or rows != (0, product.k)
        dtype = self.whole.graph.types[product.weight].dtype
        wide = "float32" if is_partial and dtype in HALVES else None

        def pair(rows: Span) -> tuple[int, int]:
            left, weight = self.columns(product.left, rows), self._weight(product, rows, columns)
            return _cast(self.build, left, wide), _cast(self.build, weight, wide)

        total = self.build.apply("matmul", pair(slices[0]), {})
        for each in slices[1:]:
            total = self.build.apply("matmul_add", (total, *pair(each)), {})
        return total

    def _weight(self, product: Product, rows: Span, columns: Span) -> int:
        box = (columns, rows) if product.turned else (rows, columns)
        piece = self._input(product.weight, box)
        if not product.turned:
            return piece
        return self.build.apply("permute_dims", (piece,), {"axes": (1, 0)})

    def _input(self, value: int, box: Box) -> int:
        """A box of an input or of what another part has made."""
        type_ = self.whole.graph.types[value]
        source = Source(None, value) if self.whole.maker[value] is None else self.made[value]
        if box == tuple((0, size) for size in type_.shape):
            return self.build.take(source, type_)
        shape = tuple(beyond - first for first, beyond in box)
        return self.build.take(
            Source(source.part, source.position, box), TensorType(type_.dtype, shape)
        )

    def columns(self, value: int, span: Span) -> int:
        """A span of the last axis of a value of the whole graph."""
        if value in self.inside:
            first = self.span[0]
            return self._cut(self.inside[value], (span[0] - first, span[1] - first))
        if (value, span) not in self.known:
            self.known[value, span] = self._columns(value, span)
        return self.known[value, span]

    def _columns(self, value: int, span: Span) -> int:
        maker = self.whole.maker[value]
        shape = self.whole.shape(value)
        if maker is None or not self.whole.free[value]:
            return self._input(value, (*((0, size) for size in shape[:-1]), span))
        node = self.whole.graph.nodes[maker]
        width = span[1] - span[0]
        narrow = self._narrow_operands(node, shape, span)
        if narrow is None:
            return self._cut(self._whole_value(value), span)
        attributes = dict(node.attributes)
        if "shape" in attributes:
            attributes["shape"] = (*integers(node.attributes, "shape")[:-1], width)
        return self.build.apply(node.operator, narrow, attributes)

    def _narrow_operands(self, node: Node, shape: tuple[int, ...], span: Span) -> list[int] | None:
        """Operands of which the node makes this span; None where that cannot be said."""
        if node.operator in _SHAPED or node.declaration.shapes is same_shape:
            return [self.columns(each, span) for each in node.operands]
        if node.operator not in ("reshape", "broadcast_to"):
            return None
        last = self.whole.shape(node.operands[0])[-1:]
        if last == shape[-1:]:
            return [self.columns(node.operands[0], span)]
        return [self._whole_value(node.operands[0])] if node.operator == "broadcast_to" else None

    def _whole_value(self, value: int) -> int:
        """A free value as it is."""
        shape = self.whole.shape(value)
        maker = self.whole.maker[value]
        if maker is None:
            return self._input(value, tuple((0, size) for size in shape))
        node = self.whole.graph.nodes[maker]
        operands = [self._whole_value(each) for each in node.operands]
        results = self.build.apply_all(node.operator, operands, node.attributes)
        return results[value - self.whole.results(maker)[0]]

    def _cut(self, value: int, span: Span) -> int:
        shape = self.build.type(value).shape
        if span == (0, shape[-1]):
            return value
        starts = (*(0,) * (len(shape) - 1), span[0])
        stops = (*shape[:-1], span[1])
        steps = (1,) * len(shape)
        return self.build.apply(
            "slice", (value,), {"starts": starts, "stops": stops, "steps": steps}
        )


__all__ = ["block_part", "even_spans", "join_part"]
