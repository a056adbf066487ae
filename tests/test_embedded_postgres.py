"""The embedded PostgreSQL comes up, is shared, recovers, and never outlives its owner."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from gpugoblin_site.embedded_postgres import (
    DatabaseInUse,
    EmbeddedPostgres,
    EmbeddedPostgresError,
    binaries,
)
from gpugoblin_site.embedded_postgres.account import Account
from tests.processes import wait_for, with_argument

SUPERVISOR = [sys.executable, "-m", "gpugoblin_site.embedded_postgres"]
USER = """
import sys, time
from gpugoblin_site.embedded_postgres import ensure_database_url
print(ensure_database_url(sys.argv[1], durable=False), flush=True)
time.sleep(60)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    # Not tmp_path: pytest's own folders are private, and as root the server is somebody else.
    made = Path(tempfile.mkdtemp(prefix="goblin-pg-", dir="/var/tmp"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made)


def count(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT count(*) FROM pg_class").fetchone()
    assert row
    return int(row[0])


def servers(folder: Path) -> list[int]:
    return with_argument(str(folder / "cluster"))


def start_supervisor(folder: Path) -> "tuple[subprocess.Popen[str], str]":
    process = subprocess.Popen(
        [*SUPERVISOR, "--data", str(folder), "--not-durable"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    return process, str(json.loads(process.stdout.readline())["url"])


def start_user(folder: Path) -> "tuple[subprocess.Popen[str], str]":
    process = subprocess.Popen(
        [sys.executable, "-c", USER, str(folder)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    return process, process.stdout.readline().strip()


def end(process: "subprocess.Popen[str]", number: int) -> None:
    process.send_signal(number)
    process.wait(10)
    assert process.stdout
    process.stdout.close()


def test_starts_stops_and_keeps_its_data(folder: Path) -> None:
    with EmbeddedPostgres(folder, durable=False) as server:
        url = json.loads(server.announcement.read_text())["url"]
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
    assert not servers(folder)
    assert not server.announcement.exists()
    with EmbeddedPostgres(folder, durable=False) as again:
        url = json.loads(again.announcement.read_text())["url"]
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_nobody_gets_in_without_the_password(folder: Path) -> None:
    with EmbeddedPostgres(folder, durable=False) as server:
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(f"postgresql://goblin:guess@127.0.0.1:{server.port}/gpugoblin")
        for private in (folder / "password", server.announcement):
            assert private.stat().st_mode & 0o077 == 0


def test_two_supervisors_never_share_a_folder(folder: Path) -> None:
    with (
        EmbeddedPostgres(folder, durable=False),
        pytest.raises(DatabaseInUse, match="Another process"),
    ):
        EmbeddedPostgres(folder).start()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_server_ends_with_its_supervisor(folder: Path, number: int) -> None:
    process, url = start_supervisor(folder)
    assert count(url)
    end(process, number)
    wait_for(lambda: not servers(folder))
    with EmbeddedPostgres(folder, durable=False):  # a stale postmaster.pid is no hindrance
        assert servers(folder)


def test_a_stale_lock_file_with_a_recycled_pid_is_no_hindrance(folder: Path) -> None:
    with EmbeddedPostgres(folder, durable=False) as server:
        stale = (server.cluster / "postmaster.pid").read_text().splitlines()
    (server.cluster / "postmaster.pid").write_text("\n".join([str(os.getppid()), *stale[1:]]))
    with EmbeddedPostgres(folder, durable=False):
        assert servers(folder)


def test_a_supervisor_whose_server_dies_says_so(folder: Path) -> None:
    process, _ = start_supervisor(folder)
    os.kill(min(servers(folder)), signal.SIGKILL)
    assert process.wait(10) == 1
    assert process.stdout
    process.stdout.close()


def test_it_lives_as_long_as_its_last_user(folder: Path) -> None:
    first, url = start_user(folder)
    second, same = start_user(folder)
    assert url == same
    end(first, signal.SIGKILL)
    assert count(url)
    end(second, signal.SIGKILL)
    wait_for(lambda: not with_argument(str(folder)))


def test_a_half_made_cluster_is_made_anew(folder: Path) -> None:
    (folder / "cluster.new" / "data" / "base").mkdir(parents=True)
    with EmbeddedPostgres(folder, durable=False):
        assert not (folder / "cluster.new").exists()


def test_programs_are_copied_when_the_account_cannot_reach_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(binaries, "SHARED_HOME", folder)
    monkeypatch.setattr(Account, "reaches", lambda _self, path: "site-packages" not in str(path))
    with EmbeddedPostgres(folder / "data", durable=False):
        (copied,) = folder.glob("gpugoblin-postgres-*")
        assert with_argument(str(copied))
    copied.chmod(0o777)
    with pytest.raises(EmbeddedPostgresError, match="somebody else"):
        binaries.programs_for(Account())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server under another account")
def test_a_private_folder_is_refused_not_opened(folder: Path) -> None:
    private = folder / "private"
    private.mkdir(mode=0o700)
    with pytest.raises(EmbeddedPostgresError, match="cannot enter"):
        EmbeddedPostgres(private / "data").start()
    assert private.stat().st_mode & 0o777 == 0o700
