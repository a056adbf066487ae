"""Where a run stands, as it is stored; what people see is worked out in `states`."""

from __future__ import annotations

from enum import StrEnum


class Phase(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    """Stopped with a reason; goes on once that is mended."""
    DONE = "done"
    FAILED = "failed"
    CANCELLING = "cancelling"
    """The site still has open leases of it."""
    CANCELLED = "cancelled"


FINISHED = frozenset({Phase.DONE, Phase.FAILED, Phase.CANCELLED})


class UnitPhase(StrEnum):
    PLANNED = "planned"
    READY = "ready"
    """Its panels are hashed; the site is not told yet."""
    REGISTERED = "registered"
    VERIFIED = "verified"


class LeasePhase(StrEnum):
    OPEN = "open"
    EXPIRED = "expired"
    """Its time ran out; a result may still come."""
    RECEIVED = "received"
    """All bytes are here and have the announced digest."""
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    REISSUED = "reissued"
    ENDED = "ended"
    """The site ended it: nothing more is read or taken for it."""


WORKING = frozenset({LeasePhase.OPEN, LeasePhase.EXPIRED})
JUDGED = frozenset({LeasePhase.ACCEPTED, LeasePhase.REJECTED, LeasePhase.REISSUED})
