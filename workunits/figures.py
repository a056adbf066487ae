"""What operators watch: a handful of counts, each from an index."""

from __future__ import annotations

from goblin_wire.protocol import LAB_SEEN_S
from gpugoblin_site.metrics import Figures
from workunits import limits
from workunits.database import row

_COUNTS = f"""
SELECT (SELECT count(*) FROM workunits_pendinglease WHERE open) AS open,
       (SELECT count(*) FROM workunits_pendinglease WHERE live AND NOT open) AS reported,
       (SELECT count(*) FROM workunits_device
         WHERE last_seen > now() - make_interval(secs => {limits.ONLINE_S})) AS devices,
       (SELECT count(*) FROM workunits_labnode
         WHERE last_seen > now() - make_interval(secs => {LAB_SEEN_S})) AS labs,
       (SELECT count(*) FROM workunits_job WHERE state = 'open') AS jobs,
       (SELECT extract(epoch FROM now() - beat)::float8
          FROM workunits_heartbeat WHERE name = 'scheduler') AS silence"""  # noqa: S608 - numbers


def figures() -> Figures:
    """For `/metrics`."""
    found = row(_COUNTS)
    assert found is not None  # noqa: S101 - it always gives a row
    shown = {
        "goblin_leases_open": ("Leases that volunteers hold.", found.open),
        "goblin_leases_reported": ("Reported leases that wait for a verdict.", found.reported),
        "goblin_devices_online": ("Devices of volunteers seen just now.", found.devices),
        "goblin_labs_online": ("Lab nodes seen in the last minute.", found.labs),
        "goblin_jobs_open": ("Jobs that are neither paused nor closed.", found.jobs),
    }
    if found.silence is not None:
        shown["goblin_scheduler_silence_seconds"] = (
            "Seconds since the scheduler's last sign of life.",
            found.silence,
        )
    return shown


def scheduler_fact() -> dict[str, float | None]:
    """For `/readyz`: seconds since the scheduler's last sign of life; none if there never was."""
    found = row(
        "SELECT extract(epoch FROM now() - beat)::float8 AS silence"
        " FROM workunits_heartbeat WHERE name = 'scheduler'"
    )
    return {"silent_s": None if found is None else round(max(0.0, found.silence), 1)}
