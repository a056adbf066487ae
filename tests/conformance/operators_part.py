"""Every operator with every row of its dtype table, on calls that hypothesis makes: results have
the declared shapes and dtypes and lie where the exact reference allows; fused ones are what their
definitions say.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from test_operators import expect, run
from test_references import compared_rows, expect_as_defined

from opgraph.catalogue import OPERATORS, operator
from tests.conformance.report import Row
from tests.fuzz import seeds
from tests.fuzz.mutations import FuzzDraw

EXAMPLES = 20


def rows(examples: int = EXAMPLES) -> Iterator[Row]:
    """A row for each family, and one for the fused operators."""
    families: dict[str, list[tuple[str, seeds.Row]]] = {}
    for name, row in seeds.rows():
        families.setdefault(operator(name).family, []).append((name, row))
    for family, pairs in sorted(families.items()):
        yield _asked(
            f"{family}, {len({name for name, _row in pairs})} operators",
            pairs,
            expect_right,
            examples,
        )
    fused = [(name, row) for name in sorted(OPERATORS) for row in compared_rows(name)]
    yield _asked("executor == definition", fused, expect_as_defined, examples)


def _asked(
    what: str,
    pairs: list[tuple[str, seeds.Row]],
    question: Callable[[str, Any], None],
    examples: int,
) -> Row:
    began, ran, wrong = time.monotonic(), 0, []
    for name, row in pairs:
        try:
            explore(name, row, question, examples)
        except Exception as error:
            wrong.append(f"{name} {row}: {type(error).__name__}: {str(error)[:300]}")
        ran += examples
    return Row("hypothesis", what, ran, tuple(wrong), time.monotonic() - began)


def explore(name: str, row: seeds.Row, question: Callable[[str, Any], None], examples: int) -> None:
    """Ask a question about so many calls, the same every time. Raises what it raises."""

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def one(data: st.DataObject) -> None:
        question(name, seeds.case_of(name, row, FuzzDraw(data.draw)))

    one()


def expect_right(name: str, case: Any) -> None:
    """Assert what the tests of opgraph assert about one call."""
    expect(name, case, run(numpy, name, case))
