"""The processes of a network: started, watched, killed, never orphaned."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.network import NetworkError, Process
from tests.network.process import run_once
from tests.network.settings import Places
from tests.network.temporary import TemporaryFolder, remove_abandoned
from tests.processes import wait_for

STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('up')
time.sleep(60)
"""


def process(tmp_path: Path, code: str, **options: object) -> Process:
    command = [sys.executable, "-u", "-c", code]
    return Process("part", command, tmp_path / "part.log", os.environ, **options)  # type: ignore[arg-type]


def test_it_is_ready_when_it_says_so(tmp_path: Path) -> None:
    part = process(tmp_path, "print('up'); input()", ready=lambda: False)
    part.start()
    with pytest.raises(NetworkError, match=r"(?s)part ended: .*EOFError"):
        part.wait_ready()
    assert not part.alive()


def test_it_gives_up_after_a_while(tmp_path: Path) -> None:
    part = process(tmp_path, STUBBORN, ready=lambda: False, start_seconds=0.3)
    part.start()
    with pytest.raises(NetworkError, match=r"not ready after 0\.3 s"):
        part.wait_ready()
    part.kill()
    assert not part.alive()


def test_who_does_not_stop_is_killed_and_named(tmp_path: Path) -> None:
    part: Process = process(tmp_path, STUBBORN, ready=lambda: "up" in part.last_words())
    part.start()
    part.wait_ready()
    assert not part.stop(seconds=0.2)
    assert not part.alive()


def test_started_twice_is_one_process_and_again_another(tmp_path: Path) -> None:
    part = process(tmp_path, "import time; time.sleep(60)")
    part.start()
    first = part.pid
    part.start()
    assert part.pid == first
    assert part.stop()
    part.start()
    assert part.pid != first
    part.kill(whole=True)


def test_it_dies_with_us(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, signal, sys\n"
        "from tests.network import Process\n"
        "part = Process('part', ['sleep', '60'], pathlib.Path(sys.argv[1]), os.environ)\n"
        "part.start(); print(part.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "log")],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    wait_for(lambda: not Path("/proc", said.strip()).exists())


def test_a_failing_command_tells_its_last_words(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('because')"]
    with pytest.raises(NetworkError, match=r"(?s)it failed with 1.*because"):
        run_once("it", command, os.environ, tmp_path / "log")


def test_no_setting_of_the_caller_reaches_a_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DATABASE_URL", "GOBLIN_SITE_URL", "GPUGOBLIN_LAB", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, "foreign")
    assert "foreign" not in Places(tmp_path).environment().values()


def test_the_folder_of_a_killed_run_is_removed_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, signal, sys\n"
        "from tests.network.temporary import TemporaryFolder\n"
        "print(TemporaryFolder(pathlib.Path(sys.argv[1])).path, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    living = TemporaryFolder(tmp_path)
    said = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=Path(__file__).resolve().parents[1],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert Path(said.strip()).exists()
    remove_abandoned(tmp_path)
    assert not Path(said.strip()).exists()
    assert living.path.exists()
    living.remove()
    assert not living.path.exists()
