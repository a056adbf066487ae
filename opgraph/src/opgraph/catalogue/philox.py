"""Philox 4x64-10: numpy's own on CPUs, one kernel on GPUs, the same words."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy

from opgraph.tensors import Array

_WORDS = 4
"""In a block."""


def nbytes(count: int) -> int:
    """Memory of `words`, which are made in whole blocks."""
    return 8 * (-(-count // _WORDS) * _WORDS)


def words(xp: Any, key: Sequence[int], block: int, count: int) -> Array:
    """`count` words (uint64) from the first of a block on; `key` is two words."""
    if xp is numpy:
        return _on_cpu(key, block, count)
    return _on_gpu(xp, key, block, count)


def _on_cpu(key: Sequence[int], block: int, count: int) -> Array:
    # numpy counts up before it makes a block, so it starts one before.
    before = (block - 1) % 2**256
    counter = [before >> (64 * place) & (2**64 - 1) for place in range(4)]
    bits = numpy.random.Philox(
        key=numpy.array(key, numpy.uint64), counter=numpy.array(counter, numpy.uint64)
    )
    return bits.random_raw(count)


_KERNEL = r"""
unsigned long long c0 = block + i, c1 = c0 < block ? 1ULL : 0ULL, c2 = 0, c3 = 0;
unsigned long long k0 = key0, k1 = key1;
for (int round = 0; round < 10; ++round) {
    if (round) { k0 += 0x9E3779B97F4A7C15ULL; k1 += 0xBB67AE8584CAA73BULL; }
    unsigned long long high0 = __umul64hi(0xD2E7470EE14C6C93ULL, c0);
    unsigned long long low0 = 0xD2E7470EE14C6C93ULL * c0;
    unsigned long long high1 = __umul64hi(0xCA5A826395121157ULL, c2);
    unsigned long long low1 = 0xCA5A826395121157ULL * c2;
    c0 = high1 ^ c1 ^ k0; c1 = low1; c2 = high0 ^ c3 ^ k1; c3 = low0;
}
out[4 * i] = c0; out[4 * i + 1] = c1; out[4 * i + 2] = c2; out[4 * i + 3] = c3;
"""


@cache
def _kernel(xp: Any) -> Any:
    return xp.ElementwiseKernel(
        "uint64 key0, uint64 key1, uint64 block", "raw uint64 out", _KERNEL, "philox_4x64_10"
    )


def _on_gpu(xp: Any, key: Sequence[int], block: int, count: int) -> Array:
    blocks = -(-count // _WORDS)
    made = xp.empty(blocks * _WORDS, xp.uint64)
    if blocks:
        arguments = (numpy.uint64(each) for each in (*key, block))
        _kernel(xp)(*arguments, made, size=blocks)
    return made[:count]
