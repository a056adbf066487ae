"""Progress in a terminal, in a file, and in a notebook."""

from __future__ import annotations

import io
import sys
import time
import types
from collections.abc import Callable
from typing import Any

import numpy
import pytest

import gpugoblin
from goblin_wire import control
from goblin_wire.states import JobState
from gpugoblin import job_text, progress

from .fake_control import TILES, FakeLab


def info(verified: int, units: int = 1000, **changes: Any) -> control.JobInfo:
    facts = control.Progress(
        units=units, verified=verified, flops=units, flops_verified=verified, flops_per_s=2e11,
        left=control.TimeRange(low_s=360, high_s=540), refused=1,
    )  # fmt: skip
    state = JobState.DONE if verified == units else JobState.RUNNING
    given = {"job": "f" * 32, "name": "kernel", "state": state, "version": verified}
    return control.JobInfo(**{**given, "progress": facts, **changes})


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_snapshot_in_one_line() -> None:
    shown = progress.Progress(info(410))
    assert shown.text == (
        "41 %, 410 of 1000 units verified, 1 refused, 200 Gflop/s, 6 to 9 min left"
    )
    assert str(shown) == repr(shown) == shown.text
    assert progress.Progress(info(0, 0)).fraction == 1.0
    empty = control.JobInfo(job="f" * 32, state=JobState.PLANNING)
    assert progress.Progress(empty).fraction == 0.0


def test_row_34_without_a_terminal_one_line_per_ten_percent() -> None:
    stream = io.StringIO()
    view = progress.Lines(stream)
    for verified in range(1001):
        view.show(info(verified))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[0].startswith("kernel: 0 %")
    assert lines[-1].startswith("kernel: 100 %")


def test_row_34_a_resumed_wait_begins_at_the_true_fraction() -> None:
    stream = io.StringIO()
    view = progress.Lines(stream)
    for verified in range(437, 520):
        view.show(info(verified))
    assert [line.split(",")[0] for line in stream.getvalue().splitlines()] == [
        "kernel: 44 %",
        "kernel: 50 %",
    ]


def test_a_reason_to_wait_is_printed_once() -> None:
    stream = io.StringIO()
    view = progress.Lines(stream)
    for _ in range(5):
        view.show(info(0, state=JobState.WAITING, reason="0 volunteers are online"))
    view.show(info(0, state=JobState.PAUSED, reason="the disk is full"))
    assert stream.getvalue().count("waiting: 0 volunteers are online") == 1
    assert "paused: the disk is full" in stream.getvalue()


def test_a_terminal_gets_a_bar() -> None:
    stream = Terminal()
    view = progress.choose(job_text.bundle, stream)
    assert isinstance(view, progress.Bar)
    view.show(info(410))
    view.note("The lab node does not answer. [not markup]")
    view.close()
    assert "410 of 1000" in stream.getvalue()
    assert "[not markup]" in stream.getvalue()


def test_a_name_is_shown_as_it_is() -> None:
    stream = Terminal()
    view = progress.Bar(stream)
    view.show(info(410, name="[/red] [bold]"))
    view.show(info(0, name="[/red] [bold]", state=JobState.WAITING, reason="[/x] is full"))
    view.close()
    assert "[/red] [bold]" in stream.getvalue()
    assert "[/x] is full" in stream.getvalue()


def test_a_bar_says_nothing_twice_and_fits_a_terminal() -> None:
    beside = progress.Progress(info(410)).beside_bar
    assert beside == "410 of 1000 units, 1 refused, 200 Gflop/s, 6 to 9 min left"


def test_row_20_an_upload_shows_how_far_it_is() -> None:
    stream = io.StringIO()
    with progress.sending(1 << 30, stream) as tell:
        for step in range(1, 65):
            tell(step << 24, 1 << 30)
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert lines[-1] == "Sending 1 GiB: 100 %"
    terminal = Terminal()
    with progress.sending(1 << 30, terminal) as tell:
        tell(1 << 29, 1 << 30)
    assert "Sending 1 GiB" in terminal.getvalue()


class Display:
    """What IPython's `display` does: notes what was shown, returns a handle."""

    def __init__(self) -> None:
        self.shown: list[dict[str, str]] = []

    def __call__(self, bundle: dict[str, str], *, raw: bool, display_id: bool) -> Display:
        assert raw
        assert display_id
        self.shown.append(bundle)
        return self

    def update(self, bundle: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(bundle)


def test_row_34_a_notebook_is_updated_at_most_twice_a_second() -> None:
    display, now = Display(), [100.0]
    view = progress.Notebook(job_text.bundle, display=display, clock=lambda: now[0])
    for verified in range(900):
        view.show(info(verified))
        now[0] += 0.01
    view.close()
    assert 15 <= len(display.shown) <= 20
    assert "899 of 1000" in display.shown[-1]["text/plain"]


def test_row_33_a_notebook_gets_html_and_plain_text_without_widgets(
    lab: gpugoblin.Lab, fake: FakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    display = Display()
    shell = types.SimpleNamespace(kernel=object())
    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    inner: Any = types.ModuleType("IPython.display")
    inner.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", inner)
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    job = (lab.array(numpy.eye(8)) @ numpy.eye(8)).submit("kernel")
    fake.verify(job.id, TILES)
    job.result()
    for bundle in display.shown:
        assert set(bundle) == {"text/html", "text/plain"}
        assert "kernel" in bundle["text/html"]
    assert "done" in display.shown[-1]["text/html"]


def test_row_09_a_fresh_cell_draws_the_whole_state_from_the_lab(
    lab: gpugoblin.Lab, fake: FakeLab
) -> None:
    found = (lab.array(numpy.eye(8)) @ numpy.eye(8)).submit("kernel <1>").id
    fake.verify(found, 2)
    job = gpugoblin.connect(fake.folder).job(found)
    html = job._repr_html_()
    assert "kernel &lt;1&gt;" in html
    assert "50 %, 2 of 4 units verified" in html
    assert "<script" not in html
    assert "gpugoblin.connect().job(" in html
    assert f"As of {time.strftime('%H:')}" in html
    fake.stop()
    assert "cannot be reached" in job._repr_html_()


def test_arrays_and_lists_of_jobs_are_cards_too(lab: gpugoblin.Lab) -> None:
    lazy = lab.array(numpy.eye(8)) @ numpy.eye(8)
    assert "8 x 8" in lazy._repr_html_()
    lazy.submit("kernel")
    assert "running: 0 %" in lab.jobs()._repr_html_()


def test_outside_of_a_notebook_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shell: Callable[[], object] = lambda: types.SimpleNamespace()  # noqa: E731
    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = shell
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    assert not progress.in_notebook()
    ipython.get_ipython = lambda: None
    assert not progress.in_notebook()


def test_silence_can_be_asked_for(
    lab: gpugoblin.Lab, fake: FakeLab, capfd: pytest.CaptureFixture[str]
) -> None:
    job = (lab.array(numpy.eye(8)) @ numpy.eye(8)).submit("kernel")
    fake.verify(job.id, TILES)
    job.result(show=False)
    assert capfd.readouterr() == ("", "")
    job.result()
    assert "kernel: 100 %" in capfd.readouterr().err
