"""The script for a machine with a GPU, as far as it goes without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("run.sh")


def test_it_says_what_it_would_run() -> None:
    done = subprocess.run(
        ["sh", str(SCRIPT), "--list"],
        env={"PYTHON": sys.executable, "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    for step in ("the client's checks", "operators on cupy", "memory", "times against PyTorch"):
        assert step in done.stdout
    assert "product tile: 274.93 GFLOP" in done.stdout
    assert "gpt step" in done.stdout
    # What it names is there.
    root = SCRIPT.parents[2]
    named = {word for word in done.stdout.split() if word.startswith(("tests/", "opgraph/"))}
    assert {"tests/gpu/check.py", "tests/gpu/test_device.py", "opgraph/tests"} <= named
    assert all((root / word).exists() for word in named)
