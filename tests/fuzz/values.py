"""Inputs that hurt: NaN, infinities, signed zeros, subnormals, the ends of every dtype."""

from __future__ import annotations

from typing import Any

import numpy

from opgraph.graph import Graph
from opgraph.tensors import FLOATS, HALVES, TensorType, storage_dtype


def extremes(graph: Graph, seed: int) -> dict[str, Any]:
    """An array for every placeholder; ordinary numbers, extremes, or both, as the seed says."""
    random = numpy.random.default_rng(seed)
    return {each.name: array(random, each.type) for each in graph.placeholders}


def array(random: numpy.random.Generator, type_: TensorType) -> Any:
    """An array of that type, in the storage of its dtype."""
    ordinary = _ordinary(random, type_)
    if random.random() < 0.4:
        return ordinary
    among = _ends(type_.dtype)
    chosen = among[random.integers(0, len(among), type_.shape)]
    share = random.choice([0.02, 0.3, 1.0])
    hurt = random.random(type_.shape) < share
    return numpy.where(hurt, chosen, ordinary).astype(storage_dtype(type_.dtype))


def _ordinary(random: numpy.random.Generator, type_: TensorType) -> Any:
    """Small numbers: often good indices, often equal."""
    if type_.dtype == "bool":
        return random.random(type_.shape) < 0.5
    if type_.dtype == "bfloat16":
        wide = random.normal(size=type_.shape).astype(numpy.float32)
        return numpy.asarray(wide.view(numpy.uint32) >> 16).astype(numpy.uint16)
    if type_.dtype in (*FLOATS, *HALVES):
        return random.normal(size=type_.shape).astype(type_.dtype)
    most = int(random.choice([1, 3, 100]))
    return random.integers(0, most, type_.shape, endpoint=True).astype(type_.dtype)


def _ends(dtype: str) -> Any:
    if dtype == "bool":
        return numpy.array([False, True])
    if dtype == "bfloat16":
        # 0, -0, the smallest subnormal, 1, -1, the largest, both infinities, two NaN.
        bits = [0, 0x8000, 1, 0x3F80, 0xBF80, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0xFF81]
        return numpy.array(bits, numpy.uint16)
    if dtype in (*FLOATS, *HALVES):
        of = numpy.finfo(dtype)
        numbers = [0.0, -0.0, of.smallest_subnormal, of.tiny, of.eps, 1, -1, of.max, of.min]
        return numpy.array([*numbers, numpy.inf, -numpy.inf, numpy.nan], dtype)
    bounds = numpy.iinfo(dtype)
    numbers = [bounds.min, bounds.min + 1, -1 if bounds.min else 0, 0, 1, 2]
    return numpy.array([*numbers, bounds.max - 1, bounds.max], dtype)
