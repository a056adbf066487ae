"""Fused operators against their definitions in other operators, in float64."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from operator_samples import SAMPLES, Case
from operator_samples.sample import Draw

from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS
from opgraph.catalogue.declaration import Operator
from opgraph.executor import execute
from opgraph.graph import Graph

FUSED = [each for each in OPERATORS.values() if each.reference is not None]
UNIT_ROUNDOFF = 2.0**-53


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
    row = next(row for row in sorted(declaration.dtypes) if "float64" in row)
    for seed in range(6):
        case = SAMPLES[declaration.name].case(Draw(seed), row)
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
    scale = rule.scale(case.arrays, case.attributes)
    scale = scale[position] if isinstance(scale, tuple) else scale
    # Both sides may be off by as much as the operator itself.
    allowed = 2 * rule.coefficient(case.types, case.attributes) * UNIT_ROUNDOFF * scale
    with numpy.errstate(all="ignore"):
        near = abs(result - right) <= allowed + 1e-300
    assert (near | (result == right) | (numpy.isnan(result) & numpy.isnan(right))).all()
