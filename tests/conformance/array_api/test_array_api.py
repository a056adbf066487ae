"""The fast part: every function of the standard a few times, and that none is forgotten."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy
import pytest

from gpugoblin import errors, local, xp
from gpugoblin.arrays.left_out import ABSENT, REASONS
from tests.conformance.array_api import comparison, making, part, standard
from tests.conformance.array_api.question import Call, Question, answers

FEW = 2


@pytest.mark.parametrize("name", part.QUESTIONS)
def test_a_function_of_the_standard_answers_as_the_others_do(name: str) -> None:
    assert part.ask(name, FEW) > 0


@pytest.mark.parametrize("name", part.ASPECTS)
def test_the_array_object_answers_as_the_others_do(name: str) -> None:
    assert part.ask_aspect(name, 10 * FEW) > 0


def test_every_name_of_the_standard_is_asked_about_or_left_out_with_a_reason() -> None:
    asked, left_out = {*part.QUESTIONS, *making.CONSTANTS}, set(standard.NOT_ASKED)
    assert not asked & left_out
    # `fft` and complex types are names of the standard that a library may leave out.
    assert asked | left_out == {*standard.names()} | {*ABSENT}
    assert all(standard.NOT_ASKED.values())


def test_nothing_is_asked_about_that_we_do_not_have() -> None:
    for name in part.QUESTIONS:
        assert callable(comparison.our_function(name))


@pytest.mark.parametrize("name", REASONS)
def test_what_is_left_out_says_why_and_what_to_do(name: str) -> None:
    reason, instead = REASONS[name]
    with pytest.raises(errors.UnsupportedComputation, match="left out") as raised:
        comparison.our_function(name)(local.array(numpy.eye(2)))
    assert reason in raised.value.detail
    assert instead in raised.value.detail


@pytest.mark.parametrize("name", ABSENT)
def test_names_that_are_not_there_say_why(name: str) -> None:
    with pytest.raises(AttributeError, match="left out"):
        getattr(xp, name)


@pytest.mark.parametrize("name", making.CONSTANTS)
def test_constants(name: str) -> None:
    ours, theirs = getattr(xp, name), making.CONSTANTS[name]
    assert ours is theirs or ours == theirs or (math.isnan(ours) and math.isnan(theirs))


def test_element_types_are_those_of_the_standard_but_complex_ones() -> None:
    types = xp.__array_namespace_info__().dtypes()
    theirs = array_api_strict.__array_namespace_info__().dtypes()
    assert set(types) == set(theirs) - {"complex64", "complex128"}
    assert all(getattr(xp, name) == dtype for name, dtype in types.items())


def test_the_version_is_the_one_that_is_compared() -> None:
    assert xp.__array_api_version__ == standard.VERSION


def test_a_wrong_answer_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def sum_off_by_little(x: Any, **kwargs: Any) -> Any:
        return xp.cumulative_sum(x * (1 + 1e-12), axis=0)[-1]

    call = Call((numpy.array([1.0, 2.0, 4.0]),))
    question = Question(lambda draw: call, part.QUESTIONS["sum"].tolerance)
    assert answers("sum", question, call) == []
    monkeypatch.setattr(xp, "sum", sum_off_by_little)
    assert len(answers("sum", question, call)) == 2


def test_a_wrong_shape_or_type_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call((numpy.array([1, 2], numpy.int32),))
    question = Question(lambda draw: call)
    monkeypatch.setattr(xp, "sum", lambda x: xp.astype(x[:1], xp.int64))
    assert "(1,), not int64()" in answers("sum", question, call)[0]
    monkeypatch.setattr(xp, "sum", lambda x: x[0] + x[1])
    assert "int32(), not int64()" in answers("sum", question, call)[0]
