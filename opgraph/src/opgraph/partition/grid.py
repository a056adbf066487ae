"""How many rows and columns of tiles a product is cut into, and how deep its slices are.

The choice is a compromise, made by `choose_grid` in this order: a tile fits the memory; an output
above 1 MiB is never one machine's; a device gets several tiles, so that fast ones can take more and
checking overlaps computing; a tile is not so small that its panels cost more to send than
they are worth; the number of tiles is a multiple of the devices, so that few end idle; tiles are
near squares, which move the fewest bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from opgraph.catalogue.linear_algebra import most_product_scratch
from opgraph.errors import PlanError
from opgraph.tensors import itemsize

MEMORY_SHARE = 0.8
"""Of a device's memory that a unit may use."""

DEEPEST_SLICE = 2048
"""Of K, in one sum: what the bounds of verification are made for."""

SHALLOWEST_SLICE = 256
"""Slices are made shallower than the deepest only where memory is short, and not below this."""

SPLIT_ABOVE_BYTES = 1 << 20
"""A larger output is cut in both directions, so that no unit shows all of an input."""

SLICES_BYTES = 1 << 28
"""Two slices of a thin tile need no more than this, though the memory is there."""

TILES_PER_DEVICE = 4
PREFERRED_TILE_ELEMENTS = 1 << 22
"""2048 x 2048: tiles are not cut smaller to have several for each device."""

SMALLEST_TILE_ELEMENTS = 1 << 20
"""1024 x 1024: nor smaller than this to have one for each; memory and exposure may demand it."""

SMALLEST_SIDE = 16
"""If not even a tile of this side fits, the network is refused."""

SMALLEST_INPUT_BYTES = 1 << 25
"""A long thin product is cut along its length into parts of at least this much input."""

MOST_TILES = 1_000_000
MOST_SLICES = 16_384
"""Of K in one unit: its graph and its list of inputs must stay of a size that volunteers read."""
_ROWS_TRIED = 64


@dataclass(frozen=True, slots=True)
class Grid:
    """Blocks of rows, blocks of columns, and the most that a slice of K holds."""

    rows: int
    columns: int
    slice_depth: int

    @property
    def tiles(self) -> int:
        return self.rows * self.columns


def tile_bytes(m: int, n: int, depth: int, slices: int, dtype: str) -> int:
    """Memory of an m x n tile: itself, two slices (one computed, one arriving), and scratch."""
    size = itemsize(dtype)
    scratch = most_product_scratch(m, depth, n, slices, dtype)
    return size * (m * n + min(2, slices) * depth * (m + n)) + scratch


def choose_grid(m: int, k: int, n: int, dtype: str, devices: int, memory_bytes: int) -> Grid:
    """The grid for an m x n output of depth k, none of them 0. Raises PlanError."""
    room = _Room(m, k, n, dtype, int(memory_bytes * MEMORY_SHARE))
    depth = room.slice_depth()
    rows, columns = _coarsest(room, depth)
    wanted = max(rows * columns, _wanted_tiles(room, devices))
    candidates = (Grid(*cell, depth) for cell in _candidates(room, rows, columns, wanted, devices))
    best = min(candidates, key=lambda grid: _badness(grid, m, n, wanted, devices))
    if best.tiles > MOST_TILES:
        raise PlanError("too_many_tiles", f"The product would need {best.tiles} units.")
    return replace(best, slice_depth=_few_enough(k, _thin_enough(best, m, n, dtype)))


def _few_enough(k: int, depth: int) -> int:
    slices = math.ceil(k / depth)
    if slices > MOST_SLICES:
        raise PlanError(
            "too_many_slices",
            f"Each unit would stream {slices} slices of the inner axis, at most {MOST_SLICES} are"
            " possible; split the product along that axis and add the parts.",
        )
    return depth


