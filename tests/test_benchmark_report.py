"""The line that every benchmark prints, and the meter of foreign load."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import report, table

_SPIN = "import time\nend = time.monotonic() + 30\nwhile time.monotonic() < end: pass"


def test_a_line_is_one_json_object_with_the_eight_fields(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report.line("matmul", "64-float32", "seconds", 1.23456789, unit="s", samples=[1.0, 2.0])
    out, err = capsys.readouterr()
    record = json.loads(out)
    assert out.count("\n") == 1
    assert not err
    assert record == {
        "bench": "matmul",
        "case": "64-float32",
        "system": "gpugoblin",
        "metric": "seconds",
        "value": 1.23457,
        "unit": "s",
        "samples": [1.0, 2.0],
        "foreign_load": 0.0,
    }


def test_a_single_value_is_its_own_sample(capsys: pytest.CaptureFixture[str]) -> None:
    report.line("b", "c", "m", 3)
    assert json.loads(capsys.readouterr().out)["samples"] == [3.0]


def test_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError):
        report.line("b", "c", "m", float("nan"))


def test_progress_leaves_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    report.progress("half way")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "half way\n")


@pytest.mark.alone
def test_own_work_is_not_foreign_and_a_stranger_is() -> None:
    if not Path("/proc/stat").exists():
        pytest.skip("needs /proc")
    before = report.tree_cpu_seconds({os.getpid()})
    child = subprocess.Popen([sys.executable, "-c", _SPIN])
    try:
        time.sleep(0.5)
        assert report.tree_cpu_seconds({os.getpid()}) - before > 0.1
        meter = report.ForeignLoad()
        meter._roots = set()  # now nobody is own: the child is a stranger
        with meter:
            time.sleep(0.5)
        assert meter.cores > 0.2
    finally:
        child.kill()
        child.wait()


def test_median() -> None:
    assert report.median([3, 1, 2]) == 2.0


def test_kept_lines_are_those_of_the_last_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(report.RECORDS, str(tmp_path / "kept"))
    monkeypatch.setattr(report, "_begun", set())
    report.line("b", "old", "m", 1)
    monkeypatch.setattr(report, "_begun", set())
    report.line("b", "first", "m", 1)
    report.line("b", "second", "m", 2)
    kept = (tmp_path / "kept" / "b.jsonl").read_text().splitlines()
    assert [json.loads(line)["case"] for line in kept] == ["first", "second"]


def test_the_page_names_the_machine_and_every_figure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(report.RECORDS, str(tmp_path))
    monkeypatch.setattr(report, "_begun", set())
    report.line("b", "case", "seconds", 2, unit="s", samples=[1, 2, 3], foreign_load=0.5)
    page = tmp_path / "docs" / "benchmarks.md"
    assert table.main(tmp_path, page) == 0
    text = page.read_text()
    assert "| case | gpugoblin | seconds | 2 | s | 1 to 3 | 0.5 |" in text
    assert "Python 3." in text


def test_a_figure_that_many_cases_share_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(report.RECORDS, str(tmp_path))
    monkeypatch.setattr(report, "_begun", set())
    for case in ("one", "two", "three", "four"):
        report.line("b", case, "missed", 0, unit="of 9")
        report.line("b", case, "wrong", 0)
    report.line("b", "five", "missed", 1234.56, unit="of 9")
    page = tmp_path / "page.md"
    assert table.main(tmp_path, page) == 0
    text = page.read_text()
    assert "`missed` 0 of 9, `wrong` 0 in each of 4 cases: one, two, three, four." in text
    assert "| five | gpugoblin | missed | 1235 | of 9 |  | 0 |" in text
    assert "| one |" not in text


def test_a_page_without_any_run_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert table.main(tmp_path, tmp_path / "page.md") == 1
    assert "make bench-verification" in capsys.readouterr().err
