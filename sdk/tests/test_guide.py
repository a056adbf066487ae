"""The researcher's guide runs as it stands."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy
import pytest

from .fake_control import TILES, FakeLab

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "researchers.md"
EXAMPLES = re.findall(r"^```python\n(.*?)^```", GUIDE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def busy(fake: FakeLab, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeLab]:
    """A lab node with two files whose volunteers verify whatever is submitted."""
    monkeypatch.setenv("GPUGOBLIN_LAB", str(fake.folder))
    for name in ("A.npy", "B.npy"):
        fake.save(name, numpy.random.default_rng(1).standard_normal((64, 64)))
    stop = threading.Event()

    def volunteer() -> None:
        while not stop.wait(0.02):
            for job, found in list(fake.jobs.items()):
                if len(found.parts) < TILES:
                    fake.verify(job)

    thread = threading.Thread(target=volunteer)
    thread.start()
    yield fake
    stop.set()
    thread.join()


def test_there_are_examples_and_the_first_has_twelve_lines() -> None:
    assert len(EXAMPLES) == 4
    assert len([line for line in EXAMPLES[0].splitlines() if line]) == 12


def test_all_examples_run_in_their_order(busy: FakeLab, capsys: pytest.CaptureFixture[str]) -> None:
    for example in EXAMPLES:
        exec(compile(example, str(GUIDE), "exec"), {})
    shown = capsys.readouterr().out
    assert "Faster on your own machine" in shown
    assert "Report of kernel: done" in shown
    assert "(200,) float64" in shown
    assert "JobState" not in shown
    assert "done" in shown.splitlines()[-2]
