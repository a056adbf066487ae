#!/usr/bin/env python3
"""Run a command so that nothing which it started outlives it, its caller, or this guard.

    python3 tools/guard.py [--parent PID] -- COMMAND [ARGUMENT ...]

The command runs in a process group of its own under two nested guards. Each guard adopts orphans
(PR_SET_CHILD_SUBREAPER) and is told when its parent dies (PR_SET_PDEATHSIG). Whatever ends first -
the command, the caller (kill -9 too), either guard, or Ctrl-C - every process below is ended:
SIGTERM (or the SIGINT of Ctrl-C) first, SIGKILL after ten seconds or when the same signal comes
again: a second Ctrl-C. (When a terminal closes, SIGHUP and SIGTERM come; that is one wish.)
Exit status: that of the command, 128 + N when signal N ended it.

Needs the standard library and Linux; elsewhere it only forwards signals.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 10.0
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def control_process(option: int, value: int) -> None:
    """Call prctl(2) for the calling thread; does nothing where it is missing."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def die_with_parent(parent: int, deathsig: int) -> None:
    """Ask for `deathsig` when the parent dies, or exit now if `parent` is gone already."""
    control_process(PR_SET_PDEATHSIG, deathsig)
    if os.getppid() != parent:
        os._exit(128 + signal.SIGTERM)


def descendants(root: int) -> set[int]:
    """All living processes below `root`, read from /proc."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                children.setdefault(int(fields[1]), []).append(int(entry.name))
    found: set[int] = set()
    pending = [root]
    while pending:
        below = children.get(pending.pop(), [])
        found.update(below)
        pending.extend(below)
    return found


def send(pid: int, number: int) -> None:
    """Send a signal to a process that may be gone."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def reap() -> dict[int, int]:
    """Collect dead children: {pid: wait status}; raises ChildProcessError if there is no child."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            if ended:
                return ended
            raise
        if pid == 0:
            return ended
        ended[pid] = status


def end_everything(grace: float) -> None:
    """End all descendants, politely for `grace` seconds, and reap them (orphans come to us)."""
    for pid in descendants(os.getpid()):
        send(pid, signal.SIGTERM)
    deadline = time.monotonic() + grace
    try:
        while True:
            reap()
            if time.monotonic() >= deadline:
                for pid in descendants(os.getpid()):
                    send(pid, signal.SIGKILL)
            time.sleep(0.01)
    except ChildProcessError:
        return


def watch(child: int, forward: Callable[[int], None]) -> int:
    """Wait for `child`, passing stop signals on; its wait status (SIGKILL's when it had to go)."""
    deadline: float | None = None
    asked: set[int] = set()
    signals = {signal.SIGCHLD, *STOP_SIGNALS}
    while True:
        try:
            ended = reap()
        except ChildProcessError:
            return signal.SIGKILL
        if child in ended:
            return ended[child]
        received = signal.sigtimedwait(signals, 0.5)
        if received and received.si_signo in STOP_SIGNALS:
            forward(received.si_signo)
            grace = 0 if received.si_signo in asked else GRACE_SECONDS
            asked.add(received.si_signo)
            deadline = min(deadline or math.inf, time.monotonic() + grace)
        if deadline is not None and time.monotonic() >= deadline:
            return signal.SIGKILL


def run_command(command: list[str], parent: int) -> None:
    """Become the command, in a process group of its own."""
    os.setpgid(0, 0)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())
    die_with_parent(parent, signal.SIGKILL)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        print(f"guard: cannot run {command[0]}: {error.strerror}", file=sys.stderr)
        os._exit(127)


def run_guard(parent: int, inside: Callable[[int], None], to_group: bool) -> int:
    """Guard one child that runs `inside(own pid)`; the exit status to end with."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, *STOP_SIGNALS})
    control_process(PR_SET_CHILD_SUBREAPER, 1)
    die_with_parent(parent, signal.SIGTERM)
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        inside(guard)
        os._exit(127)

    def forward(number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            (os.killpg if to_group else os.kill)(child, number)

    status = watch(child, forward)
    end_everything(grace=1.0 if os.WIFEXITED(status) else 0.0)
    return os.waitstatus_to_exitcode(status)


def guarded(command: list[str], parent: int) -> int:
    """Run the command under two guards; the exit status as a shell would give it."""

    def inner(outer: int) -> None:
        os.setpgid(0, 0)  # the terminal's Ctrl-C comes once, through the outer guard
        code = run_guard(outer, lambda pid: run_command(command, pid), to_group=True)
        os._exit(code if code >= 0 else 128 - code)

    code = run_guard(parent, inner, to_group=False)
    return code if code >= 0 else 128 - code


def main(arguments: list[str]) -> int:
    """Parse `[--parent PID] -- COMMAND ...` and run it guarded."""
    parent = os.getppid()
    if arguments[:1] == ["--parent"]:
        parent = int(arguments[1])
        arguments = arguments[2:]
    if arguments[:1] != ["--"] or len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    return guarded(arguments[1:], parent)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
