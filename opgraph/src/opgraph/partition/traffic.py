"""What a plan moves: a model in which each machine walks a stretch of the tiles and caches panels.

Blocks are cached and dropped whole: with a cache that holds less than a tile's two blocks nothing
is found again, which is what a least-recently-used cache does to slices that are read in a cycle.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from opgraph.tensors import itemsize

if TYPE_CHECKING:
    from opgraph.partition.product import ProductPlan, Tile

Block: TypeAlias = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Exposure:
    """Shares of A and of B, from 0 to 1."""

    a: float
    b: float


def down_bytes(plan: ProductPlan, devices: int, cache_bytes: int | None) -> int:
    """Bytes that all devices fetch; `cache_bytes` is for each, None for no limit."""
    return sum(_fetched(plan, stretch, cache_bytes) for stretch in stretches(plan.tiles, devices))


def exposure(plan: ProductPlan, devices: int) -> Exposure:
    """The largest shares of the inputs that one device fetches."""
    a = b = 0
    for stretch in stretches(plan.tiles, devices):
        a = max(a, _covered({tile.rows for tile in stretch}))
        b = max(b, _covered({tile.columns for tile in stretch}))
    return Exposure(a / max(1, plan.m), b / max(1, plan.n))


def stretches(tiles: Sequence[Tile], devices: int) -> Iterator[Sequence[Tile]]:
    """The tiles' order in `devices` stretches whose lengths differ by at most one."""
    for device in range(min(devices, len(tiles))):
        share = min(devices, len(tiles))
        yield tiles[len(tiles) * device // share : len(tiles) * (device + 1) // share]


def _covered(spans: set[tuple[int, int]]) -> int:
    return sum(beyond - first for first, beyond in spans)


def _fetched(plan: ProductPlan, stretch: Sequence[Tile], cache_bytes: int | None) -> int:
    cache: OrderedDict[Block, int] = OrderedDict()
    fetched = held = 0
    for tile in stretch:
        for block, nbytes in _blocks(plan, tile):
            if block in cache:
                cache.move_to_end(block)
                continue
            fetched += nbytes
            held += nbytes
            cache[block] = nbytes
        while cache_bytes is not None and held > cache_bytes:
            held -= cache.popitem(last=False)[1]
    return fetched


def _blocks(plan: ProductPlan, tile: Tile) -> Iterator[tuple[Block, int]]:
    size = plan.k * itemsize(plan.dtype)
    yield ("a", tile.row_block), tile.shape[0] * size
    yield ("b", tile.column_block), tile.shape[1] * size
