"""How far a job is: a snapshot, and what it looks like while somebody waits."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Protocol, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn
from rich.progress import Progress as RichProgress

from goblin_wire.control import JobInfo
from goblin_wire.states import FINISHED_JOBS, JobState
from gpugoblin import words

UPDATES_PER_S = 2
LINE_EVERY = 0.1
"""Without a terminal a line is printed per this share of the job."""


class Progress:
    """How far a job was at one moment. `fraction` is the verified share of its flops, 0 to 1."""

    def __init__(self, info: JobInfo) -> None:
        self.facts = info.progress
        self.state = info.state
        self.reason = info.reason

    @property
    def fraction(self) -> float:
        if self.state == "done":
            return 1.0
        if self.facts.flops:
            return min(1.0, self.facts.flops_verified / self.facts.flops)
        return self.facts.verified / self.facts.units if self.facts.units else 0.0

    @property
    def text(self) -> str:
        """One line: `41 %, 7 of 16 units verified, 190 Gflop/s, 6 to 9 min left`."""
        facts = self.facts
        parts = [
            words.share(self.fraction),
            f"{facts.verified} of {facts.units} units verified",
            *self._details(),
        ]
        return ", ".join(parts)

    @property
    def beside_bar(self) -> str:
        """What a bar does not show: `7 of 16 units, 190 Gflop/s, 6 to 9 min left`."""
        return ", ".join([f"{self.facts.verified} of {self.facts.units} units", *self._details()])

    def _details(self) -> list[str]:
        facts, parts = self.facts, []
        if facts.refused:
            parts.append(f"{facts.refused} refused")
        if facts.flops_per_s and self.state not in FINISHED_JOBS:
            parts.append(words.speed(facts.flops_per_s))
        if facts.left is not None and self.state not in FINISHED_JOBS:
            parts.append(f"{words.seconds(facts.left.low_s, facts.left.high_s)} left")
        return parts

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


class View(Protocol):
    """Shows a job while somebody waits for it."""

    def show(self, info: JobInfo) -> None: ...

    def note(self, sentence: str) -> None:
        """Something that is worth a line, as that the lab node is away."""

    def close(self) -> None: ...


class Silent:
    """Shows nothing."""

    def show(self, info: JobInfo) -> None: ...

    def note(self, sentence: str) -> None: ...

    def close(self) -> None: ...


class Lines:
    """Plain lines: one per ten percent, and one when the state or its reason changes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._said = ""
        self._next = 0.0

    def show(self, info: JobInfo) -> None:
        progress = Progress(info)
        standing = _held_up(info)
        if standing and standing != self._said:
            self._said = standing
            self.note(standing)
        if progress.fraction >= self._next:
            # A wait that is taken up in the middle begins at the true fraction.
            self._next = LINE_EVERY * (int(progress.fraction / LINE_EVERY + 1e-9) + 1)
            self._print(f"{_title(info)}: {progress.text}")

    def note(self, sentence: str) -> None:
        self._print(sentence)

    def close(self) -> None: ...

    def _print(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class Bar:
    """A bar in a terminal."""

    def __init__(self, stream: TextIO) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.percentage:3.0f} %"),
            TextColumn("{task.fields[text]}"),
        )
        self._bar = RichProgress(
            *columns, console=Console(file=stream), refresh_per_second=UPDATES_PER_S
        )
        self._task = self._bar.add_task("", total=1.0, visible=False, text="")
        self._bar.start()

    def show(self, info: JobInfo) -> None:
        progress = Progress(info)
        self._bar.update(
            self._task,
            completed=progress.fraction,
            description=escape(_title(info)),
            visible=True,
            text=escape(_held_up(info) or progress.beside_bar),
        )

    def note(self, sentence: str) -> None:
        self._bar.console.print(sentence, markup=False, highlight=False)

    def close(self) -> None:
        self._bar.stop()


class Notebook:
    """A card in a notebook, updated in place at most twice a second."""

    def __init__(
        self,
        render: Callable[[JobInfo, str], dict[str, str]],
        *,
        display: Any,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._render = render
        self._display = display
        self._clock = clock
        self._handle: Any = None
        self._last = 0.0
        self._note = ""
        self._held: JobInfo | None = None

    def show(self, info: JobInfo) -> None:
        due = self._handle is None or self._clock() - self._last >= 1 / UPDATES_PER_S
        self._held = info
        if due or info.state in FINISHED_JOBS:
            self._draw(info)

    def note(self, sentence: str) -> None:
        self._note = sentence

    def close(self) -> None:
        """Draw what was held back."""
        if self._held is not None:
            self._draw(self._held)

    def _draw(self, info: JobInfo) -> None:
        self._last, self._held = self._clock(), None
        bundle = self._render(info, self._note)
        self._note = ""
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def in_notebook() -> bool:
    """Whether output goes to a notebook: its kernel has IPython loaded and no terminal."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def choose(render: Callable[[JobInfo, str], dict[str, str]], stream: TextIO | None = None) -> View:
    """The view that fits where the output goes: notebook card, terminal bar, or plain lines."""
    if in_notebook():
        return Notebook(render, display=import_module("IPython.display").display)
    target = stream or sys.stderr
    return Bar(target) if target.isatty() else Lines(target)


@contextmanager
def sending(size: int, stream: TextIO | None = None) -> Iterator[Callable[[int, int], None]]:
    """Shows an upload of `size` bytes; gives what to call with the bytes sent, and all bytes."""
    target = stream or sys.stderr
    title = f"Sending {words.size(size)}"
    if not target.isatty():
        yield _sending_lines(title, target)
        return
    with RichProgress(console=Console(file=target), transient=True) as bar:
        task = bar.add_task(title, total=size)
        yield lambda done, _all: bar.update(task, completed=done)


def _sending_lines(title: str, stream: TextIO) -> Callable[[int, int], None]:
    """One line per ten percent."""
    due = LINE_EVERY

    def tell(done: int, whole: int) -> None:
        nonlocal due
        if done >= due * whole:
            print(f"{title}: {100 * done / whole:.0f} %", file=stream, flush=True)
            due = LINE_EVERY * (int(done / whole / LINE_EVERY + 1e-9) + 1)

    return tell


def _held_up(info: JobInfo) -> str:
    """Why nothing moves, or nothing where it does."""
    still = (JobState.WAITING, JobState.PAUSED)
    return f"{info.state.value}: {info.reason}" if info.state in still and info.reason else ""


def _title(info: JobInfo) -> str:
    return info.name or info.job[:8]
