"""The same questions to every operator of the catalogue, on every array module that is here."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy
import pytest
from operator_samples import SAMPLES, Case
from operator_samples.sample import Draw, values, widened

from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS, operator
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.tensors import FLOATS, HALVES, TensorType, storage_dtype

UNIT_ROUNDOFF = {
    "float64": 2.0**-53,
    "float32": 2.0**-24,
    "float16": 2.0**-11,
    "bfloat16": 2.0**-8,
}
TINY = {"float64": 2.0**-1022, "float32": 2.0**-126, "float16": 2.0**-14, "bfloat16": 2.0**-126}
"""Smaller numbers may have been read as zero on the way."""

each_operator = pytest.mark.parametrize("name", sorted(OPERATORS))


def cases(name: str, times: int) -> Iterator[Case]:
    """So many calls for every row of the operator's dtype table."""
    # One that decides on its types by itself has no table.
    for number, row in enumerate(sorted(operator(name).dtypes) or [()]):
        for seed in range(times):
            yield SAMPLES[name].case(Draw(1000 * number + seed), row)


def graph_of(name: str, case: Case, *, turned: bool = False) -> Graph:
    """The operator alone; `turned`: on views whose elements lie in another order in memory."""
    build = GraphBuilder()
    types = [t.shape[::-1] if turned else t.shape for t in case.types]
    operands = [
        build.placeholder(f"x{n}", dtype, shape)
        for n, (dtype, shape) in enumerate(zip(case.dtypes, types, strict=True))
    ]
    if turned:
        operands = [
            build.apply("permute_dims", value, axes=tuple(range(len(shape)))[::-1])
            for value, shape in zip(operands, types, strict=True)
        ]
    return build.build(*build.apply_all(name, operands, case.attributes))


def run(xp: ModuleType, name: str, case: Case, *, turned: bool = False) -> list[Any]:
    """The operator's results as numpy arrays."""
    arrays = [array.transpose() if turned else array for array in case.arrays]
    inputs = {f"x{n}": xp.asarray(array) for n, array in enumerate(arrays)}
    results = execute(graph_of(name, case, turned=turned), inputs, xp=xp)
    return [each if isinstance(each, numpy.ndarray) else each.get() for each in results]


def expect(name: str, case: Case, results: list[Any]) -> None:
    """Assert that results have the declared types and lie where the declaration allows."""
    inferred = operator(name).infer(case.types, case.attributes)
    operands = [widened(a, d) for a, d in zip(case.arrays, case.dtypes, strict=True)]
    with numpy.errstate(all="ignore"):
        exact = SAMPLES[name].exact(*operands, **case.attributes)
    exact = exact if isinstance(exact, tuple) else (exact,)
    assert len(results) == len(inferred) == len(exact)
    for position, (result, type_, right) in enumerate(zip(results, inferred, exact, strict=True)):
        assert result.shape == type_.shape
        assert result.dtype == storage_dtype(type_.dtype)
        if type_.dtype in (*FLOATS, *HALVES):
            expect_float(name, case, position, values(result, type_.dtype), type_, right)
        else:
            numpy.testing.assert_array_equal(result, wrapped(right, type_.dtype))


def expect_float(
    name: str, case: Case, position: int, result: Any, type_: TensorType, right: Any
) -> None:
    rule = operator(name).error
    right = numpy.broadcast_to(numpy.asarray(right, numpy.longdouble), type_.shape)
    coefficient = rule.coefficient(case.types, case.attributes)
    if not coefficient:
        numpy.testing.assert_array_equal(result, right.astype(result.dtype))
        return
    wide = [values(a, d).astype("float64") for a, d in zip(case.arrays, case.dtypes, strict=True)]
    with numpy.errstate(all="ignore"):
        scale = rule.scale(wide, case.attributes)
    scale = scale[position] if isinstance(scale, tuple) else scale
    allowed = coefficient * UNIT_ROUNDOFF[type_.dtype] * scale + TINY[type_.dtype]
    with numpy.errstate(all="ignore"):
        near = abs(result.astype(numpy.longdouble) - right) <= allowed
    largest = float(numpy.finfo("float32" if type_.dtype == "bfloat16" else type_.dtype).max)
    overflown = (abs(right) + allowed >= largest) & numpy.isinf(result)
    same = (result == right) | (numpy.isnan(result) & numpy.isnan(right))
    assert (near | overflown | same).all(), (result, right, allowed)


