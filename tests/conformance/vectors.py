"""Random numbers by their bits: digests that are the same on every machine, and normals, which may
differ in their last place.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy

from opgraph.builder import GraphBuilder
from opgraph.executor import execute

COUNT = 200_001
STREAMS = (
    ((0, 0), 0),
    ((0x452821E638D01377, 0xBE5466CF34E90C6C), 0x243F6A8885A308D3),
    ((2**64 - 1, 2**64 - 1), 2**64 - 1),
)
"""Key and offset; the last counts over the end of a word."""
EXACT: tuple[tuple[str, dict[str, Any]], ...] = (
    ("random_bits", {"shape": (COUNT,)}),
    ("random_uniform", {"shape": (COUNT,), "dtype": "float32"}),
    ("random_uniform", {"shape": (COUNT,), "dtype": "float64"}),
    ("random_bernoulli", {"shape": (COUNT,), "probability": 0.3}),
    ("random_permutation", {"length": COUNT}),
)
DIGESTS = [
    "7cf4acc4a202152f096158941fb1c8446b06ebbe3e946e90d7eebc75580d79ac",
    "5bba8f980db6e4003fcae58fd7439c994542d1969422ef9a094fb378c4b87241",
    "ce3bd0741d9689c0f157765746c8e99486f1e13a24628eeb06d14edf84b56b62",
    "c2ae407590c10bf007f5aca1c6c647bc1f241d5dfd4f2a2cbdea692514e5fb93",
    "f385a7cd02730e79878eb785df16b3033184a38ce4cea6ef0368e99fa40e810a",
]
"""SHA-256 of what each of `EXACT` makes of all streams, the same on every machine."""

ULPS = {"float32": 1, "float64": 4}
"""How far normals of two machines may lie apart: float64 is computed in float64, so logarithm,
root, cosine and product each add their rounding."""


def made(name: str, key: tuple[int, int], offset: int, **attributes: Any) -> Any:
    """What an operator makes of a stream, as a numpy array."""
    build = GraphBuilder()
    words = build.placeholder("x0", "uint64", (2,)), build.placeholder("x1", "uint64", ())
    graph = build.build(build.apply(name, *words, **attributes))
    inputs = {"x0": numpy.array(key, "uint64"), "x1": numpy.array(offset, "uint64")}
    return execute(graph, inputs)[0]


def digests() -> list[str]:
    """What `DIGESTS` must be."""
    return [
        sha256(b"".join(made(name, *each, **given).tobytes() for each in STREAMS)).hexdigest()
        for name, given in EXACT
    ]


def normals() -> dict[str, str]:
    """Normals of either dtype, their bytes in hex."""
    return {
        dtype: made("random_normal", *STREAMS[1], shape=(20_001,), dtype=dtype).tobytes().hex()
        for dtype in ULPS
    }


def apart(one: str, other: str, dtype: str) -> int:
    """The largest distance of two machines' normals, in units of the last place."""
    whole = f"int{8 * numpy.dtype(dtype).itemsize}"
    left, right = (numpy.frombuffer(bytes.fromhex(each), whole) for each in (one, other))
    # Signs agree (the larger part of the difference else), so words count places.
    return int(numpy.abs(left.astype(object) - right.astype(object)).max())
