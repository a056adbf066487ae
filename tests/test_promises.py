"""Every promise of the pages has a line in docs/promises.md, and every line a test that exists."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "promises.md").read_text()
LINE = re.compile(r"^\| `([a-z0-9-]+)` \| (.+?) \| (.*) \|$", re.M)
PROMISES = {
    name: (text, re.findall(r"`([^`]+)`", tests)) for name, text, tests in LINE.findall(PAGE)
}
NAMED = sorted({test for _, tests in PROMISES.values() for test in tests})


def promises_of(text: str) -> list[str]:
    """The ids of the promises that a template makes."""
    return re.findall(r'\bdata-promise="([^"]*)"', text)


def made() -> dict[str, list[str]]:
    """Every id with the templates that hold it."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for name in promises_of(path.read_text()):
            found.setdefault(name, []).append(path.name)
    return found


@cache
def functions(path: Path) -> frozenset[str]:
    """The functions of a file, and the methods of its classes."""
    tree = ast.walk(ast.parse(path.read_text()))
    return frozenset(
        node.name for node in tree if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


def test_both_sides_name_the_same_promises() -> None:
    assert set(made()) == set(PROMISES)


def test_every_line_is_there_once() -> None:
    names = [name for name, _, _ in LINE.findall(PAGE)]
    assert len(names) == len(set(names))
    assert len(names) == len(re.findall(r"^\| `", PAGE, re.M))  # none of another form


@pytest.mark.parametrize("name", sorted(PROMISES))
def test_a_promise_has_a_test(name: str) -> None:
    text, tests = PROMISES[name]
    assert text.strip()
    assert tests


@pytest.mark.parametrize("name", NAMED)
def test_a_named_test_exists(name: str) -> None:
    path, _, function = name.partition("::")
    assert function.startswith("test_")
    assert function in functions(ROOT / path)


def test_the_check_can_fail() -> None:
    assert len(PROMISES) > 40
    assert promises_of('<p data-promise="x"> <li  data-promise="y-2">') == ["x", "y-2"]
    assert "test_that_was_never_written" not in functions(Path(__file__))
