"""Ids: time-ordered ones for leases, and the short form that travels."""

from __future__ import annotations

import secrets
import time
from uuid import UUID

from gpugoblin_site.database.pipeline import uuid_of

_VERSION = 7 << 76
_VARIANT = 2 << 62


def uuid7() -> UUID:
    """A time-ordered random id (RFC 9562).

    Made here and not by a sequence of the database: a claim that is lost in a crash must never
    lead to the same id again.
    """
    stamp = time.time_ns() // 1_000_000
    random = secrets.randbits(74)
    high = (random >> 62) & 0xFFF
    low = random & ((1 << 62) - 1)
    return uuid_of(stamp << 80 | _VERSION | high << 64 | _VARIANT | low)


def uuids(ids: list[str]) -> list[UUID]:
    """Ids as they travel (32 hexadecimal characters) to what the database takes."""
    return [uuid_of(int(each, 16)) for each in ids]
