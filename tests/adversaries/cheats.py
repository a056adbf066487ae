"""Wrong tiles that a cheating or broken volunteer might return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

Tile = NDArray[Any]
Inputs = Mapping[str, Tile]
Cheat = Callable[[Inputs, Tile], Tile]


def zeros(_inputs: Inputs, tile: Tile) -> Tile:
    return np.zeros_like(tile)


def bfloat16_inputs(inputs: Inputs, tile: Tile) -> Tile:
    """The product of inputs that were rounded to bfloat16 first: half the work on some hardware."""
    return _product({name: _to_bfloat16(panel) for name, panel in inputs.items()}, tile)


def one_column(_inputs: Inputs, tile: Tile) -> Tile:
    """All right but for one column of many."""
    wrong = tile.copy()
    wrong[:, tile.shape[1] // 2] = 0
    return wrong


def noise(_inputs: Inputs, tile: Tile) -> Tile:
    scale = float(np.abs(tile).max())
    return np.random.default_rng(7).normal(0, scale, tile.shape).astype(tile.dtype)


def scaled(_inputs: Inputs, tile: Tile) -> Tile:
    return (tile * 1.001).astype(tile.dtype)


def one_slice_left_out(inputs: Inputs, tile: Tile) -> Tile:
    """The last slice of K is not added."""
    last = max(int(name[1:]) for name in inputs)
    kept = {name: panel for name, panel in inputs.items() if int(name[1:]) != last}
    if kept:
        return _product(kept, tile)
    half = inputs["a0"].shape[1] // 2
    return _product({"a0": inputs["a0"][:, :half], "b0": inputs["b0"][:half]}, tile)


def not_a_number(_inputs: Inputs, tile: Tile) -> Tile:
    return np.full_like(tile, np.nan)


def input_returned(inputs: Inputs, tile: Tile) -> Tile:
    """Lazy: whatever bytes are at hand, in the right number."""
    return np.resize(inputs["a0"].reshape(-1), tile.shape).astype(tile.dtype)


def _product(inputs: Inputs, tile: Tile) -> Tile:
    total = np.zeros_like(tile)
    for name in sorted(inputs):
        if name.startswith("a"):
            total += np.matmul(inputs[name], inputs["b" + name[1:]])
    return total


def _to_bfloat16(panel: Tile) -> Tile:
    bits = panel.astype(np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)
    return rounded.view(np.float32).astype(panel.dtype)


CHEATS: dict[str, Cheat] = {
    "zeros": zeros,
    "bfloat16_inputs": bfloat16_inputs,
    "one_column": one_column,
    "noise": noise,
    "scaled": scaled,
    "one_slice_left_out": one_slice_left_out,
    "not_a_number": not_a_number,
    "input_returned": input_returned,
}


def off_by_one(_inputs: Inputs, tile: Tile) -> Tile:
    wrong = tile.copy()
    wrong[3, 5] += 1
    return wrong


def high_bit(_inputs: Inputs, tile: Tile) -> Tile:
    """Half of the ring: what a vector misses every other time."""
    wrong = tile.copy()
    wrong[3, 5] ^= np.array(1 << (8 * tile.itemsize - 1), f"u{tile.itemsize}").view(tile.dtype)
    return wrong


def saturated(inputs: Inputs, tile: Tile) -> Tile:
    """Right where nothing wraps: sums in float64 that were cut to the type's ends."""
    total = sum(
        inputs[name].astype(np.float64) @ inputs["b" + name[1:]].astype(np.float64)
        for name in inputs
        if name.startswith("a")
    )
    info = np.iinfo(tile.dtype)
    return np.asarray(np.clip(total, info.min, info.max)).astype(tile.dtype)


def other_rows(_inputs: Inputs, tile: Tile) -> Tile:
    """The tile of another unit, in place of this one."""
    return np.roll(tile, 1, axis=0)


INTEGER_CHEATS: dict[str, Cheat] = {
    "off_by_one": off_by_one,
    "high_bit": high_bit,
    "saturated": saturated,
    "other_rows": other_rows,
    "zeros": zeros,
}
