"""`repeat`: a loop as one node."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gpugoblin
from gpugoblin import errors, local, random, xp
from gpugoblin.arrays.evaluation import record
from opgraph.form import write
from opgraph.graph import Graph
from opgraph.memory import peak_bytes


def _graph(x: Any) -> Graph:
    return record([x.value]).graph


def _body(x: Any) -> Graph:
    (node,) = [node for node in _graph(x).nodes if node.operator == "repeat"]
    body = node.attributes["body"]
    assert isinstance(body, Graph)
    return body


def _heat(u: Any, rate: Any) -> Any:
    return u + rate * (xp.roll(u, 1, axis=0) + xp.roll(u, -1, axis=0) - 2.0 * u)


def test_a_stencil_of_a_thousand_steps_is_one_small_graph() -> None:
    start = numpy.random.default_rng(1).random(64)
    rate = local.array(numpy.full(64, 0.2))
    made = gpugoblin.repeat(1000, lambda u: _heat(u, rate), local.array(start))
    theirs = start
    for _ in range(1000):
        theirs = theirs + 0.2 * (numpy.roll(theirs, 1) + numpy.roll(theirs, -1) - 2.0 * theirs)
    numpy.testing.assert_allclose(made.compute(), theirs, rtol=1e-12)
    assert len(_graph(made).nodes) == 1
    assert len(_body(made).nodes) < 12
    assert len(write(_graph(made))) < 6000


def test_several_states_come_back_as_a_tuple() -> None:
    first, second = gpugoblin.repeat(10, lambda a, b: (b, a + b), xp.asarray(0), xp.asarray(1))
    assert (int(first.compute()), int(second.compute())) == (55, 89)


def test_no_steps_give_the_state() -> None:
    x = numpy.arange(3.0)
    numpy.testing.assert_array_equal(
        gpugoblin.repeat(0, lambda u: u * 2.0, local.array(x)).compute(), x
    )


def test_what_no_step_changes_is_computed_once_and_views_are_not_kept() -> None:
    a, b = local.array(numpy.eye(3)), local.array(numpy.arange(3.0))
    made = gpugoblin.repeat(5, lambda u: (a @ a) @ u + xp.sin(b), local.array(numpy.ones(3)))
    operators = [node.operator for node in _body(made).nodes]
    assert operators.count("matmul") == 1
    assert "sin" not in operators
    outside = [node.operator for node in _graph(made).nodes]
    assert sorted(outside) == ["matmul", "repeat", "sin"]
    numpy.testing.assert_allclose(made.compute(), 1 + 5 * numpy.sin(numpy.arange(3.0)))


def test_a_row_is_not_spread_over_the_state_outside_of_the_loop() -> None:
    row = local.array(numpy.ones(1000))
    start = local.array(numpy.zeros((1000, 1000)))
    made = gpugoblin.repeat(3, lambda u: u + row, start)
    assert [each.type.shape for each in _body(made).placeholders] == [(1000, 1000), (1000,)]
    assert peak_bytes(_graph(made)) < 4.5 * start.nbytes


def test_loops_within_loops_and_arrays_of_the_outer_one() -> None:
    def outer(u: Any, n: Any) -> Any:
        return gpugoblin.repeat(3, lambda v: v + u * n, u), n + 1.0

    made, _ = gpugoblin.repeat(2, outer, local.array(numpy.array([1.0, 2.0])), xp.asarray(1.0))
    theirs, n = numpy.array([1.0, 2.0]), 1.0
    for _ in range(2):
        theirs, n = theirs + 3 * theirs * n, n + 1
    numpy.testing.assert_array_equal(made.compute(), theirs)


def test_items_are_set_in_the_body_and_the_outside_keeps_its_values() -> None:
    x = local.array(numpy.zeros(3))

    def body(u: Any) -> Any:
        u[0] = u[1] + 1.0
        u[1] = u[0] * 2.0
        return u

    made = gpugoblin.repeat(3, body, x)
    numpy.testing.assert_array_equal(x.compute(), [0, 0, 0])
    u = numpy.zeros(3)
    for _ in range(3):
        u[0] = u[1] + 1
        u[1] = u[0] * 2
    numpy.testing.assert_array_equal(made.compute(), u)


def test_each_step_has_random_numbers_of_its_own() -> None:
    key = random.key(5)

    def walk(x: Any, n: Any) -> Any:
        return x + random.normal(random.fold_in(key, n), (4,)), n + 1

    made, _ = gpugoblin.repeat(6, walk, xp.zeros(4), xp.asarray(0))
    theirs = sum(random.normal(random.fold_in(key, n), (4,)).compute() for n in range(6))
    numpy.testing.assert_allclose(made.compute(), theirs, rtol=1e-14)


def test_a_state_that_is_given_back_as_it_was_and_states_that_change_places() -> None:
    a, b = gpugoblin.repeat(3, lambda a, b: (b, a), xp.zeros(2), xp.ones(2))
    assert (a.compute().tolist(), b.compute().tolist()) == ([1, 1], [0, 0])
    same, constant = gpugoblin.repeat(2, lambda a, b: (a, xp.ones(2)), xp.zeros(2), xp.zeros(2))
    assert (same.compute().tolist(), constant.compute().tolist()) == ([0, 0], [1, 1])


_OUTSIDE = local.array(numpy.array([0.5, -0.25, 1.0]))
_STEPS: list[Any] = [
    lambda u, v: (v, u),
    lambda u, v: (u + _OUTSIDE, v),
    lambda u, v: (u * 0.5, u),
    lambda u, v: (xp.sin(u) - xp.cos(_OUTSIDE), v + 1.0),
    lambda u, v: (xp.where(u > v, u, _OUTSIDE), v),
    lambda u, v: (u, xp.broadcast_to(xp.sum(v * _OUTSIDE), (3,))),
    lambda u, v: (u[::-1], xp.ones(3) * 0.25),
    lambda u, v: gpugoblin.repeat(2, lambda a, b: (b * 0.5, a + u), u, v),
]


@settings(max_examples=60, deadline=None, database=None, derandomize=True)
@given(st.lists(st.sampled_from(_STEPS), max_size=4), st.integers(0, 4))
def test_a_loop_is_what_its_steps_are_one_after_the_other(steps: list[Any], count: int) -> None:
    def body(u: Any, v: Any) -> Any:
        for step in steps:
            u, v = step(u, v)
        return u, v

    start = local.array(numpy.array([1.0, 2.0, -3.0])), local.array(numpy.array([0.0, 0.1, 4.0]))
    unrolled = start
    for _ in range(count):
        unrolled = body(*unrolled)
    ours = local.compute(*gpugoblin.repeat(count, body, *start))
    numpy.testing.assert_array_equal(ours, local.compute(*unrolled))


def test_bodies_that_do_not_fit() -> None:
    x = local.array(numpy.ones(3))
    with pytest.raises(errors.ShapeMismatch, match="keeps the shape"):
        gpugoblin.repeat(2, lambda u: u[:2], x)
    with pytest.raises(errors.DtypeUnsupported, match="keeps the element type"):
        gpugoblin.repeat(2, lambda u: u.astype("float32"), x)
    with pytest.raises(errors.BadArgument, match=r"1 lazy arrays, not 2 .*test_loop.py"):
        gpugoblin.repeat(2, lambda u: (u, u), x)
    with pytest.raises(errors.BadArgument, match="NoneType"):
        gpugoblin.repeat(2, lambda u: None, x)
    with pytest.raises(errors.BadArgument, match="0 or more"):
        gpugoblin.repeat(-1, lambda u: u, x)
    with pytest.raises(errors.BadArgument, match="state"):
        gpugoblin.repeat(1, lambda: ())
    with pytest.raises(errors.BadArgument, match="integer"):
        gpugoblin.repeat(1.5, lambda u: u, x)  # type: ignore[arg-type]


def test_too_many_steps_are_refused() -> None:
    with pytest.raises(errors.BadArgument, match="at most"):
        gpugoblin.repeat(10**9, lambda u: u * 2.0, local.array(numpy.ones(3)))


def test_a_body_cannot_ask_for_numbers_and_its_state_stays_inside() -> None:
    x = local.array(numpy.ones(()))
    with pytest.raises(errors.NotComputed, match=r"truth value.*test_loop\.py"):
        gpugoblin.repeat(2, lambda u: u if u > 0.0 else -u, x)
    with pytest.raises(errors.UnsupportedComputation, match="state 0 of a loop"):
        gpugoblin.repeat(2, lambda u: u if u else -u, x)
    kept = []
    gpugoblin.repeat(2, lambda u: kept.append(u) or u, x)
    with pytest.raises(errors.UnsupportedComputation, match="state 0 of a loop"):
        kept[0].compute()


def test_what_goes_wrong_in_a_step_names_the_line_of_the_body() -> None:
    x = local.array(numpy.array([3, 2]))

    def body(u: Any) -> Any:
        return 6 // (u - 1)

    line = body.__code__.co_firstlineno + 1
    for made in (
        gpugoblin.repeat(5, body, x + 0),
        gpugoblin.repeat(2, lambda u: gpugoblin.repeat(3, body, u), x + 0),
    ):
        with pytest.raises(errors.ComputationFailed) as raised:
            made.compute()
        found = raised.value
        where = f"floor_divide(int64[2], int64[2]), at {__file__}:{line}"
        assert found.detail == f"{where}: An integer is divided by 0."
        assert found.facts["reason"] == "division_by_zero"
        assert found.facts["operator"] == "floor_divide"