def wrapped(exact: Any, dtype: str) -> Any:
    """Whole numbers modulo 2^w; booleans as they are."""
    if dtype == "bool":
        return numpy.asarray(exact, bool)
    bits = 8 * numpy.dtype(dtype).itemsize
    exact = numpy.asarray(exact)
    whole = numpy.array([int(each) % 2**bits for each in exact.ravel()], "uint64")
    return whole.astype(f"uint{bits}").view(dtype).reshape(exact.shape)


def test_every_operator_has_a_sample() -> None:
    assert sorted(SAMPLES) == sorted(OPERATORS)


@each_operator
def test_the_result_is_right(xp: ModuleType, name: str) -> None:
    for case in cases(name, times=4):
        expect(name, case, run(xp, name, case))


@each_operator
def test_it_does_not_matter_how_operands_lie_in_memory(xp: ModuleType, name: str) -> None:
    for case in cases(name, times=2):
        expect(name, case, run(xp, name, case, turned=True))


@each_operator
def test_special_values_give_what_is_declared(xp: ModuleType, name: str) -> None:
    for case, expected in SAMPLES[name].edges:
        results = run(xp, name, case)
        inferred = operator(name).infer(case.types, case.attributes)
        for result, type_, right in zip(results, inferred, expected, strict=True):
            found = values(result, type_.dtype)
            numpy.testing.assert_array_equal(found, right)
            if found.dtype.kind == "f":
                numbers = ~numpy.isnan(found)
                signs = numpy.signbit(found), numpy.signbit(numpy.asarray(right, found.dtype))
                numpy.testing.assert_array_equal(signs[0][numbers], signs[1][numbers])


@each_operator
def test_the_same_call_gives_the_same_bits(xp: ModuleType, name: str) -> None:
    case = SAMPLES[name].large()
    first, second = run(xp, name, case), run(xp, name, case)
    for one, other in zip(first, second, strict=True):
        assert one.tobytes() == other.tobytes()


@each_operator
def test_in_place_gives_the_same_bits(name: str) -> None:
    case = SAMPLES[name].large()
    if not operator(name).in_place:
        return
    build = GraphBuilder()
    operands = [build.placeholder(f"x{n}", t.dtype, t.shape) for n, t in enumerate(case.types)]
    # Copies that die in the operator may be overwritten; inputs never are.
    copies = [
        build.apply("permute_dims", value, axes=tuple(range(t.rank)))
        for value, t in zip(operands, case.types, strict=True)
    ]
    kept = build.apply_all(name, copies, case.attributes)
    inputs = {f"x{n}": array for n, array in enumerate(case.arrays)}
    before = [array.copy() for array in case.arrays]
    results = execute(build.build(*kept), inputs)
    for one, other in zip(results, run(numpy, name, case), strict=True):
        assert one.tobytes() == other.tobytes()
    for array, unchanged in zip(case.arrays, before, strict=True):
        assert array.tobytes() == unchanged.tobytes()


@each_operator
def test_memory_is_what_the_model_says(name: str) -> None:
    case = SAMPLES[name].large()
    graph = graph_of(name, case)
    inputs = {f"x{n}": array for n, array in enumerate(case.arrays)}
    execute(graph, inputs)
    gc.collect()
    tracemalloc.start()
    try:
        results = execute(graph, inputs)
        measured = tracemalloc.get_traced_memory()[1] + sum(a.nbytes for a in case.arrays)
    finally:
        tracemalloc.stop()
    stated = peak_bytes(graph)
    small = 1 << 18  # buffers of the libraries, which do not grow
    assert measured <= stated + small
    assert stated <= 1.1 * measured + small
    assert results


@each_operator
def test_memory_is_enough_for_operands_in_another_order(name: str) -> None:
    """The bound for admission holds, though copies of views may be needed inside."""
    case = SAMPLES[name].large()
    graph = graph_of(name, case, turned=True)
    inputs = {f"x{n}": array.transpose().copy() for n, array in enumerate(case.arrays)}
    execute(graph, inputs)
    gc.collect()
    tracemalloc.start()
    try:
        results = execute(graph, inputs)
        measured = tracemalloc.get_traced_memory()[1] + sum(a.nbytes for a in case.arrays)
    finally:
        tracemalloc.stop()
    assert measured <= peak_bytes(graph) + (1 << 18)
    assert results
