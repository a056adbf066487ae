"""`gpugoblin` in a terminal."""

from __future__ import annotations

import json

import numpy
import pytest

import gpugoblin
from gpugoblin.__main__ import main

from .fake_control import TILES, FakeLab


@pytest.fixture
def job(lab: gpugoblin.Lab, fake: FakeLab, monkeypatch: pytest.MonkeyPatch) -> gpugoblin.Job:
    monkeypatch.setenv("GPUGOBLIN_LAB", str(fake.folder))
    return (lab.array(numpy.eye(8)) @ numpy.eye(8)).submit("kernel")


def test_the_version_names_the_licence(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"gpugoblin {gpugoblin.__version__}\n")
    assert "PolyForm Noncommercial 1.0.0" in shown
    assert "Copyright GPU Goblin (https://gpugoblin.com)" in shown


def test_wrong_use_is_status_2() -> None:
    with pytest.raises(SystemExit) as end:
        main(["dance"])
    assert end.value.code == 2


def test_without_a_command_the_help_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "list all jobs" in capsys.readouterr().err


def test_jobs(job: gpugoblin.Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs"]) == 0
    assert f"{job.id}  kernel  running" in capsys.readouterr().out
    assert main(["jobs", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["job"] == job.id


def test_a_job(job: gpugoblin.Job, fake: FakeLab, capsys: pytest.CaptureFixture[str]) -> None:
    fake.verify(job.id, 2)
    assert main(["job", "kernel"]) == 0
    shown = capsys.readouterr().out
    assert "running:" in shown
    assert "Report of kernel" in shown
    assert main(["job", job.id, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["verified"] == 2
    assert facts["why"].startswith("running")
    assert main(["job", "nothing"]) == 1
    assert "unknown_job" in capsys.readouterr().err


def test_cancel(job: gpugoblin.Job, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cancel", "kernel"]) == 0
    assert "cancelled: it was asked for" in capsys.readouterr().out
    assert main(["cancel", "kernel", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["cancelled"] is False


def test_cancel_of_a_finished_job_says_so(
    job: gpugoblin.Job, fake: FakeLab, capsys: pytest.CaptureFixture[str]
) -> None:
    fake.verify(job.id, TILES)
    assert main(["cancel", "kernel"]) == 1
    assert "It had ended before: done" in capsys.readouterr().out


def test_doctor(job: gpugoblin.Job, fake: FakeLab, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "ok  volunteers    2 machines online" in shown
    assert "volunteers reach it" in shown
    fake.devices = 0
    assert main(["doctor"]) == 1
    assert "!!  volunteers" in capsys.readouterr().out
    fake.stop()
    assert main(["doctor", "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)
    assert findings[-1]["good"] is False
    assert "goblin-lab serve" in findings[-1]["sentence"]


def test_doctor_without_any_lab(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 1
    assert "goblin-lab init" in capsys.readouterr().out


def test_a_refused_key_is_status_3(
    fake: FakeLab, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUGOBLIN_KEY", "wrong")
    assert main(["jobs", "--lab", fake.url]) == 3
    assert "token_invalid" in capsys.readouterr().err


def test_an_interrupt_is_status_130(job: gpugoblin.Job, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_lab: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("gpugoblin.__main__.connect", interrupt)
    assert main(["jobs"]) == 130
