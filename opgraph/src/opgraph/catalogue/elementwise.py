"""What declarations of elementwise operators share.

How far elementary functions may be off: numpy promises at most 4 ulp for its vectorised ones (NEP
38, and the SVML that it carries on x86); CUDA's table of maximum errors (C++ programming guide,
mathematical functions) has at most 4 ulp for those used here, unless a declaration says more. An
ulp is at most 2 u of the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from opgraph.catalogue.attributes import Attributes
from opgraph.catalogue.declaration import Call, Count, ErrorRule, Implementation, Operator, Types
from opgraph.catalogue.halves import with_halves
from opgraph.catalogue.rules import ONE_PER_ELEMENT, same_dtype, same_shape
from opgraph.tensors import FLOATS, Array, itemsize, room

BLOCK = 1 << 16
"""Elements computed at a time by what takes several passes: they stay in cache."""

GPU_BLOCK = 1 << 20
"""The same on a GPU, where each pass costs a launch; what it takes more counts as a fixed cost."""

IEEE = "IEEE 754 for NaN, infinities and signed zeros"
ULPS = 4.0


def ufunc(name: str) -> Implementation:
    """The function of that name in numpy and cupy."""

    def run(call: Call) -> None:
        getattr(call.xp, name)(*call.operands, out=call.results[0])

    return run


def block_of(xp: Any, elements: int) -> int:
    """How many of so many elements are computed at a time; at least 1."""
    return max(1, min(elements, BLOCK if xp is numpy else GPU_BLOCK))


def in_blocks(call: Call, rooms: int, work: Callable[..., None]) -> None:
    """Run `work(xp, *operands, result, *rooms)` on a block of elements after the other.

    Operands and the result are C-contiguous; rooms are arrays of its dtype to compute in. A result
    may lie in place of an operand.
    """
    result = call.results[0].reshape(-1)
    operands = [each.reshape(-1) for each in call.operands]
    size = block_of(call.xp, result.size)
    lent = room(call.xp, (rooms, size), result.dtype)
    for start in range(0, result.size, size):
        part = slice(start, min(start + size, result.size))
        given = [each[part] for each in (*operands, result)]
        work(call.xp, *given, *lent[:, : len(given[-1])])


def rooms_bytes(rooms: int) -> Count:
    """What `in_blocks` allocates for so many rooms."""
    return lambda types, _a: rooms * min(BLOCK, types[0].elements) * itemsize(types[0].dtype)


def within_ulps(function: Callable[..., Any], ulps: float = ULPS) -> ErrorRule:
    """So many units in the last place of the function's value, which is computed in float64."""

    def scale(operands: Sequence[Array], _attributes: Attributes) -> Array:
        return numpy.abs(function(*operands))

    def coefficient(_types: Types, _attributes: Attributes) -> float:
        return 2.0 * ulps

    return ErrorRule(scale, coefficient, f"{ulps:g} ulp")


def bytes_per_element(number: int) -> Count:
    """So many bytes inside for each element of the first operand."""
    return lambda types, _attributes: number * types[0].elements


def of_floats(
    name: str,
    family: str,
    summary: str,
    error: ErrorRule,
    special_values: str,
    *,
    operands: tuple[str, ...] = ("operand",),
    run: Implementation | None = None,
    run_cupy: Implementation | None = None,
    temporaries: Count | None = None,
    in_place: tuple[int, ...] | None = None,
    contiguous: bool = False,
) -> Operator:
    """An operator on floats of one dtype and shape; 16-bit ones through float32."""
    return with_halves(
        Operator(
            name=name,
            family=family,
            summary=summary,
            operands=operands,
            dtypes=same_dtype(len(operands), FLOATS),
            shapes=same_shape,
            run=run or ufunc(name),
            run_cupy=run_cupy,
            flops=ONE_PER_ELEMENT,
            error=error,
            special_values=special_values,
            temporaries=temporaries or bytes_per_element(0),
            in_place=tuple(range(len(operands))) if in_place is None else in_place,
            contiguous=contiguous,
        )
    )
