"""What lies under windows, in primitive operators: the ground of definitions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy

from opgraph.catalogue.references import Define
from opgraph.catalogue.windows import Windows
from opgraph.tensors import INTEGERS, Shape


def _starts(around: Windows) -> list[Shape]:
    """Where the first element of each position lies in the padded space."""
    return [
        tuple(n * d for n, d in zip(each, around.dilations, strict=True))
        for each in numpy.ndindex(around.kernel)
    ]


def constant(define: Define, dtype: str, shape: Shape, value: float = 0) -> int:
    """One number everywhere, in a dtype of floats or of integers."""
    if dtype in INTEGERS:
        return define("full_integers", shape=shape, value=int(value), dtype=dtype)
    return define("full", shape=shape, value=float(value), dtype=dtype)


def padded(define: Define, operand: int, around: Windows, value: float = 0) -> int:
    """Images in the padded space; the padding has that value."""
    of = define.type(operand)
    outside = constant(define, of.dtype, (*of.shape[:2], *around.padded), value)
    return define(
        "set_slice", outside, operand, starts=(0, 0, *around.before), steps=(1,) * of.rank
    )


def gathered(define: Define, images: int, around: Windows) -> int:
    """Of images in the padded space: samples, channels, position, places."""
    leading = define.type(images).shape[:2]
    parts = []
    for first in _starts(around):
        last = [
            f + (p - 1) * s + 1
            for f, p, s in zip(first, around.places, around.strides, strict=True)
        ]
        part = define(
            "slice", images, starts=(0, 0, *first), stops=(*leading, *last),
            steps=(1, 1, *around.strides),
        )  # fmt: skip
        parts.append(define("reshape", part, shape=(*leading, 1, *around.places)))
    return define("concat", *parts, axis=2)


def added(define: Define, parts: Sequence[int], around: Windows) -> int:
    """The other way round: for each position what is added to the elements that it meets."""
    of = define.type(parts[0])
    nothing = constant(define, of.dtype, (*of.shape[:2], *around.padded))
    total = nothing
    for part, first in zip(parts, _starts(around), strict=True):
        spread = define(
            "set_slice", nothing, part, starts=(0, 0, *first), steps=(1, 1, *around.strides)
        )
        total = define("add", total, spread)
    stops = [b + size for b, size in zip(around.before, around.size, strict=True)]
    return define(
        "slice", total, starts=(0, 0, *around.before), stops=(*of.shape[:2], *stops),
        steps=(1,) * of.rank,
    )  # fmt: skip
