"""What must outlive the process, in SQLite: who we are to the site, results, what became of them.

A transaction is on disk or it never was, whenever the process is killed.
"""

from __future__ import annotations

import math
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from goblin_client.errors import StateDamaged
from goblin_wire.exchange import Lease

SCHEMA = """
CREATE TABLE IF NOT EXISTS fact (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS result (
    lease TEXT PRIMARY KEY, made REAL NOT NULL, record BLOB NOT NULL, uploaded INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS settled (
    number INTEGER PRIMARY KEY, lease TEXT NOT NULL UNIQUE, lab TEXT NOT NULL, at REAL NOT NULL,
    verdict TEXT NOT NULL, code TEXT NOT NULL, reason TEXT NOT NULL, flops INTEGER NOT NULL
);
"""
HISTORY = 1000
"""How many settled leases are remembered."""


class KeptResult(msgspec.Struct, kw_only=True):
    """A finished unit: where it goes, and the keyed digests and sizes (bytes) of its outputs."""

    lease: Lease
    digests: list[str]
    sizes: list[int]
    seconds: float
    """Seconds of computation."""
    made: float
    """Unix time."""


class Settlement(msgspec.Struct, kw_only=True):
    """What became of a lease."""

    lease: str
    lab: str
    at: float
    verdict: str
    code: str
    reason: str
    flops: int


class Store:
    """The database of a state directory. Used by one thread."""

    def __init__(self, path: Path) -> None:
        path.touch(mode=0o600, exist_ok=True)
        self._db = sqlite3.connect(path, isolation_level=None, timeout=10)
        # A torn write-ahead log is rolled back; that costs no fsync per commit.
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = NORMAL")
        self._db.executescript(SCHEMA)

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    def fact(self, name: str) -> str | None:
        found = self._db.execute("SELECT value FROM fact WHERE name = ?", (name,)).fetchone()
        return None if found is None else str(found[0])

    def set_facts(self, **facts: str | None) -> None:
        """Remember facts together; none forgets one."""
        with self._transaction():
            for name, value in facts.items():
                if value is None:
                    self._db.execute("DELETE FROM fact WHERE name = ?", (name,))
                else:
                    self._db.execute(
                        "INSERT INTO fact VALUES (?, ?)"
                        " ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                        (name, value),
                    )

    def host(self) -> tuple[str, int]:
        """Our host id and the number of the last message sent; made at the first call."""
        host = self.fact("host")
        return (self.new_host(), 0) if host is None else (host, int(self._number("seq") or 0))

    def new_host(self) -> str:
        host = secrets.token_hex(16)
        self.set_facts(host=host, seq="0")
        return host

    def paused_until(self) -> float | None:
        """Until when (Unix time) the owner wants no work, infinity for an open end; or none."""
        return self._number("paused_until")

    def pause(self, until: float | None) -> None:
        """Remember a pause; none ends it."""
        self.set_facts(paused_until=None if until is None else str(until))

    def _number(self, name: str) -> float | None:
        value = self.fact(name)
        try:
            number = None if value is None else float(value)
        except ValueError:
            number = math.nan
        if number is not None and math.isnan(number):
            raise StateDamaged(
                f"The state of this client is damaged ({name} is no number); to start afresh:"
                " goblin-client leave, then join again."
            )
        return number

    def keep(self, result: KeptResult, *, uploaded: bool) -> None:
        self._db.execute(
            "INSERT INTO result VALUES (?, ?, ?, ?)"
            " ON CONFLICT (lease) DO UPDATE SET record = excluded.record,"
            " uploaded = excluded.uploaded",
            (result.lease.lease, result.made, msgspec.msgpack.encode(result), uploaded),
        )

    def results(self) -> list[tuple[KeptResult, bool]]:
        """The results that are not settled, oldest first, and whether they were uploaded."""
        found = self._db.execute("SELECT record, uploaded FROM result ORDER BY made")
        return [(kept, bool(uploaded)) for record, uploaded in found if (kept := _kept(record))]

    def settle(self, settlement: Settlement) -> None:
        """Forget a result and remember what became of it."""
        with self._transaction():
            self._db.execute("DELETE FROM result WHERE lease = ?", (settlement.lease,))
            self._db.execute(
                "INSERT OR IGNORE INTO settled (lease, lab, at, verdict, code, reason, flops)"
                " VALUES (:lease, :lab, :at, :verdict, :code, :reason, :flops)",
                msgspec.to_builtins(settlement),
            )
            self._db.execute(
                "DELETE FROM settled WHERE number <= (SELECT max(number) FROM settled) - ?",
                (HISTORY,),
            )

    def history(self, limit: int) -> list[Settlement]:
        """What was settled, newest first."""
        found = self._db.execute(
            "SELECT lease, lab, at, verdict, code, reason, flops FROM settled"
            " ORDER BY number DESC LIMIT ?",
            (limit,),
        )
        return [_settlement(row) for row in found]

    def counts(self) -> dict[str, int]:
        """How many leases ended with each verdict, as far as remembered."""
        found = self._db.execute("SELECT verdict, count(*) FROM settled GROUP BY verdict")
        return {str(verdict): int(count) for verdict, count in found}


def _kept(record: bytes) -> KeptResult | None:
    """None for a record that cannot be read: its lease runs out, and others compute the unit."""
    try:
        return msgspec.msgpack.decode(record, type=KeptResult)
    except msgspec.DecodeError:
        return None


def _settlement(row: tuple[Any, ...]) -> Settlement:
    return msgspec.convert(dict(zip(Settlement.__struct_fields__, row, strict=True)), Settlement)