def _thin_enough(grid: Grid, m: int, n: int, dtype: str) -> int:
    """A shallower slice where slices would need far more memory than the tile."""
    m, n, size = math.ceil(m / grid.rows), math.ceil(n / grid.columns), itemsize(dtype)
    depth = grid.slice_depth
    while depth > SHALLOWEST_SLICE and 2 * depth * (m + n) * size > max(m * n * size, SLICES_BYTES):
        depth = max(SHALLOWEST_SLICE, depth // 2)
    return depth


@dataclass(frozen=True, slots=True)
class _Room:
    """A product and the bytes that a tile of it may take."""

    m: int
    k: int
    n: int
    dtype: str
    nbytes: int

    def holds(self, m: int, n: int, depth: int) -> bool:
        slices = math.ceil(self.k / depth)
        return tile_bytes(m, n, depth, slices, self.dtype) <= self.nbytes

    def largest_side(self, depth: int) -> int:
        """The largest x for which an x by x tile fits, or the output where that is smaller."""
        low, high = 0, max(self.m, self.n)
        while low < high:
            middle = (low + high + 1) // 2
            if self.holds(min(self.m, middle), min(self.n, middle), depth):
                low = middle
            else:
                high = middle - 1
        return low

    def slice_depth(self) -> int:
        """The deepest slice that does not take more memory than the tile itself."""
        depth = min(DEEPEST_SLICE, self.k)
        while depth > SHALLOWEST_SLICE and self.largest_side(depth) < min(
            depth, max(self.m, self.n)
        ):
            depth = max(SHALLOWEST_SLICE, depth // 2)
        return depth


def _coarsest(room: _Room, depth: int) -> tuple[int, int]:
    """The fewest blocks of rows and columns that memory and exposure allow."""
    side = room.largest_side(depth)
    if side < min(SMALLEST_SIDE, max(room.m, room.n)):
        raise PlanError(
            "memory_too_small",
            "The volunteers' machines are too small for this product: with"
            f" {room.nbytes} bytes for a unit, not even a tile of {SMALLEST_SIDE} rows fits.",
        )
    split = 2 if room.m * room.n * itemsize(room.dtype) > SPLIT_ABOVE_BYTES else 1
    rows = max(math.ceil(room.m / side), min(split, room.m))
    return rows, max(math.ceil(room.n / side), min(split, room.n))


def _wanted_tiles(room: _Room, devices: int) -> int:
    elements = room.m * room.n
    sharing = max(elements // SMALLEST_TILE_ELEMENTS, _cheap_cuts(room))
    enough = max(elements // PREFERRED_TILE_ELEMENTS, min(devices, sharing))
    return max(1, min(devices * TILES_PER_DEVICE, enough))


def _cheap_cuts(room: _Room) -> int:
    """Parts of the longer side that are at least square and have a worthwhile input each."""
    long, short = max(room.m, room.n), min(room.m, room.n)
    return min(long // short, long * room.k * itemsize(room.dtype) // SMALLEST_INPUT_BYTES)


def _candidates(
    room: _Room, rows: int, columns: int, wanted: int, devices: int
) -> Iterator[tuple[int, int]]:
    """Grids of about `wanted` tiles, from twice as wide to twice as high as square tiles need.

    None is coarser than the coarsest, so their tiles fit the memory.
    """
    yield rows, columns
    square = min(wanted, math.sqrt(wanted * room.m / room.n))
    first = min(room.m, max(rows, int(square / 2)))
    last = min(room.m, max(first, math.ceil(2 * square)))
    for r in range(first, last + 1, max(1, (last - first) // _ROWS_TRIED)):
        multiple = devices // math.gcd(r, devices)
        about = wanted / r
        for c in (int(about), math.ceil(about), *_neighbours(about, multiple)):
            yield r, min(room.n, max(columns, c))


def _neighbours(value: float, multiple: int) -> tuple[int, int]:
    return int(value // multiple) * multiple, math.ceil(value / multiple) * multiple


def _badness(grid: Grid, m: int, n: int, wanted: int, devices: int) -> tuple[float, int]:
    idle = math.ceil(grid.tiles / devices) * devices / grid.tiles
    traffic = (grid.columns * m + grid.rows * n) / (m + n)
    off = abs(math.log(grid.tiles / wanted))
    # Among equals fewer columns of tiles: each has its own check to prepare.
    return round(math.log(idle) + math.log(traffic) + off, 9), grid.columns
