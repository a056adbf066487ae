"""A fast part of ONNX's node tests; `make conformance` runs all."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
import pytest

from tests.conformance.cases import first_of_each, outcomes

TABLE = Path(__file__).with_name("onnx_cases.md")
pytestmark = pytest.mark.filterwarnings("ignore")


def test_one_case_of_each_operator() -> None:
    found = list(outcomes(first_of_each()))
    assert [each for each in found if each.wrong] == []
    text = TABLE.read_text()
    listed = set(re.split(r", |\n", text.partition("## Run")[2]))
    for each in found:
        assert (each.name in listed) == (not each.reason), f"make conformance: {each.name}"
    assert sum(not each.reason for each in found) >= 120


def test_the_table_is_of_this_version_and_large_enough() -> None:
    text = TABLE.read_text()
    assert f"onnx {onnx.__version__}:" in text, "make conformance"
    match = re.search(r": (\d+) of \d+ cases run", text)
    assert match is not None
    assert int(match[1]) >= 1000
