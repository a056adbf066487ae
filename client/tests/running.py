"""Clients as processes of their own, and waiting for what they do."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

from goblin_client.directory import StateDirectory


class Client:
    """A running `goblin-client run`."""

    def __init__(self, state: StateDirectory, *arguments: str, **environment: str) -> None:
        self.state = state
        self.log = state.path.parent / f"client-{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "goblin_client",
                    "run",
                    "--state",
                    str(state.path),
                    "--allow-private",
                    "--memory",
                    "512M",
                    *arguments,
                ],
                stdout=log,
                stderr=log,
                env={**os.environ, **environment},
            )
        self.children: list[psutil.Process] = []

    def computing(self) -> psutil.Process:
        """The computing process, once it is there."""
        until(lambda: psutil.Process(self.process.pid).children())
        self.children = psutil.Process(self.process.pid).children()
        return self.children[0]

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(10)

    def end(self) -> None:
        with suppress(psutil.NoSuchProcess):
            self.children += psutil.Process(self.process.pid).children()
        self.process.kill()
        self.process.wait()
        for child in self.children:
            with suppress(psutil.NoSuchProcess):
                child.kill()


def until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    """Wait until the condition holds."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not happen in time"
        time.sleep(0.01)
