"""One graph from many lazy arrays, and what is never computed in passing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy
import pytest

import gpugoblin
from gpugoblin import errors, local, xp
from gpugoblin.arrays import evaluation
from opgraph.graph import Graph


def nodes(*arrays: Any) -> list[str]:
    recorded = evaluation.record([each.value for each in arrays])
    return [each.operator for each in recorded.graph.nodes]


def test_what_is_shared_is_computed_once() -> None:
    x = local.array(numpy.array([1.0, 2.0]))
    shared = xp.exp(x)
    doubled = shared
    for _ in range(40):
        doubled = doubled + doubled
    assert nodes(doubled, shared) == ["exp", *["add"] * 40]
    made, again = local.compute(doubled, shared)
    assert numpy.array_equal(made, again * 2.0**40)


def test_the_graph_is_valid_and_the_same_in_whatever_order_it_was_written() -> None:
    content = numpy.array([1.0, 2.0])

    def written(turned: bool) -> Graph:
        x = local.array(content)
        made = (xp.sin(x), xp.cos(x)) if turned else tuple(reversed((xp.cos(x), xp.sin(x))))
        return evaluation.record([(made[0] * made[1] + 1.0).value]).graph

    first, second = written(True), written(False)
    assert Graph.from_bytes(first.to_bytes()).id == first.id == second.id


def test_one_array_is_one_input_and_two_forms_of_its_bits_are_two() -> None:
    content = numpy.array([1, 2], numpy.uint16)
    x = local.array(content)
    assert len(evaluation.record([(x + local.array(content)).value]).leaves) == 1
    bits = local.from_bits(content).astype(xp.float32) + x.astype(xp.float32)
    assert len(evaluation.record([bits.value]).leaves) == 2


def test_a_long_chain_needs_no_deep_stack_and_too_long_a_one_is_refused_at_once() -> None:
    x = xp.asarray([0.0])
    for _ in range(5_000):
        x = x + 1.0
    assert x.compute().tolist() == [5_000.0]
    for _ in range(45_500):
        x = xp.negative(x)
    with pytest.raises(
        errors.TooLarge, match=r"50,000 operations.*test_evaluation\.py:\d+.*repeat"
    ):
        x.compute()
    del x  # Fifty thousand values that hold one another are let go without a deep stack, too.


def test_results_are_memory_of_their_own() -> None:
    content = numpy.zeros((2, 2))
    view = local.array(content)[0]
    made = view.compute()
    made[0] = 5.0
    assert not content.any()
    assert local.compute() == ()


def test_what_is_at_a_lab_is_not_computed_here(lab: gpugoblin.Lab) -> None:
    at_lab = lab.array(numpy.eye(2))
    for other in (at_lab, at_lab + 1.0, gpugoblin.assume((2, 2)), numpy.eye(2)):
        with pytest.raises(errors.BadArgument, match="in this process"):
            local.compute(other)  # type: ignore[arg-type]


def test_too_little_memory_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(evaluation, "execute", execute)
    with pytest.raises(errors.MemoryTooSmall, match=r"needs 8 MiB of memory at once"):
        (xp.ones((1024, 1024)) + 1.0 + xp.ones((1024, 1024))).compute()


def test_what_cannot_fit_is_refused_before_it_begins() -> None:
    huge = xp.sum(xp.zeros((2**20, 2**19)) + 1.0)
    with pytest.raises(errors.MemoryTooSmall, match=r"needs 4 TiB of memory at once, and this"):
        huge.compute()


PASSING: list[Callable[[Any], Any]] = [bool, int, float, complex, lambda x: [7][x]]


@pytest.mark.parametrize("use", PASSING)
def test_numbers_that_are_not_computed_are_not_had_in_passing(use: Callable[[Any], Any]) -> None:
    x = xp.asarray(0)
    wanted = use(0)
    assert use(x) == wanted
    lazy = x * 1
    with pytest.raises(
        errors.NotComputed, match=r"test_evaluation\.py:\d+.*\.compute\(\)"
    ) as caught:
        use(lazy)
    assert isinstance(caught.value, TypeError)
    with local.on_demand():
        assert use(lazy) == wanted
        with local.on_demand(False), pytest.raises(errors.NotComputed):
            use(lazy)
        assert use(lazy) == wanted
        with pytest.raises(errors.NotComputed, match=r"only assumed|not computed"):
            use(gpugoblin.assume((), "int64") * 1)
    with pytest.raises(errors.NotComputed):
        use(lazy)
    with pytest.raises(errors.NotComputed, match=r"of one number; this array is 2|integer"):
        use(xp.asarray([1, 2]))


def test_what_is_computed_on_demand_is_computed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []

    def execute(graph: Graph, *given: Any, **more: Any) -> Any:
        runs.append(len(graph.nodes))
        return run(graph, *given, **more)

    run = evaluation.execute
    monkeypatch.setattr(evaluation, "execute", execute)
    x = xp.cumulative_sum(xp.ones(5)) * 2.0
    with local.on_demand():
        assert [float(x[place]) for place in range(5)] == [2.0, 4.0, 6.0, 8.0, 10.0]
        assert max(runs[2:]) <= 2
        x[0] = 7.0
        assert [float(x[0]), float(x[1])] == [7.0, 4.0]
    looped = gpugoblin.repeat(2, lambda state: state + x, x)
    assert numpy.array_equal(looped.compute(), [21.0, 12.0, 18.0, 24.0, 30.0])
    assert numpy.array_equal((x + 0.0).compute(), [7.0, 4.0, 6.0, 8.0, 10.0])
    made = x.compute()
    made[0] = 1.0
    assert x.compute()[0] == 7.0


def test_an_index_is_an_integer() -> None:
    with pytest.raises(errors.NotComputed, match="integer, not float64"):
        [7][xp.asarray(0.0)]
    with pytest.raises(errors.NotComputed, match="integer, not bool"):
        [7][xp.asarray(False)]


def test_going_through_an_array_is_lazy_here_and_refused_at_a_lab() -> None:
    rows = list(xp.asarray([[1, 2], [3, 4]]) + 1)
    assert [row.compute().tolist() for row in rows] == [[2, 3], [4, 5]]
    with pytest.raises(errors.NotComputed, match="Iteration"):
        list(gpugoblin.assume((2,)))
    with pytest.raises(errors.NotComputed, match="without axes"):
        iter(xp.asarray(1))
    with pytest.raises(errors.NotComputed, match="`in`"):
        1 in xp.ones(2)  # noqa: B015


def test_a_huge_array_is_refused_with_its_size_first() -> None:
    huge = xp.zeros((2**20, 2**17)) + 1.0
    wanted = r"^1 TiB \(1048576 x 131072 float64\) .*test_evaluation\.py:\d+.*\.compute\(\)"
    for use in (numpy.asarray, numpy.from_dlpack):
        with pytest.raises(errors.TooLarge, match=wanted):
            use(huge)


def test_numbers_that_are_here_are_given_whatever_their_size() -> None:
    plain = numpy.zeros((2**10, 2**14))
    assert numpy.asarray(local.array(plain)) is plain
    assert numpy.shares_memory(numpy.array(local.array(plain), copy=False), plain)
    assert not numpy.shares_memory(numpy.array(local.array(plain), copy=True), plain)


def test_a_small_array_is_given_to_other_libraries() -> None:
    x = xp.asarray([1.0, 2.0]) + 1.0
    assert numpy.array_equal(numpy.from_dlpack(x), numpy.array([2.0, 3.0]))
    assert x.__dlpack_device__() == (1, 0)


def test_nothing_is_computed_for_a_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    x = (xp.ones((1024, 1024)) + 1.0) @ xp.ones((1024, 2))
    monkeypatch.setattr(evaluation, "execute", None)
    assert repr(x) == (
        "<gpugoblin.Array (...) @ (...): 1024 x 2 float64, 16 KiB, not computed, in this process>"
    )
    assert "1024 x 2" in x._repr_html_()


def test_products_of_stacks_vectors_and_integers() -> None:
    random = numpy.random.default_rng(1)
    for left, right in [((2, 1, 3, 4), (5, 4, 2)), ((4,), (3, 4, 2)), ((3, 2, 4), (4,)),
                        ((4,), (4,)), ((0, 3), (3, 2)), ((2, 0), (0, 2))]:  # fmt: skip
        a, b = (random.integers(-5, 5, shape) for shape in (left, right))
        lazy = local.array(a) @ b
        assert numpy.array_equal(lazy.compute(), a @ b)
        assert lazy.shape == (a @ b).shape
    mixed = local.array(numpy.ones((2, 2), "float32")) @ numpy.ones((2, 2))
    assert mixed.dtype == numpy.float64
    with pytest.raises(errors.ShapeMismatch, match=r"write x \* y"):
        xp.asarray(1.0) @ xp.ones(2)
    with pytest.raises(errors.ShapeMismatch, match="inner lengths 2 and 3"):
        xp.ones((2, 2)) @ xp.ones((2, 3, 2))
    x = xp.ones((2, 2))
    x @= xp.ones((2, 2))
    assert x.compute().tolist() == [[2.0, 2.0], [2.0, 2.0]]
    with pytest.raises(errors.BadArgument, match="In place"):
        x @= xp.ones((2, 1))
