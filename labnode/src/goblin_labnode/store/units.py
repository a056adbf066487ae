"""Units, their panels, and the leases on them."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from dataclasses import dataclass

from goblin_labnode.panels import PanelKey
from goblin_labnode.phases import LeasePhase, UnitPhase
from goblin_labnode.store.database import Database


@dataclass
class UnitRecord:
    number: int
    unit: str
    state: UnitPhase
    flops: int
    manifest: str | None = None
    quarantine: str | None = None


@dataclass
class LeaseRecord:
    """A lease as far as this lab node knows it. `volunteer`: the account's pseudonym."""

    lease: str
    unit: str
    volunteer: str
    device_class: str = ""
    state: LeasePhase = LeasePhase.OPEN
    code: str = "ok"
    reason: str = ""
    capability: str | None = None
    digest: str | None = None
    seen_at: float = 0.0


def insert_units(connection: sqlite3.Connection, run: str, units: Iterable[UnitRecord]) -> None:
    connection.executemany(
        "INSERT INTO units (run, number, unit, state, flops) VALUES (?, ?, ?, ?, ?)",
        [(run, unit.number, unit.unit, unit.state, unit.flops) for unit in units],
    )


def load_units(database: Database, run: str) -> list[UnitRecord]:
    rows = database.rows(
        "SELECT number, unit, state, flops, manifest, quarantine FROM units WHERE run = ?"
        " ORDER BY number",
        run,
    )
    return [
        UnitRecord(
            row["number"],
            row["unit"],
            UnitPhase(row["state"]),
            row["flops"],
            row["manifest"],
            row["quarantine"],
        )
        for row in rows
    ]


def store_prepared(
    connection: sqlite3.Connection,
    run: str,
    panels: dict[PanelKey, str],
    units: Iterable[UnitRecord],
) -> None:
    """Panels that were hashed, and units that are ready with their manifest."""
    connection.executemany(
        "INSERT OR REPLACE INTO panels VALUES (?, ?, ?, ?, ?)",
        [(*key, blob) for key, blob in panels.items()],
    )
    for unit in units:
        connection.execute(
            "UPDATE units SET state = ?, manifest = ? WHERE run = ? AND number = ?",
            (UnitPhase.READY, unit.manifest, run, unit.number),
        )
        connection.execute(
            "INSERT INTO outbox (run, kind, subject, body) VALUES (?, 'unit', ?, '')",
            (run, unit.unit),
        )


def load_panels(database: Database, run: str) -> dict[PanelKey, str]:
    rows = database.rows("SELECT * FROM panels WHERE run = ?", run)
    return {PanelKey(run, row["operand"], row["block"], row["slice"]): row["blob"] for row in rows}


def store_registered(connection: sqlite3.Connection, units: Iterable[str]) -> None:
    connection.executemany(
        "UPDATE units SET state = ? WHERE unit = ? AND state = ?",
        [(UnitPhase.REGISTERED, unit, UnitPhase.READY) for unit in units],
    )


def store_quarantine(connection: sqlite3.Connection, unit: str, reason: str | None) -> None:
    connection.execute("UPDATE units SET quarantine = ? WHERE unit = ?", (reason, unit))


def store_verified(
    connection: sqlite3.Connection, run: str, unit: str, lease: str, repaired_rows: int
) -> None:
    """The tile lies in the output; its part gets the next number."""
    connection.execute(
        "UPDATE units SET state = ?, lease = ?, repaired_rows = ?, verified_at = ?, part ="
        " (SELECT coalesce(max(part), 0) + 1 FROM units WHERE run = ?) WHERE unit = ?",
        (UnitPhase.VERIFIED, lease, repaired_rows, time.time(), run, unit),
    )


def store_lease(connection: sqlite3.Connection, run: str, lease: LeaseRecord) -> None:
    """Insert the lease, or fill in what was not known of it."""
    connection.execute(
        "INSERT INTO leases (lease, run, unit, volunteer, device_class, state, capability,"
        " digest, seen_at) VALUES (?,?,?,?,?,?,?,?,?) ON CONFLICT (lease) DO UPDATE SET"
        " capability = coalesce(excluded.capability, capability),"
        " digest = coalesce(excluded.digest, digest)",
        (
            lease.lease,
            run,
            lease.unit,
            lease.volunteer,
            lease.device_class,
            lease.state,
            lease.capability,
            lease.digest,
            lease.seen_at,
        ),
    )


def store_lease_state(
    connection: sqlite3.Connection, lease: str, state: LeasePhase, code: str, reason: str
) -> None:
    connection.execute(
        "UPDATE leases SET state = ?, code = ?, reason = ? WHERE lease = ?",
        (state, code, reason, lease),
    )


def store_verdict(
    connection: sqlite3.Connection, run: str, lease: str, verdict: str, residual: float | None
) -> None:
    """Keep a verdict (JSON) with its lease and put it into the outbox."""
    connection.execute(
        "UPDATE leases SET verdict = ?, residual = ? WHERE lease = ?", (verdict, residual, lease)
    )
    connection.execute(
        "INSERT INTO outbox (run, kind, subject, body) VALUES (?, 'verdict', ?, ?)",
        (run, lease, verdict),
    )


def disclose_residuals(connection: sqlite3.Connection, run: str) -> None:
    """Tell the site the residuals of a run's accepted results, in their verdicts.

    For when every tile is verified: before, they would help to forge.
    """
    connection.execute(
        "UPDATE leases SET verdict = json_set(verdict, '$.residual', residual)"
        " WHERE run = ? AND state = ? AND verdict IS NOT NULL AND abs(residual) < 1e300",
        (run, LeasePhase.ACCEPTED),
    )
    connection.execute(
        "INSERT INTO outbox (run, kind, subject, body) SELECT run, 'verdict', lease, verdict"
        " FROM leases WHERE run = ? AND json_extract(verdict, '$.residual') IS NOT NULL",
        (run,),
    )


def load_leases(database: Database, run: str) -> list[LeaseRecord]:
    rows = database.rows("SELECT * FROM leases WHERE run = ?", run)
    return [
        LeaseRecord(
            row["lease"],
            row["unit"],
            row["volunteer"],
            row["device_class"],
            LeasePhase(row["state"]),
            row["code"],
            row["reason"],
            row["capability"],
            row["digest"],
            row["seen_at"],
        )
        for row in rows
    ]


def load_generations(database: Database, run: str) -> dict[int, tuple[int, int]]:
    """Column block -> generation of its check vectors, rejections seen by it."""
    rows = database.rows("SELECT * FROM generations WHERE run = ?", run)
    return {row["block"]: (row["generation"], row["rejections"]) for row in rows}


def store_generation(
    connection: sqlite3.Connection, run: str, block: int, generation: int, rejections: int
) -> None:
    connection.execute(
        "INSERT OR REPLACE INTO generations VALUES (?, ?, ?, ?)",
        (run, block, generation, rejections),
    )
