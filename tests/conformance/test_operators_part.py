"""A few operators of the part that `make conformance` runs for all; opgraph's own tests ask all
of them on fewer calls.
"""

from __future__ import annotations

from typing import Any

import pytest

from opgraph.catalogue import OPERATORS
from tests.conformance import operators_part
from tests.conformance.operators_part import explore
from tests.fuzz import seeds


def test_rows_are_of_every_operator() -> None:
    assert {name for name, _row in seeds.rows()} == set(OPERATORS)
    for name, row in seeds.rows():
        assert row in OPERATORS[name].dtypes or not row


@pytest.mark.parametrize("name", ["add", "matmul", "cumulative_sum"])
def test_generated_calls_are_right(name: str) -> None:
    for row in seeds.dtype_rows(name)[:3]:
        explore(name, row, operators_part.expect_right, 5)


def test_a_wrong_result_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def off(xp: Any, name: str, case: Any) -> list[Any]:
        return [array + 1 for array in case.arrays[:1]]

    monkeypatch.setattr(operators_part, "run", off)
    with pytest.raises(AssertionError):
        explore("add", ("float32", "float32"), operators_part.expect_right, 20)
