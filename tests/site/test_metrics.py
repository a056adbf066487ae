"""Measurements of several workers, added up; those of ended runs go away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from gpugoblin_site import metrics

ROOT = Path(__file__).resolve().parents[2]
WORKER = """
import sys
from pathlib import Path
from gpugoblin_site import metrics
metrics.use_folder_of_run(Path(sys.argv[1]))
metrics.observe_request("POST", "api/v1/exchange", 200, 0.002)
print(metrics.exposition().decode())
"""


def worker(state: Path) -> str:
    """What a worker process of this test shows after it has counted one request."""
    return subprocess.run(
        [sys.executable, "-c", WORKER, str(state)],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "platform")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_workers_are_added_up(tmp_path: Path) -> None:
    line = 'count{method="POST",route="api/v1/exchange",status="200"}'
    assert f"{line} 1.0" in worker(tmp_path)
    assert f"{line} 2.0" in worker(tmp_path)
    folder = tmp_path / "metrics" / str(os.getpid())
    assert len(list(folder.iterdir())) == 2


def test_folders_of_ended_runs_are_removed(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    (tmp_path / "metrics" / str(gone.pid)).mkdir(parents=True)
    (tmp_path / "metrics" / "1").mkdir()
    worker(tmp_path)
    left = {path.name for path in (tmp_path / "metrics").iterdir()}
    assert left == {"1", str(os.getpid())}


def test_one_process_needs_no_folder() -> None:
    metrics.observe_request("GET", "test", 200, 0.001)
    assert b'route="test"' in metrics.exposition()
