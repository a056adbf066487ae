"""Whenever `make` is interrupted or killed, no process and no temporary folder stays behind."""

import contextlib
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.network.temporary import SHARED_TEMPORARY
from tests.processes import wait_for, with_argument, with_environment

ROOT = Path(__file__).resolve().parents[2]
CREATED = (ROOT / ".venv" / "runtime.stamp").exists()


class Started:
    """`make TARGET` in a group of its own, its processes marked by an environment variable."""

    def __init__(self, *arguments: str, folder: Path = ROOT) -> None:
        self.mark = f"ORPHAN_TEST={uuid.uuid4()}"
        name, _, value = self.mark.partition("=")
        self.process = subprocess.Popen(
            ["make", *arguments],
            cwd=folder,
            env=os.environ | {name: value},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def kill(self) -> None:
        """kill -9 of make alone."""
        self.process.kill()

    def interrupt(self) -> None:
        """What Ctrl-C in a terminal does: SIGINT to the foreground group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def assert_nothing_left_after(self, seconds: float, end: Callable[["Started"], None]) -> None:
        """After `end`: nothing marked lives, no database server of its folder, and no folder."""
        time.sleep(seconds)
        folders = _network_folders(self.mark)
        end(self)
        self.process.wait(30)
        wait_for(lambda: not with_environment(self.mark), 20)
        wait_for(lambda: not any(with_argument(str(folder)) for folder in folders))
        assert not [folder for folder in folders if folder.exists()]


def _network_folders(mark: str) -> set[Path]:
    """The folders of networks that the marked processes work in."""
    found = set()
    for pid in with_environment(mark):
        with contextlib.suppress(OSError):
            place = Path(f"/proc/{pid}/cwd").readlink()
            if place.name == "logs" and place.parent.parent == SHARED_TEMPORARY:
                found.add(place.parent)
    return found


@pytest.fixture
def checkout() -> Iterator[Path]:
    """A copy of what the first steps of the Makefile need, without an environment."""
    folder = SHARED_TEMPORARY / f"goblin-checkout-{uuid.uuid4()}"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tools", folder / "tools")
    yield folder
    shutil.rmtree(folder)


@pytest.mark.network
@pytest.mark.skipif(not CREATED, reason="the demo's environment is made by `make`")
@pytest.mark.parametrize("seconds", [0.3, 2.0, 5.0, 9.0])
def test_demo_killed(seconds: float) -> None:
    Started("demo").assert_nothing_left_after(seconds, Started.kill)


@pytest.mark.network
@pytest.mark.skipif(not CREATED, reason="the demo's environment is made by `make`")
@pytest.mark.parametrize("seconds", [1.0, 7.0])
def test_demo_interrupted(seconds: float) -> None:
    started = Started("demo")
    started.assert_nothing_left_after(seconds, Started.interrupt)
    assert started.process.returncode != 0


@pytest.mark.parametrize("seconds", [0.3, 2.0])
def test_environment_killed_while_it_is_made(checkout: Path, seconds: float) -> None:
    started = Started(".venv/created.stamp", folder=checkout)
    started.assert_nothing_left_after(seconds, Started.kill)
    assert not (checkout / ".venv" / "created.stamp").exists()
