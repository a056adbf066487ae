"""What tests of living and dying processes share."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Found = TypeVar("Found")


def wait_for(what: Callable[[], Found], seconds: float = 10.0) -> Found:
    """The first truthy value of `what()`; AssertionError with the last one after `seconds`."""
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, f"{what} still gave {found!r} after {seconds} s"
        time.sleep(0.02)
    return found


def with_argument(text: str) -> list[int]:
    """The living processes that have `text` in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if text.encode() in line:
                found.append(int(entry.name))
    return found


def with_environment(text: str) -> list[int]:
    """The living processes that have `text` in the environment they were started with."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                block = (entry / "environ").read_bytes()
            except OSError:
                continue
            if text.encode() in block:
                found.append(int(entry.name))
    return found
