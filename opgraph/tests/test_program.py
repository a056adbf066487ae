"""Where values live: one test for each reason why memory is or is not shared."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy
import pytest

from opgraph.builder import GraphBuilder
from opgraph.executor import execute
from opgraph.graph import Graph
from opgraph.memory import peak_bytes
from opgraph.program import Step, compile_program


class Built:
    """A graph of float32 matrices that begins with the negative of its one input."""

    def __init__(self, *shape: int) -> None:
        self.build = GraphBuilder()
        self.input = self.build.placeholder("x0", "float32", shape)
        self.made = self.apply("negative", self.input)

    def apply(self, name: str, *operands: int, **attributes: Any) -> int:
        return self.build.apply(name, *operands, **attributes)

    def graph(self, *outputs: int) -> Graph:
        return self.build.build(*outputs)

    def last_step(self, *outputs: int) -> Step:
        return compile_program(self.graph(*outputs)).steps[-1]


def test_the_memory_of_a_value_that_dies_is_reused() -> None:
    built = Built(2, 3)
    step = built.last_step(built.apply("negative", built.made))
    assert (step.shares, step.takes_over) == (0, True)


def test_an_input_is_never_overwritten() -> None:
    built = Built(2, 3)
    assert built.last_step(built.made).shares is None


def test_a_value_that_is_used_later_is_not_overwritten() -> None:
    built = Built(2, 3)
    again = built.apply("negative", built.made)
    built.apply("add", built.made, again)
    steps = compile_program(built.graph(again)).steps
    assert steps[1].shares is None


def test_a_value_that_is_an_output_is_not_overwritten() -> None:
    built = Built(2, 3)
    assert built.last_step(built.made, built.apply("negative", built.made)).shares is None


def test_a_value_that_a_view_still_shows_is_not_overwritten() -> None:
    built = Built(3, 3)
    turned = built.apply("permute_dims", built.made, axes=(1, 0))
    again = built.apply("negative", built.made)
    built.apply("add", turned, again)
    steps = compile_program(built.graph(again)).steps
    assert steps[2].shares is None


def test_a_value_that_is_also_read_turned_is_not_overwritten() -> None:
    built = Built(64, 64)
    turned = built.apply("permute_dims", built.made, axes=(1, 0))
    both = built.apply("add", built.made, turned)
    assert built.last_step(both).shares is None
    values = numpy.arange(64 * 64, dtype="float32").reshape(64, 64)
    (result,) = execute(built.graph(both), {"x0": values})
    numpy.testing.assert_array_equal(result, -values - values.T)


def test_an_accumulator_that_is_also_a_factor_is_not_overwritten() -> None:
    built = Built(1500, 1500)
    result = built.apply("matmul_add", built.made, built.input, built.made)
    assert built.last_step(result).shares is None


def test_a_part_of_a_value_is_not_taken_over() -> None:
    built = Built(4, 4)
    part = built.apply("slice", built.made, starts=(1, 1), stops=(3, 3), steps=(1, 1))
    assert built.last_step(built.apply("negative", part)).shares is None


def test_the_other_operand_is_taken_over_where_the_first_must_stay() -> None:
    built = Built(2, 3)
    step = built.last_step(built.apply("add", built.input, built.made))
    assert (step.shares, step.takes_over) == (1, True)


def test_reshaping_is_a_view_of_what_lies_in_order_and_else_a_copy() -> None:
    built = Built(4, 6)
    flat = built.apply("reshape", built.made, shape=(24,))
    assert (built.last_step(flat).shares, built.last_step(flat).takes_over) == (0, False)
    turned = built.apply("permute_dims", built.made, axes=(1, 0))
    assert built.last_step(built.apply("reshape", turned, shape=(24,))).shares is None


def test_a_reshaped_value_can_be_taken_over_and_given_out() -> None:
    built = Built(4, 6)
    flat = built.apply("reshape", built.made, shape=(24,))
    final = built.apply("negative", flat)
    program = compile_program(built.graph(final))
    assert len({program.places[value].store for value in program.outputs}) == 1
    assert len(program.steps) == 3
    room = numpy.empty(24, "float32")
    values = numpy.arange(24, dtype="float32").reshape(4, 6)
    (result,) = execute(built.graph(final), {"x0": values}, out={0: room})
    assert result is room
    assert room.tolist() == list(range(24))


@pytest.mark.parametrize("kind", ["input", "view", "twice"])
def test_an_output_that_is_not_its_own_is_copied(kind: str) -> None:
    built = Built(3, 4)
    turned = built.apply("permute_dims", built.made, axes=(1, 0))
    outputs = {"input": [0], "view": [turned], "twice": [built.made, built.made]}[kind]
    assert built.last_step(*outputs).operator is None
    values = numpy.arange(12, dtype="float32").reshape(3, 4)
    results = execute(built.graph(*outputs), {"x0": values})
    assert all(each.flags.c_contiguous for each in results)
    assert not any(numpy.shares_memory(each, values) for each in results)
    assert len({id(each) for each in results}) == len(outputs)


def test_temporaries_are_in_the_model() -> None:
    build = GraphBuilder()
    x0 = build.placeholder("x0", "float64", (1000, 500))
    graph = build.build(build.apply("astype", x0, dtype="int32"))
    values = numpy.ones((1000, 500))
    execute(graph, {"x0": values})
    tracemalloc.start()
    try:
        execute(graph, {"x0": values.copy})
        measured = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 0.8 * peak_bytes(graph) < measured <= peak_bytes(graph) + 20_000


def test_a_value_that_nobody_uses_does_not_stay() -> None:
    built = Built(100, 100)
    for _ in range(5):
        built.apply("negative", built.input)
    final = built.apply("negative", built.input)
    assert peak_bytes(built.graph(final)) == 2 * 40_000
