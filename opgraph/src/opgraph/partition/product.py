"""The plan of a matrix product C = A B: tiles of C, each computed whole by one machine.

A tile streams slices of K, so memory never forces K to be split between machines; it is uploaded
once. Bytes and bounds: Irony, Toledo, Tiskin (2004); output-stationary tiles are optimal to the
leading order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, TypeAlias

from opgraph.builder import GraphBuilder
from opgraph.cost import flops
from opgraph.errors import PlanError
from opgraph.graph import Graph
from opgraph.partition import traffic
from opgraph.partition.figures import NetworkFigures
from opgraph.partition.grid import MOST_TILES, choose_grid, tile_bytes
from opgraph.partition.traffic import Exposure
from opgraph.partition.walk import walk
from opgraph.tensors import FLOATS, INTEGERS, itemsize

Cuts: TypeAlias = tuple[int, ...]
Span: TypeAlias = tuple[int, int]

PRODUCT_DTYPES = FLOATS + INTEGERS
"""Of products: both operands and the result have the same. Integers wrap modulo 2^w."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A box of C: rows and columns as [first, beyond), and its blocks in the plan's grid."""

    index: int
    rows: Span
    columns: Span
    row_block: int
    column_block: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]


@dataclass(frozen=True, slots=True)
class Panel:
    """A box of operand `a` or `b` that a tile needs: slice `slice` of K of its block."""

    operand: str
    block: int
    slice: int
    rows: Span
    columns: Span
    nbytes: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.rows[1] - self.rows[0], self.columns[1] - self.columns[0]


