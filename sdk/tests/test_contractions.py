"""Einsum's notation and order of products, and linear algebra's errors.

That the numbers are right is asked in tests/conformance/array_api.
"""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy
import pytest

from gpugoblin import errors, local, xp
from gpugoblin.arrays.einsum import parsed
from gpugoblin.arrays.evaluation import record


def _zeros(*shape: int, dtype: Any = "float64") -> Any:
    return local.array(numpy.zeros(shape, dtype))


def _operators(x: Any) -> list[str]:
    return [node.operator for node in record([x.value]).graph.nodes]


@pytest.mark.parametrize(
    ("subscripts", "ranks", "inputs", "output"),
    [
        ("ij,jk", [2, 2], ["ij", "jk"], "ik"),
        ("ba", [2], ["ba"], "ab"),
        ("ii", [2], ["ii"], ""),
        ("aB", [2], ["aB"], "Ba"),
        (" i j -> j i ", [2], ["ij"], "ji"),
        ("->", [0], [""], ""),
        ("", [0], [""], ""),
    ],
)
def test_the_notation(subscripts: str, ranks: list[int], inputs: list[str], output: str) -> None:
    assert parsed(subscripts, ranks) == ([tuple(each) for each in inputs], tuple(output))


def test_dots_are_counted_from_the_end() -> None:
    assert parsed("...i,i...->...", [3, 2]) == ([(".2", ".1", "i"), ("i", ".1")], (".2", ".1"))


