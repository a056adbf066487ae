"""Which nodes go together when a product is too large for one machine.

A product by columns gives columns, and elementwise operators on columns give columns of what they
give on the whole. So they stay in the block; and a product that takes what comes out of them, and
nothing else does, is computed by rows: one sum for the pair in place of a gather and a scatter.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter

from opgraph.catalogue.rules import same_shape
from opgraph.partition.parts import Whole
from opgraph.tensors import Shape


@dataclass(frozen=True, slots=True)
class Product:
    """A node left @ weight of matrices whose weight is an input, or, `turned`, its transpose."""

    position: int
    left: int
    weight: int
    turned: bool
    k: int
    n: int


@dataclass(frozen=True)
class Group:
    """Nodes that are computed in blocks along one axis: the columns of `wide`, which the results
    of `ups` and of the elementwise `inner` have, or else the rows of the weight of `down`.

    `leaving` are results that others take: of `down` where there is one, or of the wide nodes.
    `inner` and `ups` are in the order of the graph.
    """

    ups: tuple[Product, ...]
    inner: tuple[int, ...]
    down: Product | None
    leaving: tuple[int, ...]
    width: int

    @property
    def products(self) -> tuple[Product, ...]:
        return (*self.ups, self.down) if self.down else self.ups

    @property
    def nodes(self) -> tuple[int, ...]:
        return tuple(sorted((*self.inner, *(each.position for each in self.products))))


def find_products(whole: Whole) -> dict[int, Product]:
    """The products of matrices with an input as weight, by position."""
    found = {}
    for position in whole.real_nodes:
        node = whole.graph.nodes[position]
        if node.operator != "matmul" or len(whole.shape(node.operands[0])) != 2:
            continue
        weight, turned = _weight(whole, node.operands[1])
        if weight is not None:
            k, n = whole.shape(node.operands[1])
            found[position] = Product(position, node.operands[0], weight, turned, k, n)
    return found


def _weight(whole: Whole, value: int) -> tuple[int | None, bool]:
    maker = whole.maker[value]
    if maker is None:
        return value, False
    node = whole.graph.nodes[maker]
    turned = node.operator == "permute_dims" and node.attributes["axes"] == (1, 0)
    if turned and whole.maker[node.operands[0]] is None:
        return node.operands[0], True
    return None, False


class Units:
    """The graph with each group as one: what has to come before what."""

    def __init__(self, whole: Whole) -> None:
        self.whole = whole
        self.groups: list[Group] = []
        self.unit_of = {position: position for position in whole.real_nodes}

    def add(self, group: Group) -> None:
        """Take nodes together. Units are numbered by nodes; groups from -1 downwards."""
        self.groups.append(group)
        self.unit_of.update(dict.fromkeys(group.nodes, -len(self.groups)))

    def nodes(self, unit: int) -> tuple[int, ...]:
        return (unit,) if unit >= 0 else self.groups[-unit - 1].nodes

    def before(self, unit: int) -> set[int]:
        """Units whose results a unit takes."""
        found = set()
        for position in self.nodes(unit):
            for value in real_operands(self.whole, self.whole.graph.nodes[position].operands):
                maker = self.whole.maker[value]
                if maker is not None:
                    found.add(self.unit_of[maker])
        return found - {unit}

    def in_order(self) -> list[int]:
        """All units, each after those that it needs; as in the graph where that is possible."""
        every = dict.fromkeys(self.unit_of[position] for position in self.whole.real_nodes)
        return list(TopologicalSorter({unit: self.before(unit) for unit in every}).static_order())


def real_operands(whole: Whole, operands: Iterable[int]) -> Iterator[int]:
    """What has to be there before a node can run: inputs and results of real nodes, with free
    values followed to what they are made of."""
    waiting = list(operands)
    seen = set()
    while waiting:
        value = waiting.pop()
        if value in seen:
            continue
        seen.add(value)
        maker = whole.maker[value]
        if maker is not None and whole.free[value]:
            waiting.extend(whole.graph.nodes[maker].operands)
        else:
            yield value


def grow(units: Units, products: dict[int, Product], start: Product) -> Group:
    """The largest group around the columns of a product."""
    whole = units.whole
    shape = whole.shape(whole.results(start.position)[0])
    inside = _forward(units, start, shape)
    _backward(units, products, inside, shape)
    leaving = [value for each in sorted(inside) for value in whole.results(each)
               if _leaves(whole, value, inside)]  # fmt: skip
    ups = tuple(products[each] for each in sorted(inside) if each in products)
    inner = tuple(each for each in sorted(inside) if each not in products)
    down = _down(units, products, leaving, inside)
    if down is not None:
        leaving = list(whole.results(down.position))
    return Group(ups, inner, down, tuple(leaving), shape[1])


def by_rows(whole: Whole, product: Product) -> Group:
    """The group of a product alone, computed by rows of its weight."""
    leaving = tuple(whole.results(product.position))
    return Group((), (), product, leaving, product.k)


def _forward(units: Units, start: Product, shape: Shape) -> set[int]:
    """Elementwise nodes on the columns that need nothing that is made of them elsewhere."""
    inside: set[int] = {start.position}
    tainted: set[int] = set()
    for unit in units.in_order():
        before = units.before(unit)
        if unit in inside:
            continue
        if before & tainted:
            tainted.add(unit)
        elif before & inside:
            is_inner = unit >= 0 and _is_elementwise(units.whole, unit, shape)
            (inside if is_inner else tainted).add(unit)
    return inside


def _backward(units: Units, products: dict[int, Product], inside: set[int], shape: Shape) -> None:
    """Add products and elementwise nodes whose results only elementwise nodes inside want: gates.

    A product inside wants whole rows of what comes from its left.
    """
    whole = units.whole
    for position in reversed(whole.real_nodes):
        if position in inside or units.unit_of[position] < 0:
            continue
        results = whole.results(position)
        wanted = [user for value in results for user in whole.users[value]]
        leaves = not set(wanted) <= inside - products.keys() or whole.outputs & set(results)
        fits = position in products and whole.shape(results[0]) == shape
        if not leaves and (fits or _is_elementwise(whole, position, shape)):
            inside.add(position)


def _is_elementwise(whole: Whole, position: int, shape: Shape) -> bool:
    node = whole.graph.nodes[position]
    elementwise = node.declaration.shapes is same_shape or node.operator == "formula"
    return elementwise and node.results[0].shape == shape


def _leaves(whole: Whole, value: int, inside: set[int]) -> bool:
    return value in whole.outputs or any(user not in inside for user in whole.users[value])


def _down(
    units: Units, products: dict[int, Product], leaving: Sequence[int], inside: set[int]
) -> Product | None:
    """The one product that takes the one value that leaves."""
    whole = units.whole
    if len(leaving) != 1 or leaving[0] in whole.outputs:
        return None
    users = [each for each in whole.users[leaving[0]] if each not in inside]
    product = products.get(users[0]) if len(users) == 1 else None
    free = product is not None and units.unit_of[product.position] >= 0
    return product if product and free and product.left == leaving[0] else None
