from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from opgraph.__main__ import main
from opgraph.builder import GraphBuilder
from opgraph.catalogue import OPERATORS
from opgraph.catalogue.description import dtypes


@pytest.fixture
def graph_file(tmp_path: Path) -> Path:
    build = GraphBuilder()
    a0, b0 = (build.placeholder(name, "float32", (10, 10)) for name in ("a0", "b0"))
    path = tmp_path / "graph.json"
    path.write_bytes(build.build(build.apply("matmul", a0, b0)).to_bytes())
    return path


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    status = main(arguments)
    return status, json.loads(capsys.readouterr().out)


def test_the_catalogue_lists_every_operator(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = printed(capsys, "catalogue", "--json")
    assert status == 0
    assert [each["name"] for each in found["operators"]] == list(OPERATORS)
    main(["catalogue"])
    text = capsys.readouterr().out
    assert all(name in text for name in OPERATORS)


def test_the_page_of_the_catalogue_is_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["catalogue", "--markdown"]) == 0
    page = Path(__file__).parents[2] / "docs" / "catalogue.md"
    assert page.read_text() == capsys.readouterr().out, "make docs/catalogue.md anew"


def test_dtypes_are_told_in_words() -> None:
    assert dtypes(OPERATORS["add"]) == ["floats, integers"]
    assert dtypes(OPERATORS["less"])[0].startswith("T, T -> bool")
    assert dtypes(OPERATORS["take"]) == ["T, int32 or int64 -> T (T: any dtype)"]


def test_a_graph_is_checked_and_counted(
    capsys: pytest.CaptureFixture[str], graph_file: Path
) -> None:
    status, found = printed(capsys, "check", str(graph_file), "--json")
    assert (status, found["valid"], found["nodes"]) == (0, True, 1)
    status, found = printed(capsys, "cost", str(graph_file), "--json")
    assert found["flops"] == 2000
    assert (found["peak_bytes"], found["input_bytes"], found["output_bytes"]) == (1200, 800, 400)


def test_a_file_that_is_no_graph_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "graph.json"
    path.write_text("{}")
    status, found = printed(capsys, "check", str(path), "--json")
    assert (status, found["valid"], found["code"]) == (1, False, "wrong_form")
    status, found = printed(capsys, "cost", str(tmp_path / "absent"), "--json")
    assert (status, found["code"]) == (1, "unreadable_file")


def test_the_version_names_the_licence() -> None:
    command = [sys.executable, "-m", "opgraph", "--version"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "PolyForm Noncommercial 1.0.0" in text
    assert "Copyright GPU Goblin (https://gpugoblin.com)" in text