@dataclass(frozen=True)
class ProductPlan:
    """C (m x n) = A (m x k) B (k x n), cut at these rows, columns and depths.

    Cuts begin with 0 and end with the size of the axis; an axis of 0 has the one cut 0. There are
    no tiles where any of m, k, n is 0.
    """

    m: int
    k: int
    n: int
    dtype: str
    row_cuts: Cuts
    column_cuts: Cuts
    slice_cuts: Cuts

    def __post_init__(self) -> None:
        _check_cuts(self)

    @cached_property
    def tiles(self) -> tuple[Tile, ...]:
        """All tiles, in an order in which neighbours share panels; `index` is the position."""
        if self.k == 0:
            return ()
        rows, columns = list(pairwise(self.row_cuts)), list(pairwise(self.column_cuts))
        cells = walk(len(rows), len(columns))
        return tuple(Tile(i, rows[r], columns[c], r, c) for i, (r, c) in enumerate(cells))

    def panels(self, tile: Tile) -> tuple[Panel, ...]:
        """What the tile's graph takes, in the order of its placeholders a0, b0, a1, b1, ..."""
        return tuple(
            panel
            for number, depth in enumerate(pairwise(self.slice_cuts))
            for panel in (
                self._panel("a", tile.row_block, number, tile.rows, depth),
                self._panel("b", tile.column_block, number, depth, tile.columns),
            )
        )

    def _panel(self, operand: str, block: int, number: int, rows: Span, columns: Span) -> Panel:
        nbytes = (rows[1] - rows[0]) * (columns[1] - columns[0]) * itemsize(self.dtype)
        return Panel(operand, block, number, rows, columns, nbytes)

    def graph(self, tile: Tile) -> Graph:
        """The tile's computation; tiles of one shape have one graph."""
        depths = tuple(beyond - first for first, beyond in pairwise(self.slice_cuts))
        return _tile_graph(*tile.shape, depths, self.dtype)

    @cached_property
    def flops(self) -> int:
        """Operations of all tiles."""
        shapes: dict[tuple[int, int], int] = {}
        for tile in self.tiles:
            if tile.shape not in shapes:
                shapes[tile.shape] = flops(self.graph(tile))
        return sum(shapes[tile.shape] for tile in self.tiles)

    @property
    def up_bytes(self) -> int:
        """Bytes of results that volunteers send."""
        return self.m * self.n * itemsize(self.dtype) if self.tiles else 0

    def down_bytes(
        self, devices: int = 1, cached: bool = True, cache_bytes: int | None = None
    ) -> int:
        """Bytes of panels that `devices` equal machines fetch.

        Each walks a stretch of the tiles' order and keeps what it has fetched, up to `cache_bytes`
        (None: all of it), the least recently used going first; without `cached` every tile
        fetches all that it needs.
        """
        if not cached:
            cache_bytes = 0
        return traffic.down_bytes(self, devices, cache_bytes)

    def unit_memory_bytes(self, tile: Tile) -> int:
        """Memory for computing the tile while its next slices arrive."""
        depth = max(beyond - first for first, beyond in pairwise(self.slice_cuts))
        return tile_bytes(*tile.shape, depth, len(self.slice_cuts) - 1, self.dtype)

    @property
    def memory_bytes(self) -> int:
        """Memory that a volunteer needs to compute any of the tiles."""
        return max(map(self.unit_memory_bytes, self.tiles), default=0)

    def exposure(self, devices: int = 1) -> Exposure:
        """The largest share of each input that one of `devices` equal machines gets to see."""
        return traffic.exposure(self, devices)

    def to_dict(self) -> dict[str, Any]:
        """The plan as JSON values."""
        return {
            "m": self.m,
            "k": self.k,
            "n": self.n,
            "dtype": self.dtype,
            "row_cuts": list(self.row_cuts),
            "column_cuts": list(self.column_cuts),
            "slice_cuts": list(self.slice_cuts),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> ProductPlan:
        """The plan of `to_dict`. Raises PlanError where the values are no plan."""
        try:
            m, k, n = (_size(values[name]) for name in ("m", "k", "n"))
            rows, columns, slices = (
                tuple(map(_size, values[name]))
                for name in ("row_cuts", "column_cuts", "slice_cuts")
            )
            return cls(m, k, n, values["dtype"], rows, columns, slices)
        except (KeyError, TypeError):
            raise PlanError("not_a_plan", "These values do not describe a plan.") from None


def plan_product(m: int, k: int, n: int, dtype: str, network: NetworkFigures) -> ProductPlan:
    """Cut a product for these volunteers. Raises PlanError with a code and a sentence."""
    if dtype not in PRODUCT_DTYPES:
        raise PlanError(
            "wrong_dtype", f"A product is of {', '.join(FLOATS)} or integers, not {dtype}."
        )
    if min(m, k, n) < 0 or network.devices < 1:
        raise PlanError("wrong_size", "Sizes must not be negative, and a device is needed.")
    if min(m, k, n) == 0:
        return ProductPlan(m, k, n, dtype, _even(m, 1), _even(n, 1), _even(k, 1))
    grid = choose_grid(m, k, n, dtype, network.devices, network.memory_bytes)
    slices = math.ceil(k / grid.slice_depth)
    return ProductPlan(
        m, k, n, dtype, _even(m, grid.rows), _even(n, grid.columns), _even(k, slices)
    )


def _even(size: int, parts: int) -> Cuts:
    """Cuts into parts whose sizes differ by at most one."""
    return tuple(dict.fromkeys(size * part // parts for part in range(parts + 1)))


def _size(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise TypeError
    return value


def _check_cuts(plan: ProductPlan) -> None:
    axes = ((plan.m, plan.row_cuts), (plan.n, plan.column_cuts), (plan.k, plan.slice_cuts))
    if plan.dtype not in PRODUCT_DTYPES or not all(_is_cut(size, cuts) for size, cuts in axes):
        raise PlanError("not_a_plan", "The cuts of the plan do not fit its sizes.")
    if (len(plan.row_cuts) - 1) * (len(plan.column_cuts) - 1) > MOST_TILES:
        raise PlanError("too_many_tiles", "The plan has too many tiles.")


def _is_cut(size: int, cuts: Iterable[int]) -> bool:
    cuts = tuple(cuts)
    rising = all(first < beyond for first, beyond in pairwise(cuts))
    return bool(cuts) and cuts[0] == 0 and cuts[-1] == size and rising


@lru_cache(maxsize=64)
def _tile_graph(m: int, n: int, depths: Cuts, dtype: str) -> Graph:
    build = GraphBuilder()
    panels = [
        (
            build.placeholder(f"a{number}", dtype, (m, depth)),
            build.placeholder(f"b{number}", dtype, (depth, n)),
        )
        for number, depth in enumerate(depths)
    ]
    result = build.apply("matmul", *panels[0])
    for left, right in panels[1:]:
        result = build.apply("matmul_add", result, left, right)
    return build.build(result)
