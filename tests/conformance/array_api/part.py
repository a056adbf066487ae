"""All questions, asked so often; rows for `python -m tests.conformance`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st

from tests.conformance.array_api import (
    adding,
    elementwise,
    indexing,
    making,
    moving,
    notation,
    standard,
)
from tests.conformance.array_api.question import Question, Unasked, answers
from tests.conformance.array_api.values import Draw
from tests.conformance.report import Row

QUESTIONS: Mapping[str, Question] = {
    **elementwise.QUESTIONS,
    **making.QUESTIONS,
    **moving.QUESTIONS,
    **adding.QUESTIONS,
}
ASPECTS: Mapping[str, Callable[[Draw], str]] = {**indexing.ASPECTS, "einsum": notation.einsum}
"""What is not a function of the standard: each gives what is wrong with one example."""

EXAMPLES = 200
"""Inputs for each function in the whole run."""
PER_ASPECT = 2_000
"""Inputs for each of the others, which have more forms."""


def ask(name: str, examples: int) -> int:
    """Put the question of a function so often; how many inputs were compared. Raises on a fault."""
    question = QUESTIONS[name]

    def one(draw: Draw) -> str:
        call = question.make(draw)
        try:
            faults = answers(name, question, call)
        except Unasked:
            reject()
        return f"{name}{call.args} {dict(call.kwargs)}: {'; '.join(faults)}" if faults else ""

    return _often(one, examples)


def ask_aspect(name: str, examples: int) -> int:
    """The same for one of `ASPECTS`."""
    return _often(ASPECTS[name], examples)


def _often(one: Callable[[Draw], str], examples: int) -> int:
    compared = 0

    # The same inputs in every run: what fails on one machine fails on the others.
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def many(data: Any) -> None:
        nonlocal compared
        fault = one(data.draw)
        assert not fault, fault
        compared += 1

    many()
    return compared


def rows(examples: int = EXAMPLES, per_aspect: int = PER_ASPECT) -> list[Row]:
    """One row for the functions of the standard, one for everything else."""
    version = f"{len(QUESTIONS)} functions of {standard.VERSION}"
    return [
        _row(version, QUESTIONS, lambda name: ask(name, examples)),
        _row(", ".join(ASPECTS), ASPECTS, lambda name: ask_aspect(name, per_aspect)),
    ]


def _row(what: str, names: Mapping[str, Any], asked: Callable[[str], int]) -> Row:
    began, ran, wrong = time.monotonic(), 0, []
    for name in names:
        try:
            ran += asked(name)
        except Exception as error:  # Whatever a function raises is its fault.
            wrong.append(f"{name}: {(str(error) or repr(error)).splitlines()[0]}")
    return Row("Array API", what, ran, tuple(wrong), time.monotonic() - began)
