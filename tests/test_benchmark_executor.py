"""The models of `make bench-executor`: right gradients, the memory that was foretold, PyTorch."""

from __future__ import annotations

import gc
import tracemalloc
from functools import cache
from typing import Any

import numpy as np
import pytest

from benchmarks.executor import agreement, models
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import FIXED_BYTES, peak_bytes

MIB = 2**20
each_model = pytest.mark.parametrize("name", list(models.MODELS))
Arrays = dict[str, Any]


@cache
def trained(name: str) -> models.Model:
    return models.model(name, training=True)


def numbers(model: models.Model) -> Arrays:
    """Standard normal data; weights of a size that keeps what flows; means 0, variances 1."""
    rng = np.random.default_rng(1)
    arrays: Arrays = {}
    statistics = iter(model.statistics)
    for place in model.graph.placeholders:
        shape = place.type.shape
        if place.type.dtype == "int64":
            arrays[place.name] = rng.integers(0, models.CLASSES, shape)
            continue
        made = rng.standard_normal(shape, np.float32)
        if place.name.startswith("p"):
            made /= np.sqrt(max(1, made[0].size)).astype(np.float32)
        elif place.name != "i0":
            made = np.full(shape, next(statistics).endswith("var"), np.float32)
        arrays[place.name] = made
    return arrays


def with_parameters_moved(arrays: Arrays, along: list[Any], step: float) -> Arrays:
    moved = dict(arrays)
    names = [name for name in arrays if name.startswith("p")]
    for name, direction in zip(names, along, strict=True):
        moved[name] = arrays[name] + np.float32(step) * direction
    return moved


@each_model
def test_the_loss_rises_along_the_gradient_by_its_square(name: str) -> None:
    model = trained(name)
    arrays = numbers(model)
    gradients = execute(model.graph, arrays)[1 : 1 + len(model.parameters)]
    steepness = sum(float((each.astype(float) ** 2).sum()) for each in gradients)
    step = 0.01 / steepness
    above, below = (
        float(execute(model.graph, with_parameters_moved(arrays, gradients, each))[0])
        for each in (step, -step)
    )
    assert above - below == pytest.approx(0.02, rel=0.05)


def measured(graph: Graph, arrays: Arrays) -> int:
    """Bytes at most, with inputs that live from their first use to their last."""
    execute(graph, arrays)
    gc.collect()
    tracemalloc.start()
    try:
        execute(graph, {name: array.copy for name, array in arrays.items()})
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@each_model
def test_memory_is_foretold(name: str) -> None:
    model = trained(name)
    foretold = peak_bytes(model.graph) + FIXED_BYTES
    assert 0.9 * foretold <= measured(model.graph, numbers(model)) <= foretold


def test_a_step_of_gpt_takes_at_most_55_mib() -> None:
    assert peak_bytes(trained("gpt").graph) <= 55 * MIB


@pytest.mark.parametrize("training", [False, True], ids=["forward", "joint"])
@each_model
def test_it_computes_what_pytorch_does(name: str, training: bool) -> None:
    pytest.importorskip("torch", reason="PyTorch is missing: `make bench-executor` installs it")
    from benchmarks.executor.case import Case

    offs: list[float] = []
    for seed in agreement.SEEDS:
        case = Case(name, training, seed)
        found = execute(case.model.graph, case.arrays)
        offs.append(agreement.deviation(found, case.in_double(), len(case.model.parameters)))
        if offs[-1] <= 1:
            return
    pytest.fail(f"off by {offs} tolerances")
