"""One process of a network: started, watched, killed, started again."""

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.network.errors import NetworkError

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Process:
    """A command with its log file.

    It runs in a session of its own and is killed by the kernel when the thread that started it
    ends, so start it from a thread that stays. `ready` says whether it is of use yet.
    """

    name: str
    command: Sequence[str]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    ready: Callable[[], bool] = lambda: True
    start_seconds: float = 30.0
    _running: "subprocess.Popen[bytes] | None" = None

    @property
    def pid(self) -> int:
        """The process id; NetworkError when it was never started."""
        if self._running is None:
            raise NetworkError(f"{self.name} was not started")
        return self._running.pid

    def alive(self) -> bool:
        """Whether it runs."""
        return self._running is not None and self._running.poll() is None

    def start(self) -> None:
        """Start it, without waiting until it is ready."""
        if self.alive():
            return
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(
                list(self.command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=dict(self.environment),
                cwd=self.log.parent,
                start_new_session=True,
                preexec_fn=_killed_with(os.getpid()),
            )

    def wait_ready(self) -> None:
        """Return when it is of use; NetworkError when it ends or takes too long."""
        deadline = time.monotonic() + self.start_seconds
        while not self.ready():
            if not self.alive():
                raise NetworkError(f"{self.name} ended: {self.last_words()}")
            if time.monotonic() > deadline:
                raise NetworkError(
                    f"{self.name} was not ready after {self.start_seconds:g} s: {self.last_words()}"
                )
            time.sleep(0.02)

    def kill(self, *, whole: bool = False) -> None:
        """kill -9 of the process alone, or of everything in its session's group too."""
        if self._running is None:
            return
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if whole else os.kill)(self._running.pid, signal.SIGKILL)
        self._running.wait()

    def ask_to_stop(self) -> None:
        """SIGTERM, without waiting."""
        if self._running is not None and self.alive():
            self._running.send_signal(signal.SIGTERM)

    def wait_stopped(self, seconds: float = 10.0) -> bool:
        """Wait for the end and clear up; False when it had to be killed."""
        if self._running is None:
            return True
        try:
            self._running.wait(seconds)
            willing = True
        except subprocess.TimeoutExpired:
            willing = False
        self.kill(whole=True)
        return willing

    def stop(self, seconds: float = 10.0) -> bool:
        """SIGTERM and wait; False when it had to be killed."""
        self.ask_to_stop()
        return self.wait_stopped(seconds)

    def last_words(self, characters: int = 2000) -> str:
        """The end of its log."""
        with contextlib.suppress(OSError):
            return self.log.read_text(errors="replace").strip()[-characters:]
        return ""


def _killed_with(parent: int) -> Callable[[], None]:
    def request() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)

    return request


def run_once(name: str, command: Sequence[str], environment: Mapping[str, str], log: Path) -> str:
    """Run a command to its end; its standard output. NetworkError with both streams if it fails."""
    with log.open("ab") as errors:
        done = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=dict(environment),
            cwd=log.parent,
            preexec_fn=_killed_with(os.getpid()),
            text=True,
            check=False,
        )
    if done.returncode != 0:
        said = log.read_text(errors="replace").strip()[-2000:]
        raise NetworkError(f"{name} failed with {done.returncode}: {done.stdout.strip()} {said}")
    return done.stdout
