"""docs/arrays.md runs as it stands, and names what there is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpugoblin import errors, xp
from gpugoblin.arrays.building import LIMITS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "arrays.md"
TEXT = PAGE.read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def test_the_examples_run_one_after_the_other(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(EXAMPLES) == 9
    names: dict[str, object] = {}
    for example in EXAMPLES:
        exec(compile(example, str(PAGE), "exec"), names)
    shown = capsys.readouterr().out
    assert "3 float64, 24 B, not computed, in this process" in shown
    assert "float32 and int64 have no common element type" in shown
    assert "[[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]] 0.0 0.0" in shown
    assert f"floor_divide(int64[2], int64[2]), at {PAGE}:" in shown
    assert "division_by_zero" in shown
    assert "attribute (a dot after a name). (column 1 of the formula)" in shown
    assert " 1000\n(1000, 3)\n" in shown
    assert shown.count("3.0\n3.0\n") == 1


def test_every_error_of_the_table_is_what_it_says() -> None:
    rows = re.findall(r"\| `(\w+)`(?:, an? (\w+).*)? \|$", TEXT, re.MULTILINE)
    assert len(rows) == 10
    for name, kind in rows:
        raised = getattr(errors, name)
        assert not kind or kind in {each.__name__ for each in raised.__mro__}


def test_names_and_limits_are_true() -> None:
    for name in re.findall(r"`xp\.(\w+)", TEXT):
        assert hasattr(xp, name)
    assert f"{LIMITS.nodes:,} operations" in TEXT
    assert f"axes ({LIMITS.rank}), elements (2^{LIMITS.elements.bit_length() - 1})" in TEXT
