"""Every state that has a name between machines, and the moves between them."""

from __future__ import annotations

from enum import StrEnum


class UnitState(StrEnum):
    OPEN = "open"
    LEASED = "leased"
    REPORTED = "reported"
    ACCEPTED = "accepted"
    QUARANTINED = "quarantined"
    CANCELLED = "cancelled"


class LeaseState(StrEnum):
    OPEN = "open"
    EXPIRED = "expired"
    """Its time ran out; a report may still come."""
    REPORTED = "reported"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    RETURNED = "returned"
    """Handed back by the client; nobody is blamed."""
    SUPERSEDED = "superseded"
    """Another lease of the same account on the unit took its place, or the unit was decided."""
    LAPSED = "lapsed"
    """Reported, but no verdict came for 7 days."""
    ENDED = "ended"
    """The job was cancelled or the unit withdrawn."""


class LeaseRole(StrEnum):
    COMPUTE = "compute"
    VERIFY = "verify"
    SPOT = "spot"


class JobState(StrEnum):
    PLANNING = "planning"
    WAITING = "waiting"
    RUNNING = "running"
    VERIFYING = "verifying"
    DONE = "done"
    FAILED = "failed"
    CANCELLING = "cancelling"
    CANCELLED = "cancelled"
    PAUSED = "paused"


class RequestState(StrEnum):
    DRAFT = "draft"
    SUBMITTED = "submitted"
    INFO_ASKED = "info_asked"
    APPROVED = "approved"
    DECLINED = "declined"
    WITHDRAWN = "withdrawn"
    REVOKED = "revoked"


class WorkState(StrEnum):
    """A unit as its client sees it."""

    LEASED = "leased"
    FETCHING = "fetching"
    READY = "ready"
    COMPUTING = "computing"
    UPLOADING = "uploading"
    REPORTED = "reported"
    SETTLED = "settled"


class Activity(StrEnum):
    """What a client says of itself."""

    RUNNING = "running"
    PAUSED = "paused"
    """Its person paused it; it takes no units and says so once."""
    STOPPING = "stopping"
    """Its last message before it ends."""


class SignInState(StrEnum):
    PENDING = "pending"
    CONFIRMED = "confirmed"
    DENIED = "denied"
    EXPIRED = "expired"
    USED = "used"


class Policy(StrEnum):
    CHECK = "check"
    RECOMPUTE = "recompute"
    COMPARE = "compare"


class Grade(StrEnum):
    STANDARD = "standard"
    FULL = "full"


