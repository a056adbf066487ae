"""Products whose weight is too large for a machine, as blocks on many.

By columns (the results are put side by side), or by rows (partial sums are added in a fixed order);
what makes up a block is decided in `groups.py`, its graph is built in `block_graphs.py`. A block
goes through K in slices of at most 2,048.

Integers wrap and so are equal bit for bit. Of floats, a product in blocks is within
`product_error` of the exact one, as the product itself is: adding up in other pieces rounds
otherwise, and even a product cut by columns alone, with K in one slice, may round otherwise, for
BLAS has other kernels for other shapes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from opgraph.errors import PlanError
from opgraph.graph import Graph
from opgraph.partition.block_graphs import block_part, even_spans, join_part
from opgraph.partition.grid import DEEPEST_SLICE
from opgraph.partition.groups import Group, Product, Units, by_rows, find_products, grow
from opgraph.partition.parts import Chain, Part, Source, Whole, extract
from opgraph.tensors import itemsize


def product_error(k: int, blocks: int = 1) -> float:
    """How far a float product of k terms, cut by rows into so many blocks, may lie from the exact
    one: so many u |left| |right|, with u the unit roundoff of the dtype (float32 for partial sums
    of 16-bit floats, which are rounded to their dtype once, at the end)."""
    slices = blocks * math.ceil(math.ceil(k / blocks) / DEEPEST_SLICE)
    return k + 1.0 + slices


def split_products(graph: Graph, weight_bytes: int) -> Chain:
    """Rewrite a valid graph so that no machine needs more than so many bytes of one weight.

    Products of matrices with an input as weight (or its transpose) are cut where the weight is
    larger; what else the graph computes stays in one part between two rounds of products. What
    comes into a product from the left is no weight. Raises PlanError `wrong_count`, and
    `weight_too_large` where another operator wants an input that is too large, or where one column
    and one row of a weight are too large.
    """
    if weight_bytes < 1:
        raise PlanError("wrong_count", "A machine takes at least one byte of a weight.")
    whole = Whole(graph)
    return _Assembly(whole, _find_groups(whole, weight_bytes), weight_bytes).chain()


def _find_groups(whole: Whole, most: int) -> Units:
    products = find_products(whole)
    units = Units(whole)
    for product in products.values():
        if units.unit_of[product.position] < 0:
            continue
        group = _group(whole, units, products, product, most)
        if any(_weight_bytes(whole, each) > most for each in group.products):
            units.add(group)
    return units


def _group(
    whole: Whole, units: Units, products: dict[int, Product], start: Product, most: int
) -> Group:
    group = grow(units, products, start)
    is_heavy = _weight_bytes(whole, start) > most
    if is_heavy and _widest(whole, group, most) < 1:
        return by_rows(whole, start)
    return group


def _weight_bytes(whole: Whole, product: Product) -> int:
    return whole.graph.types[product.weight].nbytes


def _widest(whole: Whole, group: Group, most: int) -> int:
    """How much of the group's axis a block may have: 0 where one column or row is too much."""
    lines = [each.k for each in group.ups]
    if group.down is not None:
        lines.append(group.down.n)
    size = itemsize(whole.graph.types[group.products[0].weight].dtype)
    return min(most // max(1, line * size) for line in lines)


class _Assembly:
    """Puts the parts together: rounds of what is left over and of the groups that follow it."""

    def __init__(self, whole: Whole, units: Units, most: int) -> None:
        self.whole = whole
        self.units = units
        self.most = most
        self.parts: list[Part] = []
        self.made: dict[int, Source] = {}

    def chain(self) -> Chain:
        levels = self._levels()
        rounds = max(levels.values(), default=0) + 1
        for level in range(rounds):
            of_level = [unit for unit, found in levels.items() if found == level]
            nodes = sorted(unit for unit in of_level if unit >= 0)
            if nodes:
                self._add_rest(nodes)
            for unit in sorted((each for each in of_level if each < 0), reverse=True):
                self._add_group(self.units.groups[-unit - 1])
        self._add_free_outputs()
        graph = self.whole.graph
        outputs = tuple(self.made[value] for value in graph.outputs)
        return Chain(graph.placeholders, tuple(self.parts), outputs)

    def _levels(self) -> dict[int, int]:
        """How many groups, one after the other, come before each unit."""
        levels: dict[int, int] = {}
        for unit in self.units.in_order():
            before = (levels[each] + (each < 0) for each in self.units.before(unit))
            levels[unit] = max(before, default=0)
        return levels

    def _add_rest(self, nodes: list[int]) -> None:
        inside = set(nodes)
        outputs = [
            value
            for position in nodes
            for value in self.whole.results(position)
            if value in self.whole.outputs
            or any(user not in inside for user in self.whole.users[value])
        ]
        part = extract(self.whole, nodes, outputs, self.made)
        _check_inputs(self.whole, part, self.most)
        self._add(part, outputs)

    def _add_group(self, group: Group) -> None:
        widest = _widest(self.whole, group, self.most)
        if widest < 1:
            raise _too_wide(self.whole, group, self.most)
        first = len(self.parts)
        blocks = [
            block_part(self.whole, group, span, self.made)
            for span in even_spans((0, group.width), widest)
        ]
        self.parts.extend(blocks)
        dtype = self.whole.graph.types[group.leaving[0]].dtype
        self._add(join_part(group, dtype, list(enumerate(blocks, first))), group.leaving)

    def _add_free_outputs(self) -> None:
        free = sorted(value for value in self.whole.outputs if self.whole.free[value])
        if free:
            self._add(extract(self.whole, (), free, self.made), free)

    def _add(self, part: Part, outputs: Iterable[int]) -> None:
        number = len(self.parts)
        self.parts.append(part)
        self.made |= {value: Source(number, place) for place, value in enumerate(outputs)}


def _too_wide(whole: Whole, group: Group, most: int) -> PlanError:
    product = max(group.products, key=lambda each: _weight_bytes(whole, each))
    placeholder = whole.graph.placeholders[product.weight]
    return PlanError(
        "weight_too_large",
        f"{placeholder.name} ({placeholder.type}) cannot be cut for node {product.position}"
        f" (matmul): a single column and a single row of it have more than {most} bytes.",
    )


def _check_inputs(whole: Whole, part: Part, most: int) -> None:
    """Refuse a part that is no block and takes an input that is too large."""
    for value, (source, here) in enumerate(zip(part.sources, part.graph.placeholders, strict=True)):
        takers = _takers(part, value)
        if source.part is None and here.type.nbytes > most and takers:
            name = whole.graph.placeholders[source.position].name
            raise PlanError(
                "weight_too_large",
                f"{name} ({here.type}) has {here.type.nbytes} bytes, the limit is {most}, and"
                f" {takers[0]} needs it whole.",
            )


def _takers(part: Part, value: int) -> list[str]:
    """Operators that take an input, but for products that take it from the left."""
    return [
        node.operator
        for node in part.graph.nodes
        if value in node.operands[node.operator == "matmul" :]
    ]


__all__ = ["product_error", "split_products"]
