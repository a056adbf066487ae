"""The catalogue's random numbers against `random_tests`, for fixed keys: never one time so, one
time other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy

from tests.conformance import random_tests
from tests.conformance.random_tests import PValues
from tests.conformance.report import Row
from tests.conformance.vectors import made

DRAWS = 10_000_000
LEVEL = 1e-6
"""A p-value below it fails. There are fewer than 200, so a perfect generator fails any with a
chance below 2 in 10,000; one that is off by a hundredth of a per cent in 10^7 draws fails surely.
"""
KEY, OFFSET = (0x9E3779B97F4A7C15, 2026), 77
NEIGHBOURS = {
    "next key": ((KEY[0] + 1, KEY[1]), OFFSET),
    "next second word of the key": ((KEY[0], KEY[1] + 1), OFFSET),
    "words of the key changed over": (KEY[::-1], OFFSET),
    "next block": (KEY, OFFSET + 1),
    "offset in the highest bit": (KEY, OFFSET + 2**63),
}


def p_values(draws: int) -> Iterator[tuple[str, PValues]]:
    """Every test, on so many draws of each operator."""
    words = made("random_bits", KEY, OFFSET, shape=(draws,))
    yield "random_bits", random_tests.of_words(words)
    for dtype in ("float32", "float64"):
        uniform = made("random_uniform", KEY, OFFSET, shape=(draws,), dtype=dtype)
        yield f"random_uniform, {dtype}", random_tests.of_uniform(uniform)
        normal = made("random_normal", KEY, OFFSET, shape=(draws,), dtype=dtype)
        yield f"random_normal, {dtype}", random_tests.of_normal_numbers(normal)
    for chance in (0.5, 0.3, 0.02):
        found = made("random_bernoulli", KEY, OFFSET, shape=(draws,), probability=chance)
        yield f"random_bernoulli, {chance}", random_tests.of_bernoulli(found, chance)
    permutation = made("random_permutation", KEY, OFFSET, length=draws)
    yield "random_permutation", random_tests.of_permutation(permutation)
    count = max(draws // 500, 1_000)
    short = [made("random_permutation", KEY, 2 * at, length=5) for at in range(count)]
    yield "random_permutation, of five", random_tests.of_short_permutations(numpy.array(short))
    for name, (key, offset) in NEIGHBOURS.items():
        other = made("random_bits", key, offset, shape=(draws,))
        yield f"two streams, {name}", random_tests.of_two_streams(words, other)


def rows(draws: int = DRAWS) -> Iterator[Row]:
    """A row for every operator, one test a question."""
    began = time.monotonic()
    for name, found in p_values(draws):
        seconds, began = time.monotonic() - began, time.monotonic()
        yield Row(f"{draws:,} draws", name, len(found), tuple(too_small(found)), seconds)


def too_small(found: PValues) -> list[str]:
    """The tests that failed, in words."""
    return [f"{name}: p = {p:.2g}" for name, p in found.items() if not p >= LEVEL]
