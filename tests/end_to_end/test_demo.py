"""`make demo` and `make up`, as a newcomer sees them."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import gpugoblin

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "tools/guard.py", "--", sys.executable, "-m", "tests.network"]


@pytest.mark.network
def test_demo_tells_the_plan_the_report_and_the_comparison() -> None:
    done = subprocess.run(
        [*PROGRAM, "demo"], cwd=ROOT, capture_output=True, text=True, timeout=180, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    plan = done.stdout.index("4096 x 4096 float32")
    report = done.stdout.index("Every tile was verified")
    deviation = re.search(
        r"numpy's product: (\S+)\s+\(rounding alone explains up to (\S+);", done.stdout
    )
    assert deviation
    assert plan < report < deviation.start()
    assert float(deviation[1]) <= float(deviation[2])
    assert re.search(r"Network \d+\.\d+ s, numpy \d+\.\d+ s here", done.stdout)


@pytest.mark.network
def test_up_tells_how_to_reach_it_and_stops_when_asked() -> None:
    with subprocess.Popen(
        [*PROGRAM, "up"], cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ
    ) as process:
        assert process.stdout
        told = ""
        for line in process.stdout:
            told += line
            if "--allow-private" in line:
                break
        found = re.search(r'gpugoblin\.connect\("(.+)"\)', told)
        assert found
        lab = gpugoblin.connect(found[1])
        assert lab.info().network.devices == 2
        assert lab.open("A.npy").shape == lab.open("B.npy").shape == (2048, 2048)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 130
    assert not Path(found[1]).exists()
