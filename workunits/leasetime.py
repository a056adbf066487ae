"""How long a lease lasts, and what of a device's claims about itself is believed."""

from __future__ import annotations

import math

from workunits import limits


def clamped_speed(flops_per_s: float) -> float:
    """A device's speed in flops per second: 0, NaN and infinity become a plausible figure."""
    if not math.isfinite(flops_per_s) or flops_per_s <= 0:
        return limits.UNMEASURED_DEVICE
    return min(max(flops_per_s, limits.SLOWEST_DEVICE), limits.FASTEST_DEVICE)


def compute_seconds(flops: int, flops_per_s: float) -> float:
    """Seconds of computation that a unit is worth on a device."""
    return flops / clamped_speed(flops_per_s)


def lease_seconds(flops: int, transfer_bytes: int, flops_per_s: float) -> float:
    """Seconds until a lease expires unless it is renewed."""
    computing = limits.SLOWDOWN * compute_seconds(flops, flops_per_s)
    transfer = transfer_bytes / limits.SLOWEST_TRANSFER
    seconds = limits.LEASE_MARGIN_S + computing + transfer
    return min(max(seconds, limits.LEAST_LEASE_S), limits.LONGEST_LEASE_S)


def pause_seconds(failed_in_row: int) -> float:
    """How long to wait after the last of so many leases in a row that came to nothing."""
    beyond = failed_in_row - limits.PATIENCE
    if beyond < 0:
        return 0.0
    return min(limits.FIRST_PAUSE_S * 2.0 ** min(beyond, 30), limits.LONGEST_PAUSE_S)


def failures_sql(before: str, more: str) -> str:
    """The count of failures in a row after `more` that came together (SQL expressions).

    What comes together has one cause, such as a machine that was switched off with many leases: it
    leads to the first pause at most, or to the next one, and not to a day.
    """
    together = f"greatest(least({before} + {more}, {limits.PATIENCE}), {before} + 1)"
    return f"CASE WHEN {more} > 0 THEN {together} ELSE {before} END"
