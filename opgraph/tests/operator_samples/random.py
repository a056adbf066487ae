"""Samples of random numbers, against Philox in Python's whole numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy

from operator_samples.sample import Case, Draw, Row, Sample

WORD = 2**64 - 1


def block(key: tuple[int, int], number: int) -> list[int]:
    """Philox 4x64-10 as its paper writes it."""
    counter = [number >> (64 * place) & WORD for place in range(4)]
    k0, k1 = key
    for turn in range(10):
        if turn:
            k0, k1 = (k0 + 0x9E3779B97F4A7C15) & WORD, (k1 + 0xBB67AE8584CAA73B) & WORD
        one, other = 0xD2E7470EE14C6C93 * counter[0], 0xCA5A826395121157 * counter[2]
        counter = [
            (other >> 64) ^ counter[1] ^ k0,
            other & WORD,
            (one >> 64) ^ counter[3] ^ k1,
            one & WORD,
        ]
    return counter


def words(key: Any, offset: Any, count: int) -> list[int]:
    keys = (int(key[0]), int(key[1]))
    found: list[int] = []
    number = int(offset)
    while len(found) < count:
        found += block(keys, number)
        number += 1
    return found[:count]


def called(draw: Draw, row: Row, attributes: dict[str, Any], *, with_dtype: bool = False) -> Case:
    key = draw.numbers("uint64", (2,))
    offset = draw.numbers("uint64", ()) if draw.flag() else numpy.array(2**64 - 1, "uint64")
    given = {**attributes, "dtype": row[2]} if with_dtype else attributes
    return Case(row[:2], (key, numpy.asarray(offset)), given)


def drawn(more: Callable[[Draw], dict[str, Any]] | None = None) -> Callable[[Draw, Row], Case]:
    def draw_case(draw: Draw, row: Row) -> Case:
        attributes = {"shape": draw.shape(), **(more(draw) if more else {})}
        return called(draw, row, attributes, with_dtype=len(row) > 2)

    return draw_case


def bits(key: Any, offset: Any, shape: Any) -> Any:
    return numpy.array(words(key, offset, math.prod(shape)), object).reshape(shape)


def uniform(key: Any, offset: Any, shape: Any, dtype: str) -> Any:
    kept = {"float32": 24, "float64": 53}[dtype]
    found = [(word >> (64 - kept)) / 2.0**kept for word in words(key, offset, math.prod(shape))]
    return numpy.array(found).reshape(shape)


def normal(key: Any, offset: Any, shape: Any, dtype: str) -> Any:
    count = math.prod(shape)
    found: list[float] = []
    stream = words(key, offset, count + count % 2)
    for one, other in zip(stream[0::2], stream[1::2], strict=True):
        radius = math.sqrt(-2 * math.log(((one >> 11) + 1) * 2.0**-53))
        angle = 2 * math.pi * ((other >> 11) * 2.0**-53)
        found += [radius * math.cos(angle), radius * math.sin(angle)]
    return numpy.array(found[:count]).reshape(shape)


def bernoulli(key: Any, offset: Any, shape: Any, probability: float) -> Any:
    bound = round(probability * 2**53)
    found = [(word >> 11) < bound for word in words(key, offset, math.prod(shape))]
    return numpy.array(found, bool).reshape(shape)


def permutation(key: Any, offset: Any, length: int) -> Any:
    stream = words(key, offset, length)
    return numpy.array(sorted(range(length), key=stream.__getitem__), "int64")


def large(**attributes: Any) -> Callable[[], Case]:
    key = numpy.array([1, 2], "uint64"), numpy.array(0, "uint64")
    return lambda: Case(("uint64", "uint64"), key, attributes)


def at_zero(shape: tuple[int, ...]) -> Case:
    key = numpy.zeros(2, "uint64"), numpy.array(0, "uint64")
    return Case(("uint64", "uint64"), key, {"shape": shape})


KNOWN = [0x16554D9ECA36314C, 0xDB20FE9D672D0FDC, 0xD7E772CEE186176B, 0x7E68B68AEC7BA23B]
"""The answer that Random123 publishes for key and counter 0."""

SAMPLES = {
    "random_bits": Sample(
        drawn(),
        bits,
        large(shape=(500_000,)),
        edges=((at_zero((4,)), (numpy.array(KNOWN, "uint64"),)),),
    ),
    "random_uniform": Sample(drawn(), uniform, large(shape=(500_000,), dtype="float32")),
    "random_normal": Sample(drawn(), normal, large(shape=(500_000,), dtype="float32")),
    "random_bernoulli": Sample(
        drawn(lambda draw: {"probability": draw.choice([0.0, 0.3, 1.0])}),
        bernoulli,
        large(shape=(500_000,), probability=0.25),
    ),
    "random_permutation": Sample(
        lambda draw, row: called(draw, row, {"length": draw.integer(0, 9)}),
        permutation,
        large(length=300_000),
    ),
}
