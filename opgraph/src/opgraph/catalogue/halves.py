"""16-bit floats: float16 as numpy has it, bfloat16 as its bits in uint16.

An operator on them computes in float32 and rounds its result once, to nearest even; so what is
stored in 16 bits never decides how something is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opgraph.catalogue.attributes import Attributes
from opgraph.catalogue.declaration import Call, DtypeTable, ErrorRule, Operator, Types
from opgraph.tensors import HALVES, Array, TensorType

_RATIO = {"float16": 2.0**-13, "bfloat16": 2.0**-16}
"""Unit roundoff of float32 over that of the format."""


def to_float32(xp: Any, array: Array, dtype: str) -> Array:
    """A new float32 array of the same values; `dtype` is `float16` or `bfloat16`."""
    if dtype == "float16":
        return array.astype(xp.float32)
    bits = array.astype(xp.uint32)
    bits <<= 16
    return bits.view(xp.float32)


def round_into(xp: Any, result: Array, values: Array, dtype: str) -> None:
    """Write float32 `values`, rounded once, into `result`, whose dtype that is."""
    if dtype == "float16":
        result[...] = values
        return
    bits = values.view(xp.uint32)
    rounded = bits >> 16
    quiet = (rounded | 0x40).astype(xp.uint16)
    rounded &= 1
    rounded += 0x7FFF
    # Wraps for some NaN only, and those are replaced.
    rounded += bits
    rounded >>= 16
    result[...] = rounded
    xp.copyto(result, quiet, where=xp.isnan(values))


ROUNDING_BYTES = 11
"""Bytes for each element that `round_into` needs inside, at most."""


def with_halves(operator: Operator) -> Operator:
    """The same operator for float16 and bfloat16 too, wherever it takes float32.

    Not for views, nor for one with an attribute `dtype`.
    """
    return replace(
        operator,
        dtypes=_widened(operator.dtypes),
        run=_through_float32(operator.run),
        run_cupy=operator.run_cupy and _through_float32(operator.run_cupy),
        temporaries=lambda types, attributes: _temporaries(operator, types, attributes),
        scratch=lambda types, attributes: operator.scratch(_wide(types), attributes),
        error=_rounded_again(operator.error),
    )


def _widened(table: DtypeTable) -> DtypeTable:
    def swapped(key: tuple[str, ...], half: str) -> tuple[str, ...]:
        return tuple(half if each == "float32" else each for each in key)

    halves = {
        swapped(key, half): swapped(results, half)
        for key, results in table.items()
        for half in HALVES
        if "float32" in key
    }
    return {**table, **halves}


def _wide(types: Types) -> list[TensorType]:
    return [TensorType("float32", t.shape) if t.dtype in HALVES else t for t in types]


def _half_of(types: Types) -> str | None:
    for each in types:
        if each.dtype in HALVES:
            return each.dtype
    return None


def _through_float32(run: Any) -> Any:
    def widened(call: Call) -> None:
        half = _half_of(call.types)
        if half is None:
            run(call)
            return
        xp = call.xp
        operands = [
            to_float32(xp, array, half) if type_.dtype == half else array
            for array, type_ in zip(call.operands, call.types, strict=True)
        ]
        storage = xp.uint16 if half == "bfloat16" else xp.float16
        results = [
            xp.empty(each.shape, xp.float32) if each.dtype == storage else each
            for each in call.results
        ]
        run(replace(call, types=_wide(call.types), operands=operands, results=results))
        for rounded, result in zip(call.results, results, strict=True):
            if rounded is not result:
                round_into(xp, rounded, result, half)

    return widened


def _temporaries(operator: Operator, types: Types, attributes: Attributes) -> int:
    inside = operator.temporaries(_wide(types), attributes)
    half = _half_of(types)
    if half is None:
        return inside
    results = [each for each in operator.infer(_wide(types), attributes) if each.dtype == "float32"]
    copies = sum(each.elements for each in types if each.dtype == half)
    made = sum(each.elements for each in results)
    rounding = ROUNDING_BYTES * max((each.elements for each in results), default=0)
    return 4 * (copies + made) + max(inside, rounding)


def _rounded_again(rule: ErrorRule) -> ErrorRule:
    def coefficient(types: Types, attributes: Attributes) -> float:
        half = _half_of(types)
        if half is None:
            return rule.coefficient(types, attributes)
        # What is exact in float32 on numbers of 16 bits can be kept in 16 bits.
        wide = rule.coefficient(_wide(types), attributes)
        return 1.0 + 2.0 * _RATIO[half] * wide if wide else 0.0

    def scale(operands: Sequence[Array], attributes: Attributes) -> Array:
        return rule.scale(operands, attributes)

    return ErrorRule(scale, coefficient, rule.summary)
