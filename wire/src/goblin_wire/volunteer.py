"""What a volunteer's client shows its person (`GET /api/v1/volunteer/status`)."""

from __future__ import annotations

from msgspec import Struct, field

from goblin_wire.fields import Code, Count, Id, Seconds, Sentence, ShortText


class HostStatus(Struct, kw_only=True, omit_defaults=True):
    """One state directory of the account."""

    host: Id
    version: ShortText = ""
    last_seen_s: Seconds = 0.0
    """Seconds since it was heard of."""
    open: Count = 0
    """Units it has in hand."""
    reported: Count = 0
    """Units reported and not yet verified."""
    accepted: Count = 0
    rejected: Count = 0


class Refusal(Struct, kw_only=True, omit_defaults=True):
    """A result that was not used, or a lease that came to nothing."""

    lease: Id
    state: Code
    code: Code
    reason: Sentence = ""
    age_s: Seconds = 0.0
    """Seconds since the lease began."""


class VolunteerStatus(Struct, kw_only=True, omit_defaults=True):
    accepted: Count = 0
    rejected: Count = 0
    flops: float = 0.0
    """Verified flops credited to the account."""
    hosts: list[HostStatus] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    """The newest first."""
