"""A bounded part of `make fuzz`, the same examples every time; and faults, which must be seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import hostile
import numpy
import pytest

from opgraph import nodes
from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS
from opgraph.errors import GraphError
from opgraph.graph import Graph
from tests.fuzz import __main__ as commands
from tests.fuzz import judge as judging
from tests.fuzz import seeds
from tests.fuzz.judge import Fault, judge, limited
from tests.fuzz.regressions import OUTCOMES
from tests.fuzz.targets import TARGETS, Exploration


@pytest.mark.parametrize("name", OUTCOMES)
def test_what_was_found_stays_mended(name: str) -> None:
    data, outcome = OUTCOMES[name]
    assert {judge(data, seed) for seed in range(3)} == {outcome}


@pytest.mark.parametrize("name", TARGETS)
def test_no_fault_in_a_few_examples(name: str) -> None:
    exploration = Exploration(name)
    exploration.run(60, 2026)
    assert exploration.outcomes.total() >= 60
    assert len(exploration.outcomes) >= 2


def test_the_seeds_are_all_operators_and_the_hostile_corpus() -> None:
    named = {Graph.from_bytes(data).nodes[0].operator for data in seeds.valid()}
    assert named == set(OPERATORS)
    assert len(seeds.hostile()) >= 80


def negated() -> bytes:
    build = GraphBuilder()
    value = build.placeholder("x0", "float32", (300, 300))
    return build.build(build.apply("negative", value)).to_bytes()


def wrong_shape(call: Any) -> None:
    raise IndexError("an axis too many")


def hungry(call: Any) -> None:
    room = numpy.ones(1 << 20)
    call.results[0][...] = room[0]


def slow(call: Any) -> None:
    ends = time.process_time() + 20
    while time.process_time() < ends:
        pass


FAULTS: dict[str, tuple[Callable[[Any], None], type[BaseException]]] = {
    "another exception": (wrong_shape, IndexError),
    "too much memory": (hungry, Fault),
    "too slow": (slow, Fault),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_an_operator_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    run, expected = FAULTS[name]
    broken = replace(OPERATORS["negative"], run=run)
    monkeypatch.setattr(nodes, "operator", lambda _name: broken)
    monkeypatch.setattr(judging, "RUN_SECONDS", 0.2)
    with pytest.raises(expected):
        judge(negated(), 1)


@pytest.mark.parametrize(
    "made",
    [
        numpy.zeros((300, 300), "float64"),
        numpy.zeros((300, 1), "float32"),
        [[0.0]],
    ],
)
def test_a_wrong_result_is_seen(made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "execute", lambda _graph, _inputs: [made])
    with pytest.raises(Fault, match="Output 0"):
        judge(negated(), 1)


def test_another_exception_of_the_reader_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_data: bytes) -> Graph:
        raise KeyError("nodes")

    monkeypatch.setattr(Graph, "from_bytes", broken)
    with pytest.raises(KeyError):
        judge(hostile.GOOD, 0)


def test_a_refusal_without_a_code_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def rude(_data: bytes) -> Graph:
        raise GraphError("No.", "")

    monkeypatch.setattr(Graph, "from_bytes", rude)
    with pytest.raises(Fault, match="without code"):
        judge(hostile.GOOD, 0)


def busy() -> None:
    """Works on for seconds, whatever is raised."""
    ends = time.process_time() + 20
    while time.process_time() < ends:
        with suppress(Exception):
            sum(range(1000))


def test_a_limit_rings_though_errors_are_caught_on_the_way() -> None:
    with pytest.raises(Fault, match=r"more than 0\.1 s"), limited(0.1):
        busy()


def test_the_command_counts_outcomes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "ROUND", 10)
    assert commands.main(["formulas", "--examples", "20", "--seed", "3"]) == 0
    assert "formulas: 20 examples" in capsys.readouterr().out
