"""One PostgreSQL server as a child of this process."""

import contextlib
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import IO, Self

import psycopg

from .account import Account
from .binaries import programs_for
from .errors import DatabaseInUse, EmbeddedPostgresError

ROLE = "goblin"
DATABASE = "gpugoblin"
START_SECONDS = 60.0
PORT_TRIES = 5
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": "120",
    "shared_buffers": "128MB",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Its log quotes no statement and no value: they may name people.
    "log_error_verbosity": "terse",
    "log_min_error_statement": "panic",
}
NOT_DURABLE = {"fsync": "off", "full_page_writes": "off"}
"""A crash of the machine loses data; a killed server loses no commit, as the fault tests need."""


class EmbeddedPostgres:
    """A server whose data live in `data_dir`; it ends when the thread that started it ends.

    Start it from the main thread. `port` 0 takes a free one. With `durable=False` a crash of the
    machine may lose data, which is right for tests only.
    Raises DatabaseInUse when another process runs this folder, EmbeddedPostgresError otherwise.
    """

    def __init__(self, data_dir: Path | str, *, port: int = 0, durable: bool = True) -> None:
        self.data_dir = Path(data_dir).absolute()
        self.port = port
        self.durable = durable
        self._account = Account.for_postgres()
        self._process: subprocess.Popen[bytes] | None = None
        self._lock: IO[bytes] | None = None

    @property
    def cluster(self) -> Path:
        """PostgreSQL's own data folder."""
        return self.data_dir / "cluster"

    @property
    def log(self) -> Path:
        """What the server said."""
        return self.data_dir / "postgres.log"

    @property
    def announcement(self) -> Path:
        """The file that tells other processes the address; there only while the server runs."""
        return self.data_dir / "server.json"

    def start(self) -> str:
        """Start the server, creating its data at the first time; the address for DATABASE_URL."""
        self._prepare_folder()
        self._take_lock()
        try:
            self._end_leftover()
            programs = programs_for(self._account)
            self._create_cluster(programs)
            url = self._serve(programs)
            _create_database(self._address("postgres"))
            _write_private(self.announcement, json.dumps({"url": url, "pid": os.getpid()}))
        except BaseException:
            self.stop()
            raise
        return url

    def stop(self) -> None:
        """Shut the server down and let others use the folder; harmless when it does not run."""
        if self._process is not None:
            for number, seconds in ((signal.SIGINT, 10), (signal.SIGQUIT, 5), (signal.SIGKILL, 5)):
                with contextlib.suppress(ProcessLookupError):
                    self._process.send_signal(number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(seconds)
                    break
            self._process = None
        if self._lock is not None:
            self.announcement.unlink(missing_ok=True)
            self._lock.close()
            self._lock = None

    def alive(self) -> bool:
        """Whether our child still runs."""
        return self._process is not None and self._process.poll() is None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _prepare_folder(self) -> None:
        if not self.data_dir.exists():
            self.data_dir.mkdir(mode=0o711, parents=True)
        if not self._account.reaches(self.data_dir):
            raise EmbeddedPostgresError(
                f"PostgreSQL runs under another account, which cannot enter {self.data_dir}. "
                "Choose a data folder outside of private folders, e.g. below /var/tmp."
            )

    def _take_lock(self) -> None:
        lock = (self.data_dir / "lock").open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            raise DatabaseInUse(
                f"Another process runs the PostgreSQL of {self.data_dir}. "
                "Stop it or choose another data folder."
            ) from None
        self._lock = lock
        self.announcement.unlink(missing_ok=True)

    def _end_leftover(self) -> None:
        """Wait for the server of a killed supervisor, then remove its stale lock file."""
        pid_file = self.cluster / "postmaster.pid"
        deadline = time.monotonic() + 10
        while (pid := _postmaster(pid_file, self.cluster)) is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGQUIT if time.monotonic() < deadline else signal.SIGKILL)
            time.sleep(0.05)
        pid_file.unlink(missing_ok=True)

    def _create_cluster(self, programs: Path) -> None:
        if (self.cluster / "PG_VERSION").exists():
            return
        unfinished = self.data_dir / "cluster.new"  # renamed when whole: kill -9 leaves no half one
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        password = unfinished / "password"
        _write_private(password, self._password())
        self._account.own(password)
        fresh = unfinished / "data"
        fresh.mkdir(mode=0o700)
        self._account.own(fresh)
        self._account.own(unfinished)
        made = self._account.run(
            [
                *(str(programs / "initdb"), "--pgdata", str(fresh), "--username", ROLE),
                *("--encoding=UTF8", "--locale=C.UTF-8", "--no-instructions"),
                *("--auth=scram-sha-256", f"--pwfile={password}"),
                *(() if self.durable else ("--no-sync",)),
            ]
        )
        if made.returncode != 0:
            raise EmbeddedPostgresError(f"initdb failed: {made.stdout.strip()[-800:]}")
        fresh.rename(self.cluster)
        shutil.rmtree(unfinished)

    def _password(self) -> str:
        path = self.data_dir / "password"
        if not path.exists():
            _write_private(path, secrets.token_hex(16))
        return path.read_text()

    def _address(self, database: str) -> str:
        return f"postgresql://{ROLE}:{self._password()}@127.0.0.1:{self.port}/{database}"

    def _serve(self, programs: Path) -> str:
        for attempt in range(PORT_TRIES):
            port = self.port or free_port()
            if self._try_port(programs, port):
                self.port = port
                return self._address(DATABASE)
            if self.port or "could not bind" not in self._last_words():
                break
            time.sleep(0.1 * attempt)
        raise EmbeddedPostgresError(f"PostgreSQL did not start: {self._last_words()}")

    def _try_port(self, programs: Path, port: int) -> bool:
        settings = SETTINGS | ({} if self.durable else NOT_DURABLE) | {"port": str(port)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with self.log.open("wb") as log:
            command = [str(programs / "postgres"), "-D", str(self.cluster), *options]
            self._process = self._account.spawn(command, log)
        address = f"postgresql://{ROLE}:{self._password()}@127.0.0.1:{port}/postgres"
        deadline = time.monotonic() + START_SECONDS
        while self.alive() and time.monotonic() < deadline:
            if answers(address):
                return True
            time.sleep(0.02)
        return False

    def _last_words(self) -> str:
        return self.log.read_text(errors="replace").strip()[-800:]


def answers(url: str) -> bool:
    """Whether a PostgreSQL lets us in at `url`, tried by connecting."""
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.OperationalError:
        return False
    return True


def free_port() -> int:
    """A TCP port of the loopback address that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _create_database(address: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        there = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
        if there.fetchone() is None:
            connection.execute(f"CREATE DATABASE {DATABASE}")


def _postmaster(pid_file: Path, cluster: Path) -> int | None:
    """The living server that wrote `pid_file`; a foreign process with a recycled pid is none."""
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
        return pid if Path(f"/proc/{pid}/cwd").readlink() == cluster else None
    except (OSError, ValueError):
        return None


def _write_private(path: Path, text: str) -> None:
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        file.write(text)
    beside.rename(path)
