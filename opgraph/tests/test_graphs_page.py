"""docs/graphs.md runs as it stands."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from opgraph.partition import cuts
from opgraph.partition.grid import DEEPEST_SLICE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "graphs.md"


def test_the_page_runs_from_top_to_bottom() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 5
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec("\n".join(blocks), {})
    assert "stage_too_large Nodes 0 to 0 (matmul) cannot be cut further" in said.getvalue()


def test_its_numbers_are_those_of_the_code() -> None:
    text = PAGE.read_text()
    assert f"of more than {cuts.MOST_PLACES}," in text
    assert f"at most {DEEPEST_SLICE:,}" in text
