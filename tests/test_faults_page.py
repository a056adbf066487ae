"""docs/faults.md names every row, and only tests that exist."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "faults.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| [UV]\d+ \|", line)
]
NAMED = sorted({name for row in ROWS for name in re.findall(r"`([^`]+::[^`]+)`", row[2])})


@cache
def names(path: Path) -> frozenset[str]:
    """Functions, methods and stateful tests of a file, as `name` or `Class::name`."""
    found = set()
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            inner = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            found.update(f"{node.name}::{each.name}" for each in inner)
        elif isinstance(node, ast.Assign):
            found.update(each.id for each in node.targets if isinstance(each, ast.Name))
    return frozenset(found)


def test_every_row_is_there_once() -> None:
    rows = [row[0] for row in ROWS]
    assert len(rows) == len(set(rows))
    assert {f"V{number}" for number in range(1, 34)} <= set(rows)
    assert {f"U{number}" for number in range(1, 39)} <= set(rows)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_has_a_test_or_says_what_it_waits_for(row: list[str]) -> None:
    assert len(row) == 4
    assert row[1]
    assert row[2] or row[3]


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    path, _, inner = name.partition("::")
    assert inner.rpartition("::")[2].startswith(("test_", "Test"))
    assert inner in names(ROOT / path)


def test_the_search_for_names_can_fail() -> None:
    assert len(NAMED) > 60
    assert "test_that_was_never_written" not in names(Path(__file__))
