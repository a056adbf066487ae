"""What is told again after the site lost what it knew."""

from __future__ import annotations

import time
from sqlite3 import Connection

import msgspec

from goblin_labnode.phases import FINISHED, LeasePhase, Phase, UnitPhase
from goblin_labnode.store import outbox
from goblin_wire.lab import JobAction, JobRegistration
from goblin_wire.protocol import CAPABILITY_LIFETIME_S

_OPEN = [phase for phase in Phase if phase not in FINISHED]


def resend_all(connection: Connection) -> None:
    """Jobs and units of unfinished runs, and all verdicts that a capability can still prove."""
    connection.execute("DELETE FROM outbox WHERE kind IN ('job', 'unit', 'verdict')")
    marks = ",".join("?" * len(_OPEN))
    runs = connection.execute(
        f"SELECT * FROM runs WHERE phase IN ({marks})",  # noqa: S608
        _OPEN,
    ).fetchall()
    for run in runs:
        _resend_run(connection, run["run"], run["phase"])
    _resend_verdicts(connection)


def _resend_run(connection: Connection, run: str, phase: str) -> None:
    units, flops = connection.execute(
        "SELECT count(*), sum(flops) FROM units WHERE run = ?", (run,)
    ).fetchone()
    if not units:
        return
    (request,) = connection.execute("SELECT request FROM runs WHERE run = ?", (run,)).fetchone()
    grade = msgspec.json.decode(request).get("grade", "standard")
    job = JobRegistration(job=run, kind="product", units=units, flops=flops, grade=grade)
    outbox.post(connection, run, "job", "", job)
    connection.execute(
        "INSERT INTO outbox (run, kind, subject, body) SELECT run, 'unit', unit, '' FROM units"
        " WHERE run = ? AND state <> ? ORDER BY number",
        (run, UnitPhase.PLANNED),
    )
    action = {Phase.PAUSED: "pause", Phase.CANCELLING: "cancel"}.get(Phase(phase))
    if action is not None:
        outbox.post(connection, run, "action", action, JobAction(action=action))


def _resend_verdicts(connection: Connection) -> None:
    connection.execute(
        "INSERT INTO outbox (run, kind, subject, body) SELECT run, 'verdict', lease, verdict"
        " FROM leases WHERE verdict IS NOT NULL AND state <> ? AND seen_at > ? ORDER BY run",
        (LeasePhase.ENDED, time.time() - CAPABILITY_LIFETIME_S),
    )