@pytest.mark.parametrize(
    ("subscripts", "shapes", "said"),
    [
        ("ij", [(2,)], "does not name"),
        ("i", [(2, 2)], "does not name"),
        ("ij...", [(2,)], "does not name"),
        ("i,j", [(2,)], "for 2 operands"),
        ("i", [(2,), (2,)], "for 1 operands"),
        ("i1", [(2, 2)], "letter"),
        ("i.j", [(2, 2)], "letter"),
        ("i->ii", [(2,)], "comes twice"),
        ("i->j", [(2,)], "in no operand"),
        ("...->", [(2,)], "leaves out"),
        ("i->j->k", [(2,)], "letter"),
        ("ij,jk", [(2, 3), (4, 2)], "lengths 3 and 4"),
        ("ii", [(2, 3)], "lengths"),
        ("ii", [(1, 3)], "lengths"),
        ("i" * 2000, [(2,)], "1024"),
        (7, [(2,)], "text"),
    ],
)
def test_subscripts_that_do_not_fit(
    subscripts: Any, shapes: list[tuple[int, ...]], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        xp.einsum(subscripts, *(_zeros(*shape) for shape in shapes))


def test_einsum_takes_numbers_of_one_type_and_some_arrays() -> None:
    with pytest.raises(errors.DtypeUnsupported):
        xp.einsum("i", _zeros(2, dtype=bool))
    with pytest.raises(errors.DtypeUnsupported, match="common"):
        xp.einsum("i,i", _zeros(2), _zeros(2, dtype="int64"))
    with pytest.raises(errors.BadArgument, match="1 to 32"):
        xp.einsum("")
    with pytest.raises(errors.BadArgument, match="1 to 32"):
        xp.einsum(",".join("i" * 33), *[_zeros(2)] * 33)


def test_the_cheapest_pair_is_multiplied_first() -> None:
    matrix, vector = _zeros(50, 50), _zeros(50)
    made = xp.einsum("ij,jk,kl,l->i", matrix, matrix, matrix, vector)
    products = [node for node in record([made.value]).graph.nodes if node.operator == "matmul"]
    assert len(products) == 3
    # Always a matrix by a vector, never a matrix by a matrix.
    assert all(1 in node.results[0].shape for node in products)


def test_a_product_without_a_sum_is_no_matrix_product() -> None:
    assert "matmul" not in _operators(xp.einsum("i,j->ij", _zeros(3), _zeros(4)))
    assert "matmul" not in _operators(xp.einsum("ij,ij->ij", _zeros(3, 4), _zeros(3, 4)))
    assert _operators(xp.einsum("ij->ji", _zeros(3, 4))) == ["permute_dims"]
    assert _operators(xp.einsum("bij,bjk->bik", _zeros(2, 3, 4), _zeros(2, 4, 5))) == ["matmul"]


@pytest.mark.parametrize(
    ("call", "kind", "said"),
    [
        (lambda: xp.tensordot(_zeros(2, 3), _zeros(4, 2)), errors.ShapeMismatch, "one length"),
        (lambda: xp.tensordot(_zeros(2), _zeros(2), axes=2), errors.BadArgument, "not so many"),
        (lambda: xp.tensordot(_zeros(2), _zeros(2), axes=-1), errors.BadArgument, "not so many"),
        (
            lambda: xp.tensordot(_zeros(2), _zeros(2), axes=((0,), ())),
            errors.BadArgument,
            "equally",
        ),
        (lambda: xp.vecdot(_zeros(2), _zeros(3)), errors.ShapeMismatch, "must be equal"),
        (lambda: xp.vecdot(_zeros(2), _zeros(2), axis=0), errors.BadArgument, "from the end"),
        (lambda: xp.linalg.cross(_zeros(2), _zeros(2)), errors.ShapeMismatch, "of 3"),
        (lambda: xp.linalg.outer(_zeros(2, 2), _zeros(2)), errors.ShapeMismatch, "two vectors"),
        (lambda: xp.linalg.inv(_zeros(2, 3)), errors.ShapeMismatch, "square"),
        (
            lambda: xp.linalg.cholesky(_zeros(2, 2, dtype="int64")),
            errors.DtypeUnsupported,
            "floats",
        ),
        (lambda: xp.linalg.solve(_zeros(2, 2), _zeros(3)), errors.ShapeMismatch, "right side"),
        (lambda: xp.linalg.solve(_zeros(2, 2), _zeros()), errors.ShapeMismatch, "right side"),
        (lambda: xp.linalg.trace(_zeros(2)), errors.ShapeMismatch, "matrices"),
        (lambda: xp.linalg.matrix_power(_zeros(2, 2), 2**40), errors.BadArgument, "2.31"),
        (lambda: xp.linalg.matrix_power(_zeros(2, 2), 0.5), errors.BadArgument, "integer"),
        (
            lambda: xp.linalg.matrix_norm(_zeros(2, 2), ord="nuc"),
            errors.UnsupportedComputation,
            "singular",
        ),
        (lambda: xp.linalg.matrix_norm(_zeros(2, 2), ord=3), errors.BadArgument, "fro"),
        (lambda: xp.linalg.vector_norm(_zeros(2), ord=math.nan), errors.BadArgument, "number"),
    ],
)
def test_linear_algebra_that_does_not_fit(call: Any, kind: type[Exception], said: str) -> None:
    with pytest.raises(kind, match=said):
        call()


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: xp.linalg.inv(_zeros(2, 2)), "singular"),
        (lambda: xp.linalg.cholesky(_zeros(2, 2)), "not_positive_definite"),
    ],
)
def test_what_only_the_numbers_show_names_the_line(call: Any, reason: str) -> None:
    with pytest.raises(errors.ComputationFailed, match=r"test_contractions.py:\d+") as raised:
        call().compute()
    assert raised.value.facts["reason"] == reason


def test_a_power_of_a_matrix_is_squared() -> None:
    x = local.array(numpy.diag([1.0, 0.5]))
    made = xp.linalg.matrix_power(x, 100)
    assert len(_operators(made)) < 10
    numpy.testing.assert_allclose(made.compute(), numpy.diag([1.0, 0.5**100]), rtol=1e-12)
    first = xp.linalg.matrix_power(x, 1)
    first[0, 0] = 7.0
    assert x.compute()[0, 0] == 1


def test_what_is_left_out_shows_the_standards_arguments_and_takes_any() -> None:
    assert str(inspect.signature(xp.linalg.svd)) == "(x, /, *, full_matrices=True)"
    assert str(inspect.signature(xp.linalg.pinv)) == "(x, /, *, rtol=None)"
    with pytest.raises(errors.UnsupportedComputation, match="not unique"):
        xp.linalg.qr(_zeros(2, 2), "raw")
