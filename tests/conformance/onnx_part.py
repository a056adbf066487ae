"""Every ONNX node test, in this process; writes the table of cases."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

from tests.conformance.cases import all_cases, outcome, table
from tests.conformance.report import Row

TABLE = Path(__file__).with_name("onnx_cases.md")
LEAST = 1000


def rows() -> list[Row]:
    """One row; the table is written only where nothing is wrong."""
    began = time.monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [outcome(case) for case in all_cases()]
    wrong = [f"{each.name}: {each.wrong}" for each in found if each.wrong]
    ran = sum(not each.reason for each in found)
    if ran < LEAST:
        wrong.append(f"{ran} cases run, {LEAST} are wanted")
    if not wrong:
        TABLE.write_text(table(found))
    what = f"node tests, of {len(found):,}"
    return [Row("ONNX", what, ran, tuple(wrong), time.monotonic() - began)]
