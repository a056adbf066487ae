"""One connection to the SQLite file, shared by the threads under a lock."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from goblin_labnode.store.schema import TABLES, UPGRADES, VERSION
from goblin_wire.problems import DiskFull, Problem, StorageFailed

Row = sqlite3.Row


class Database:
    """WAL: a kill loses nothing that was committed, a power cut nothing committed as durable."""

    def __init__(self, path: Path) -> None:
        """Open or make the file. Raises `StorageFailed` for one of another version."""
        self._lock = threading.RLock()
        _close_to_others(path)
        self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
        self._connection.row_factory = sqlite3.Row
        for pragma in (
            "journal_mode=WAL",
            "synchronous=NORMAL",
            "foreign_keys=ON",
            "busy_timeout=5000",
        ):
            self._connection.execute(f"PRAGMA {pragma}")
        self._create()

    def close(self) -> None:
        with self._lock:
            self._connection.close()

    @contextmanager
    def transaction(self, *, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """All or nothing, one at a time. Raises `DiskFull` or `StorageFailed`.

        `durable`: on the disk when this returns, with all that was committed before.
        """
        with self._lock, _translated(), self._synced(durable):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _synced(self, durable: bool) -> Iterator[None]:
        if not durable:
            yield
            return
        self._connection.execute("PRAGMA synchronous=FULL")
        try:
            yield
        finally:
            self._connection.execute("PRAGMA synchronous=NORMAL")

    def rows(self, query: str, *values: Any) -> list[Row]:
        with self._lock, _translated():
            return self._connection.execute(query, values).fetchall()

    def row(self, query: str, *values: Any) -> Row | None:
        with self._lock, _translated():
            found: Row | None = self._connection.execute(query, values).fetchone()
            return found

    def execute(self, query: str, *values: Any) -> None:
        """One statement in a transaction of its own."""
        with self.transaction() as connection:
            connection.execute(query, values)

    def recall(self, name: str, default: str = "") -> str:
        row = self.row("SELECT value FROM memory WHERE name = ?", name)
        return default if row is None else str(row["value"])

    def _create(self) -> None:
        (version,) = self._connection.execute("PRAGMA user_version").fetchone()
        if version == 0:
            self._connection.executescript(f"BEGIN;{TABLES}PRAGMA user_version={VERSION};COMMIT;")
            return
        while version in UPGRADES:
            script, version = UPGRADES[version], version + 1
            self._connection.executescript(f"BEGIN;{script}PRAGMA user_version={version};COMMIT;")
        if version != VERSION:
            raise StorageFailed(f"The database has version {version}, this program needs {VERSION}")


def _close_to_others(path: Path) -> None:
    """The secret of the check vectors is in it. SQLite gives its other files the same mode."""
    path.touch(mode=0o600)
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        if file.exists():
            file.chmod(0o600)


def remember(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Keep a value in the caller's transaction."""
    connection.execute(
        "INSERT INTO memory VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, value),
    )


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise _problem(error) from error


def _problem(error: sqlite3.Error) -> Problem:
    code = getattr(error, "sqlite_errorcode", None) or 0
    if code & 0xFF == sqlite3.SQLITE_FULL:
        return DiskFull("The disk of the lab node's own folder is full.", retry_after=5)
    return StorageFailed(f"The lab node's database reported: {error}")