class VerdictKind(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    """Wrong beyond a provable bound, or not what was asked for: counts against the account."""
    REISSUED = "reissued"
    """Not used, nobody is blamed; another lease goes out."""


UNIT_MOVES: dict[UnitState, frozenset[UnitState]] = {
    UnitState.OPEN: frozenset(
        {
            UnitState.LEASED,
            UnitState.QUARANTINED,
            UnitState.CANCELLED,
            UnitState.REPORTED,
            UnitState.ACCEPTED,
        }
    ),
    UnitState.LEASED: frozenset(
        {
            UnitState.OPEN,
            UnitState.REPORTED,
            UnitState.ACCEPTED,
            UnitState.QUARANTINED,
            UnitState.CANCELLED,
        }
    ),
    UnitState.REPORTED: frozenset(
        {
            UnitState.ACCEPTED,
            UnitState.OPEN,
            UnitState.LEASED,
            UnitState.QUARANTINED,
            UnitState.CANCELLED,
        }
    ),
    UnitState.ACCEPTED: frozenset(),
    UnitState.QUARANTINED: frozenset({UnitState.OPEN, UnitState.CANCELLED, UnitState.ACCEPTED}),
    UnitState.CANCELLED: frozenset(),
}
"""Quarantined -> open is the operator's release; -> accepted a late verified report."""

LEASE_MOVES: dict[LeaseState, frozenset[LeaseState]] = {
    LeaseState.OPEN: frozenset(LeaseState) - {LeaseState.OPEN, LeaseState.LAPSED},
    LeaseState.EXPIRED: frozenset(
        {
            LeaseState.REPORTED,
            LeaseState.ACCEPTED,
            LeaseState.REJECTED,
            LeaseState.SUPERSEDED,
            LeaseState.RETURNED,
            LeaseState.ENDED,
        }
    ),
    LeaseState.REPORTED: frozenset(
        {
            LeaseState.ACCEPTED,
            LeaseState.REJECTED,
            LeaseState.SUPERSEDED,
            LeaseState.RETURNED,
            LeaseState.LAPSED,
            LeaseState.ENDED,
        }
    ),
    LeaseState.ACCEPTED: frozenset(),
    LeaseState.REJECTED: frozenset(),
    LeaseState.RETURNED: frozenset(),
    LeaseState.SUPERSEDED: frozenset(),
    LeaseState.LAPSED: frozenset(),
    LeaseState.ENDED: frozenset(),
}

JOB_MOVES: dict[JobState, frozenset[JobState]] = {
    JobState.PLANNING: frozenset(
        {
            JobState.WAITING,
            JobState.RUNNING,
            JobState.VERIFYING,
            JobState.DONE,
            JobState.FAILED,
            JobState.CANCELLING,
            JobState.CANCELLED,
            JobState.PAUSED,
        }
    ),
    JobState.WAITING: frozenset(
        {
            JobState.RUNNING,
            JobState.VERIFYING,
            JobState.DONE,
            JobState.FAILED,
            JobState.CANCELLING,
            JobState.CANCELLED,
            JobState.PAUSED,
        }
    ),
    JobState.RUNNING: frozenset(
        {
            JobState.WAITING,
            JobState.VERIFYING,
            JobState.DONE,
            JobState.FAILED,
            JobState.CANCELLING,
            JobState.CANCELLED,
            JobState.PAUSED,
        }
    ),
    JobState.VERIFYING: frozenset(
        {
            JobState.RUNNING,
            JobState.WAITING,
            JobState.DONE,
            JobState.FAILED,
            JobState.CANCELLING,
            JobState.CANCELLED,
            JobState.PAUSED,
        }
    ),
    JobState.PAUSED: frozenset(
        {
            JobState.PLANNING,
            JobState.WAITING,
            JobState.RUNNING,
            JobState.VERIFYING,
            JobState.FAILED,
            JobState.CANCELLING,
            JobState.CANCELLED,
        }
    ),
    JobState.CANCELLING: frozenset({JobState.CANCELLED}),
    JobState.DONE: frozenset(),
    JobState.FAILED: frozenset(),
    JobState.CANCELLED: frozenset(),
}

FINISHED_JOBS = frozenset({JobState.DONE, JobState.FAILED, JobState.CANCELLED})

REQUEST_MOVES: dict[RequestState, frozenset[RequestState]] = {
    RequestState.DRAFT: frozenset({RequestState.SUBMITTED, RequestState.WITHDRAWN}),
    RequestState.SUBMITTED: frozenset(
        {
            RequestState.INFO_ASKED,
            RequestState.APPROVED,
            RequestState.DECLINED,
            RequestState.WITHDRAWN,
        }
    ),
    RequestState.INFO_ASKED: frozenset(
        {RequestState.SUBMITTED, RequestState.DECLINED, RequestState.WITHDRAWN}
    ),
    RequestState.APPROVED: frozenset({RequestState.REVOKED}),
    RequestState.DECLINED: frozenset(),
    RequestState.WITHDRAWN: frozenset(),
    RequestState.REVOKED: frozenset(),
}

SIGN_IN_MOVES: dict[SignInState, frozenset[SignInState]] = {
    SignInState.PENDING: frozenset(
        {SignInState.CONFIRMED, SignInState.DENIED, SignInState.EXPIRED}
    ),
    SignInState.CONFIRMED: frozenset({SignInState.USED, SignInState.EXPIRED}),
    SignInState.DENIED: frozenset(),
    SignInState.EXPIRED: frozenset(),
    SignInState.USED: frozenset(),
}
