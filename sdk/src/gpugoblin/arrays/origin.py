"""Where in the user's own program something was written."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

_PACKAGE = str(Path(__file__).parent.parent) + "/"


class Line(NamedTuple):
    """A file of the user's and a line in it."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file}:{self.number}"


def users_line() -> Line | None:
    """The innermost line outside of this package that led here; None where there is none."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return Line(frame.f_code.co_filename, frame.f_lineno)


def at(line: Line | None) -> str:
    """`, at script.py:12`, or nothing."""
    return f", at {line}" if line else ""
