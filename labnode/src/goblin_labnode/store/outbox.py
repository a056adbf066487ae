"""Everything that is said to the site waits here until the site has answered."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import msgspec

from goblin_labnode.store.database import Database


@dataclass(frozen=True)
class Letter:
    """`kind`: job, unit, verdict or action; `body`: JSON, empty for units."""

    id: int
    run: str
    kind: str
    subject: str
    body: str


def post(connection: sqlite3.Connection, run: str, kind: str, subject: str, body: object) -> None:
    """Put a message into the outbox, in the caller's transaction."""
    connection.execute(
        "INSERT INTO outbox (run, kind, subject, body) VALUES (?, ?, ?, ?)",
        (run, kind, subject, msgspec.json.encode(body).decode()),
    )


def next_letters(database: Database, held: set[str], limit: int) -> list[Letter]:
    """The oldest letter of the runs that are not held, and those like it that follow.

    Jobs and actions go alone; units and verdicts go with others of their run.
    """
    marks = ",".join("?" * len(held))
    first = database.row(
        f"SELECT * FROM outbox WHERE run NOT IN ({marks}) ORDER BY id LIMIT 1",  # noqa: S608
        *held,
    )
    if first is None:
        return []
    if first["kind"] not in ("unit", "verdict"):
        return [Letter(**dict(first))]
    rows = database.rows(
        "SELECT * FROM outbox WHERE kind = ? AND run = ? AND id < coalesce("
        " (SELECT min(id) FROM outbox WHERE run = ? AND kind <> ?), 9e18) ORDER BY id LIMIT ?",
        first["kind"],
        first["run"],
        first["run"],
        first["kind"],
        limit,
    )
    return [Letter(**dict(row)) for row in rows]


def discard(connection: sqlite3.Connection, letters: list[Letter]) -> None:
    """Forget letters that were answered."""
    connection.executemany("DELETE FROM outbox WHERE id = ?", [(each.id,) for each in letters])


def discard_units(connection: sqlite3.Connection, run: str) -> None:
    """Units that the site was not told of need not be told any more."""
    connection.execute("DELETE FROM outbox WHERE run = ? AND kind = 'unit'", (run,))


def discard_run(connection: sqlite3.Connection, run: str) -> None:
    connection.execute("DELETE FROM outbox WHERE run = ?", (run,))


def is_unannounced(connection: sqlite3.Connection, run: str) -> bool:
    """Whether the site has not been told of the run at all."""
    row = connection.execute(
        "SELECT 1 FROM outbox WHERE run = ? AND kind = 'job' LIMIT 1", (run,)
    ).fetchone()
    return row is not None
