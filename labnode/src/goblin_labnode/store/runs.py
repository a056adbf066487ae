"""Runs: one row for each attempt at a job."""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass

import msgspec

from goblin_labnode.output import Output
from goblin_labnode.phases import FINISHED, Phase
from goblin_labnode.requests import Request
from goblin_labnode.store.database import Database, Row
from opgraph.partition.product import ProductPlan

_UNFINISHED = tuple(sorted(set(Phase) - FINISHED))


@dataclass
class RunRecord:
    """A run as it is stored. `secret`: 32 bytes; times are Unix seconds of this machine."""

    run: str
    job: str
    attempt: int
    name: str
    request: Request
    plan: ProductPlan
    secret: bytes
    output: Output
    submitted_at: float
    phase: Phase = Phase.ACTIVE
    code: str = "ok"
    reason: str = ""
    cause: str = "researcher"
    phase_at: float = 0.0
    finished_at: float | None = None
    bytes_down: int = 0
    bytes_up: int = 0
    check_seconds: float = 0.0
    blind_spot: str = ""
    """What the checks cannot see, once they are prepared."""

    @property
    def finished(self) -> bool:
        return self.phase in FINISHED


def insert_run(connection: sqlite3.Connection, record: RunRecord) -> None:
    record.phase_at = record.submitted_at
    connection.execute(
        "INSERT INTO runs (run, job, attempt, name, phase, code, reason, cause, phase_at,"
        " submitted_at, request, plan, secret, output) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
        (
            record.run,
            record.job,
            record.attempt,
            record.name,
            record.phase,
            record.code,
            record.reason,
            record.cause,
            record.phase_at,
            record.submitted_at,
            _json(record.request),
            _json(record.plan.to_dict()),
            record.secret,
            _json(record.output),
        ),
    )


def store_phase(
    connection: sqlite3.Connection,
    record: RunRecord,
    phase: Phase,
    *,
    code: str,
    reason: str,
    cause: str,
) -> None:
    """Write a phase and its reason; the record follows once the transaction is through."""
    now = time.time()
    finished = now if phase in FINISHED else None
    connection.execute(
        "UPDATE runs SET phase = ?, code = ?, reason = ?, cause = ?, phase_at = ?,"
        " finished_at = ? WHERE run = ?",
        (phase, code, reason, cause, now, finished, record.run),
    )


def take_phase(record: RunRecord, phase: Phase, *, code: str, reason: str, cause: str) -> None:
    """The same in memory."""
    record.phase, record.code, record.reason, record.cause = phase, code, reason, cause
    record.phase_at = time.time()
    record.finished_at = record.phase_at if phase in FINISHED else None


def store_counters(connection: sqlite3.Connection, record: RunRecord) -> None:
    connection.execute(
        "UPDATE runs SET bytes_down = ?, bytes_up = ?, check_seconds = ?, blind_spot = ?"
        " WHERE run = ?",
        (record.bytes_down, record.bytes_up, record.check_seconds, record.blind_spot, record.run),
    )


def rename(database: Database, record: RunRecord, name: str) -> None:
    database.execute("UPDATE runs SET name = ? WHERE run = ?", name, record.run)
    record.name = name


def unfinished(database: Database) -> list[RunRecord]:
    marks = ",".join("?" * len(_UNFINISHED))
    query = f"SELECT * FROM runs WHERE phase IN ({marks}) ORDER BY submitted_at"  # noqa: S608
    return [_record(row) for row in database.rows(query, *_UNFINISHED)]


def latest_of_job(database: Database, job: str) -> RunRecord | None:
    row = database.row("SELECT * FROM runs WHERE job = ? ORDER BY attempt DESC LIMIT 1", job)
    return None if row is None else _record(row)


def find_run(database: Database, job_or_name: str) -> RunRecord | None:
    """The latest attempt of the job with this id, or else of the newest job of this name."""
    found = latest_of_job(database, job_or_name)
    if found is not None or not job_or_name:
        return found
    row = database.row(
        "SELECT * FROM runs WHERE name = ? ORDER BY submitted_at DESC LIMIT 1", job_or_name
    )
    return None if row is None else _record(row)


def latest_runs(database: Database, limit: int = 1000) -> list[RunRecord]:
    """The latest attempt of each job, newest first."""
    rows = database.rows(
        "SELECT * FROM runs AS r WHERE attempt = (SELECT max(attempt) FROM runs"
        " WHERE job = r.job) ORDER BY submitted_at DESC LIMIT ?",
        limit,
    )
    return [_record(row) for row in rows]


def finished_before(database: Database, moment: float) -> list[RunRecord]:
    """Runs that ended before this, wait for no answer of the site, and were not stripped."""
    rows = database.rows(
        "SELECT * FROM runs WHERE finished_at < ? AND run NOT IN (SELECT run FROM outbox)"
        " AND json_extract(output, '$.removed_at') IS NULL",
        moment,
    )
    return [_record(row) for row in rows]


def strip_run(connection: sqlite3.Connection, record: RunRecord) -> None:
    """Keep of a run whose result was removed only that it was; in the caller's transaction."""
    for table in ("panels", "units", "leases", "generations"):
        connection.execute(f"DELETE FROM {table} WHERE run = ?", (record.run,))  # noqa: S608
    connection.execute(
        "UPDATE runs SET output = ? WHERE run = ?", (_json(record.output), record.run)
    )


def removed_before(database: Database, moment: float) -> list[str]:
    """Runs whose result was removed before this."""
    rows = database.rows(
        "SELECT run FROM runs WHERE json_extract(output, '$.removed_at') < ?", moment
    )
    return [row["run"] for row in rows]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def _record(row: Row) -> RunRecord:
    return RunRecord(
        run=row["run"],
        job=row["job"],
        attempt=row["attempt"],
        name=row["name"],
        request=msgspec.json.decode(row["request"], type=Request),
        plan=ProductPlan.from_dict(msgspec.json.decode(row["plan"])),
        secret=row["secret"],
        output=msgspec.json.decode(row["output"], type=Output),
        submitted_at=row["submitted_at"],
        phase=Phase(row["phase"]),
        code=row["code"],
        reason=row["reason"],
        cause=row["cause"],
        phase_at=row["phase_at"],
        finished_at=row["finished_at"],
        bytes_down=row["bytes_down"],
        bytes_up=row["bytes_up"],
        check_seconds=row["check_seconds"],
        blind_spot=row["blind_spot"],
    )
