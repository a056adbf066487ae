"""Systems of equations that are too large for one panel, and those that have no answer."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy
import pytest
from operator_samples.sample import Draw
from operator_samples.solving import positive_definite, well_conditioned

from opgraph.builder import GraphBuilder
from opgraph.catalogue import operator
from opgraph.errors import ComputationError, GraphError
from opgraph.executor import execute
from opgraph.tensors import TensorType


def run(xp: ModuleType, name: str, *arrays: Any, **attributes: Any) -> Any:
    build = GraphBuilder()
    values = [
        build.placeholder(str(n), str(array.dtype), array.shape) for n, array in enumerate(arrays)
    ]
    graph = build.build(build.apply(name, *values, **attributes))
    (found,) = execute(graph, {str(n): xp.asarray(a) for n, a in enumerate(arrays)}, xp=xp)
    return found if isinstance(found, numpy.ndarray) else found.get()


def test_a_factor_of_many_panels_multiplies_to_the_matrix(xp: ModuleType) -> None:
    matrix = positive_definite(Draw(1), "float64", (2, 150, 150))
    factor = run(xp, "cholesky", matrix)
    lower = numpy.tril(matrix)
    whole = lower + numpy.tril(matrix, -1).swapaxes(-1, -2)
    numpy.testing.assert_allclose(factor @ factor.swapaxes(-1, -2), whole, atol=1e-12)
    assert (numpy.triu(factor, 1) == 0).all()


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("transposed", [True, False])
def test_a_triangle_of_many_panels_times_the_answer_is_the_right_side(
    xp: ModuleType, lower: bool, transposed: bool
) -> None:
    draw = Draw(2)
    matrix, right = (
        well_conditioned(draw, "float64", (150, 150)),
        draw.numbers("float64", (150, 3)),
    )
    answer = run(xp, "solve_triangular", matrix, right, lower=lower, transposed=transposed)
    triangle = numpy.tril(matrix) if lower else numpy.triu(matrix)
    product = (triangle.T if transposed else triangle) @ answer
    numpy.testing.assert_allclose(product, right, atol=1e-12)


@pytest.mark.parametrize(
    "matrix", [[[1.0, 0], [2, 4]], [[0.0, 0], [0, 1]], [[numpy.nan, 0], [0, 1]], [[1, 9], [9, 1]]]
)
def test_what_is_not_positive_definite_is_an_error(xp: ModuleType, matrix: Any) -> None:
    with pytest.raises(ComputationError) as caught:
        run(xp, "cholesky", numpy.array([numpy.eye(2), matrix]))
    assert caught.value.code == "not_positive_definite"


@pytest.mark.parametrize(
    ("name", "flags"),
    [("solve", {}), ("solve_triangular", {"lower": True, "transposed": False})],
)
def test_a_singular_matrix_is_an_error(xp: ModuleType, name: str, flags: dict[str, bool]) -> None:
    matrix = numpy.array([[1.0, 0.0], [1.0, 0.0]])
    with pytest.raises(ComputationError) as caught:
        run(xp, name, matrix, numpy.ones((2, 1)), **flags)
    assert caught.value.code == "singular"


@pytest.mark.parametrize(
    ("name", "shapes"),
    [
        ("cholesky", [(3, 2)]),
        ("cholesky", [(3,)]),
        ("solve", [(3, 3), (3,)]),
        ("solve", [(3, 3), (2, 3)]),
        ("solve", [(2, 3, 3), (3, 3)]),
    ],
)
def test_operands_that_do_not_fit_are_refused(name: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(GraphError):
        operator(name).infer([TensorType("float32", shape) for shape in shapes], {})
