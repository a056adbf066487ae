"""tools/guard.py: whatever ends, nothing below it stays."""

import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from tests.processes import wait_for, with_argument

GUARD = Path(__file__).resolve().parent.parent / "tools" / "guard.py"
# A command with a child, and with a grandchild that has left for a session of its own.
TREE = """
import subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(60)", sys.argv[1]]
subprocess.Popen(sleep)
subprocess.Popen(["setsid", "--fork", *sleep])
print("up", flush=True)
{then}
"""


def guard(mark: str, then: str = "time.sleep(60)") -> "subprocess.Popen[str]":
    command = [sys.executable, str(GUARD), "--", sys.executable, "-c", TREE.format(then=then), mark]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def mark() -> str:
    return f"guard-test-{uuid.uuid4()}"


def test_gives_the_exit_status_of_the_command(mark: str) -> None:
    with guard(mark, "sys.exit(3)") as process:
        assert process.wait(10) == 3
    assert not with_argument(mark)


def test_a_command_that_is_not_there() -> None:
    command = [sys.executable, str(GUARD), "--", "/no/such/command"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert "cannot run" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_to_the_guard_ends_everything(mark: str, number: int) -> None:
    with guard(mark) as process:
        assert process.stdout
        assert process.stdout.readline() == "up\n"
        # guard, inner guard, command, its child and the one that left
        wait_for(lambda: len(with_argument(mark)) >= 5)
        process.send_signal(number)
        assert process.wait(15) != 0
        wait_for(lambda: not with_argument(mark))


CLEANS_UP = """
import signal
def clean(number, frame):
    for each in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    time.sleep(1)
    sys.exit(7)
for each in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(each, clean)
print("ready", flush=True)
time.sleep(60)
"""


def test_a_terminal_that_closes_leaves_time_to_clean_up(mark: str) -> None:
    with guard(mark, CLEANS_UP) as process:
        assert process.stdout
        assert [process.stdout.readline() for _ in range(2)] == ["up\n", "ready\n"]
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 7
    assert not with_argument(mark)


def test_the_same_signal_twice_does_not_wait(mark: str) -> None:
    with guard(mark, CLEANS_UP.replace("sleep(1)", "sleep(60)")) as process:
        assert process.stdout
        assert [process.stdout.readline() for _ in range(2)] == ["up\n", "ready\n"]
        process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        assert process.wait(5) == 128 + signal.SIGKILL
    wait_for(lambda: not with_argument(mark))


def test_kill_of_each_process_ends_everything(mark: str) -> None:
    for victim in range(3):
        with guard(mark) as process:
            assert process.stdout
            process.stdout.readline()
            running = wait_for(lambda: with_argument(mark))
            subprocess.run(["kill", "-9", str(sorted(running)[victim])], check=True)
            process.wait(15)
            wait_for(lambda: not with_argument(mark))


def test_it_ends_when_its_parent_is_gone(mark: str) -> None:
    code = (
        "import subprocess, sys, time; p = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE);"
        "print(p.stdout.readline().decode(), end='', flush=True); time.sleep(60)"
    )
    command = [
        sys.executable,
        str(GUARD),
        "--",
        sys.executable,
        "-c",
        TREE.format(then="time.sleep(60)"),
        mark,
    ]
    with subprocess.Popen(
        [sys.executable, "-c", code, *command], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == "up\n"
        parent.kill()
        parent.wait(5)
        wait_for(lambda: not with_argument(mark), 15)


def test_a_parent_that_is_gone_already() -> None:
    command = [sys.executable, str(GUARD), "--parent", "1", "--", "true"]
    assert subprocess.run(command, check=False).returncode == 128 + signal.SIGTERM
