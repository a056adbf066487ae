"""The network's figures, as labs plan with them."""

from __future__ import annotations

import time
from threading import Lock

from goblin_wire.lab import NetworkSnapshot
from workunits import limits
from workunits.database import row

FRESH_S = 0.25
SHARE = 20
"""The figures are kept for so many times what they cost, so that they never cost much."""

_FIGURES = f"""
SELECT count(*) AS devices,
       percentile_disc(0.1) WITHIN GROUP (ORDER BY memory) AS memory_low,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY memory) AS memory_median,
       percentile_disc(0.1) WITHIN GROUP (ORDER BY flops_per_s) AS flops_low,
       percentile_disc(0.5) WITHIN GROUP (ORDER BY flops_per_s) AS flops_median,
       (SELECT extract(epoch FROM now() - max(last_seen))::float8 FROM workunits_device) AS seen
FROM workunits_device WHERE last_seen > now() - make_interval(secs => {limits.ONLINE_S})"""  # noqa: S608

_lock = Lock()
_latest: tuple[float, NetworkSnapshot] | None = None
"""Until when (monotonic seconds) it is fresh, and the figures."""


def network() -> NetworkSnapshot:
    """Devices that were seen just now; a fraction of a second old, more where they are many."""
    global _latest
    with _lock:
        latest = _latest
    started = time.monotonic()
    if latest is not None and started < latest[0]:
        return latest[1]
    snapshot = measure()
    now = time.monotonic()
    with _lock:
        _latest = (now + max(FRESH_S, SHARE * (now - started)), snapshot)
    return snapshot


def measure() -> NetworkSnapshot:
    """The figures as they are now."""
    found = row(_FIGURES)
    assert found is not None  # noqa: S101 - an aggregate always gives a row
    return NetworkSnapshot(
        devices=found.devices,
        memory_low=found.memory_low or 0,
        memory_median=found.memory_median or 0,
        flops_low=found.flops_low or 0.0,
        flops_median=found.flops_median or 0.0,
        last_seen_s=None if found.seen is None else max(0.0, found.seen),
    )
