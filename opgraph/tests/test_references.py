"""Fused operators against their definitions in other operators, in float64."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from operator_samples import SAMPLES, Case
from operator_samples.sample import Draw, Row

from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS
from opgraph.catalogue.declaration import Operator
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.tensors import HALVES

FUSED = [each for each in OPERATORS.values() if each.reference is not None]
UNIT_ROUNDOFF = {"float64": 2.0**-53, "float32": 2.0**-24}


def compared_rows(name: str) -> list[Row]:
    """Rows of a fused operator's dtype table, but for 16-bit floats: these compute in float32 and
    round once, where the definition would round after each step."""
    if OPERATORS[name].reference is None:
        return []
    return [row for row in sorted(OPERATORS[name].dtypes) if not set(row) & set(HALVES)]


def defined(declaration: Operator, case: Case) -> tuple[Graph, Graph]:
    """The operator alone, and its definition."""
    graphs = []
    for fused in (True, False):
        build = GraphBuilder()
        values = [
            build.placeholder(f"x{n}", type_.dtype, type_.shape)
            for n, type_ in enumerate(case.types)
        ]
        if fused:
            graphs.append(build.build(*build.apply_all(declaration.name, values, case.attributes)))
        else:
            assert declaration.reference is not None
            graphs.append(build.build(*declaration.reference(build, values, case.attributes)))
    return graphs[0], graphs[1]


@pytest.mark.parametrize("declaration", FUSED, ids=lambda each: each.name)
def test_a_fused_operator_is_what_its_definition_says(declaration: Operator) -> None:
    for row in compared_rows(declaration.name):
        for seed in range(6 if "float64" in row else 2):
            case = SAMPLES[declaration.name].case(Draw(seed), row)
            expect_as_defined(declaration.name, case)


def test_every_fused_operator_is_compared() -> None:
    assert len(FUSED) > 20
    assert all(compared_rows(each.name) for each in FUSED)


def expect_as_defined(name: str, case: Case) -> None:
    """Assert that an operator and its definition have the same types and near results."""
    declaration = OPERATORS[name]
    inputs = {f"x{n}": array for n, array in enumerate(case.arrays)}
    graph, definition = defined(declaration, case)
    assert graph.output_types == definition.output_types
    pairs = zip(execute(graph, inputs), execute(definition, inputs), strict=True)
    for position, (result, right) in enumerate(pairs):
        expect_near(declaration, case, position, result, right)


def expect_near(declaration: Operator, case: Case, position: int, result: Any, right: Any) -> None:
    rule = declaration.error
    if result.dtype.kind != "f":
        numpy.testing.assert_array_equal(result, right)
        return
    wide = [array.astype("float64") if array.dtype.kind == "f" else array for array in case.arrays]
    with numpy.errstate(all="ignore"):
        scale = rule.scale(wide, case.attributes)
    scale = scale[position] if isinstance(scale, tuple) else scale
    # Both sides may be off by as much as the operator itself.
    u = UNIT_ROUNDOFF[str(result.dtype)]
    allowed = 2 * rule.coefficient(case.types, case.attributes) * u * scale
    tiny = numpy.finfo(result.dtype).tiny
    with numpy.errstate(all="ignore"):
        near = abs(result - right) <= allowed + tiny
    assert (near | (result == right) | (numpy.isnan(result) & numpy.isnan(right))).all()
