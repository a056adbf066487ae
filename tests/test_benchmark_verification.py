"""The benchmark of the check runs, prints only lines, and its figures are what is promised."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest


@pytest.fixture(scope="module")
def lines() -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "benchmarks.verification", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def values(lines: list[dict[str, Any]], metric: str) -> dict[str, float]:
    return {line["case"]: line["value"] for line in lines if line["metric"] == metric}


def test_every_line_has_the_fields_that_all_benchmarks_have(lines: list[dict[str, Any]]) -> None:
    fields = {"bench", "case", "system", "metric", "value", "unit", "samples", "foreign_load"}
    assert lines
    assert all(set(line) == fields and line["bench"] == "verification" for line in lines)


def test_no_honest_machine_is_convicted_or_repaired(lines: list[dict[str, Any]]) -> None:
    convicted, repaired = values(lines, "honest_convicted"), values(lines, "honest_repaired")
    assert set(convicted.values()) == {0.0}
    assert max(repaired.values()) < 1e-3
    machines = {case for case in convicted if case.startswith("machine-")}
    assert {"machine-prescott-1", "machine-sequential", "machine-einsum"} <= machines


def test_no_cheat_is_missed(lines: list[dict[str, Any]]) -> None:
    missed = values(lines, "cheats_missed")
    assert {"cheat-zeros", "cheat-tf32-inputs", "cheat-one-entry", "all"} <= set(missed)
    assert set(missed.values()) == {0.0}


def test_the_cost_is_measured(lines: list[dict[str, Any]]) -> None:
    overhead = values(lines, "overhead")
    assert overhead["512-float32"] > 0
    assert overhead["256-int32"] > 0
