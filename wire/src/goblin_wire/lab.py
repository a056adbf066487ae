"""What a lab node and the site say to each other (`/api/v1/lab/...`, token of scope `lab`)."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from goblin_wire.fields import (
    Code,
    Count,
    Digest,
    Flops,
    Id,
    Rate,
    Seconds,
    Sentence,
    ShortText,
    Size,
    Token,
    Url,
)
from goblin_wire.protocol import MAX_BATCH, MAX_UNITS_PER_REGISTRATION
from goblin_wire.states import Grade, LeaseState, Policy, UnitState, VerdictKind

Key = Annotated[str, Meta(pattern=r"^[0-9a-f]{64}(?!\n)$")]
"""A raw Ed25519 public key in hexadecimal."""


class LabHello(Struct, kw_only=True, omit_defaults=True):
    """`POST hello`: at start and whenever something of it changes."""

    protocol: int
    version: ShortText = ""
    public_key: Key
    endpoint: Url
    certificate: Digest | None = None


class SiteKey(Struct, kw_only=True):
    """A public key with which the site signs capabilities."""

    kid: Annotated[str, Meta(max_length=32)]
    key: Key


class NetworkSnapshot(Struct, kw_only=True, omit_defaults=True):
    """The network as it is now, seen from this lab. Memory and speeds are per device."""

    devices: Count = 0
    memory_low: Size = 0
    """10th percentile of the memory that devices give to a unit."""
    memory_median: Size = 0
    flops_low: Rate = 0.0
    flops_median: Rate = 0.0
    last_seen_s: Seconds | None = None
    """Seconds since any device was seen; none if never."""


class Reachability(Struct, kw_only=True, omit_defaults=True):
    """What the site's probe of the lab's endpoint said last."""

    reachable: bool = False
    code: Code = "not_probed"
    reason: Sentence = ""


class LabWelcome(Struct, kw_only=True, omit_defaults=True):
    lab: Id
    epoch: ShortText
    site_keys: list[SiteKey]
    site_seconds: float
    """The site's clock, Unix seconds."""
    network: NetworkSnapshot
    reachability: Reachability
    flops_left_today: Flops = 0


class JobRegistration(Struct, kw_only=True, omit_defaults=True):
    """`POST jobs`. Names and paths stay in the lab; the site learns sizes only."""

    job: Id
    kind: Annotated[str, Meta(pattern=r"^[a-z0-9_]{1,32}(?!\n)$")]
    units: Count
    flops: Flops
    grade: Grade = Grade.STANDARD


class UnitRegistration(Struct, kw_only=True, omit_defaults=True):
    unit: Id
    index: Count
    manifest: Digest
    """BLAKE3 of the manifest's bytes."""
    flops: Flops
    memory: Size
    input_bytes: Size
    output_bytes: Size
    policy: Policy = Policy.CHECK
    catalogue: Count = 1
    copies: Annotated[int, Meta(ge=1, le=8)] = 1
    """Results that must agree or be verified before the unit is accepted."""


class UnitBatch(Struct, kw_only=True):
    """`POST jobs/JOB/units`: idempotent; the same id with other content is a `conflict`."""

    units: Annotated[list[UnitRegistration], Meta(max_length=MAX_UNITS_PER_REGISTRATION)]


class JobAction(Struct, kw_only=True, omit_defaults=True):
    """`POST jobs/JOB/action`: `pause`, `resume`, `cancel` or `finish`."""

    action: Annotated[str, Meta(pattern=r"^(pause|resume|cancel|finish)(?!\n)$")]
    code: Code = "ok"
    reason: Sentence = ""


class JobStatus(Struct, kw_only=True, omit_defaults=True):
    """`GET jobs/JOB`, and the answer to each registration and action."""

    job: Id
    state: Annotated[str, Meta(max_length=32)]
    """`open`, `paused`, `cancelled` or `finished`."""
    code: Code = "ok"
    reason: Sentence = ""
    units: Count = 0
    """Units registered."""
    open: Count = 0
    leased: Count = 0
    reported: Count = 0
    accepted: Count = 0
    quarantined: Count = 0
    open_leases: Count = 0


class Window(Struct, kw_only=True):
    """The most that the lab wants in flight at once, over all its jobs."""

    units: Count
    bytes: Size


class EventsRequest(Struct, kw_only=True, omit_defaults=True):
    """`POST events`: read what happened after `cursor`."""

    protocol: int
    cursor: Annotated[str, Meta(max_length=120)] = ""
    """Empty at first; later what the last reply said. It holds the site's epoch."""
    window: Window
    limit: Annotated[int, Meta(ge=1, le=1000)] = 500


class LabEvent(Struct, kw_only=True, omit_defaults=True):
    """Kinds: `leased`, `reported`, `returned`, `expired`, `superseded`, `accepted`,
    `quarantined`, `released`, `job_paused`, `job_resumed`."""

    kind: Code
    job: Id
    unit: Id | None = None
    lease: Id | None = None
    code: Code = "ok"
    reason: Sentence = ""
    outputs: list[Digest] = field(default_factory=list)
    volunteer: ShortText = ""
    """Pseudonym of the account, different for each lab."""
    device_class: ShortText = ""


class EventsReply(Struct, kw_only=True, omit_defaults=True):
    events: list[LabEvent] = field(default_factory=list)
    cursor: str = ""
    reset: bool = False
    """The site lost events (restored from a backup): register unfinished units and verdicts
    again."""
    site_seconds: float = 0.0
    network: NetworkSnapshot = field(default_factory=NetworkSnapshot)
    reachability: Reachability = field(default_factory=Reachability)
    site_keys: list[SiteKey] = field(default_factory=list)
    flops_left_today: Flops = 0
    poll_after_ms: Count = 1000
    wait_url: Url = ""
    ticket: Token = ""
    notice: Sentence = ""


class Verdict(Struct, kw_only=True, omit_defaults=True):
    """What the lab found about one lease's outputs."""

    lease: Id
    unit: Id
    verdict: VerdictKind
    outputs: Annotated[list[Digest], Meta(max_length=64)]
    code: Code = "ok"
    reason: Sentence = ""
    policy: Policy = Policy.CHECK
    residual: float | None = None
    """Largest residual over its scale; filled once the check vectors are retired."""
    repaired_rows: Count = 0
    capability: Token | None = None
    """Sent where the site answered `unknown_lease` for this verdict."""


class VerdictBatch(Struct, kw_only=True):
    """`POST verdicts`. The request carries `Goblin-Signature`: the lab's Ed25519 signature over
    the body's bytes."""

    protocol: int
    verdicts: Annotated[list[Verdict], Meta(max_length=MAX_BATCH)]


class VerdictOutcome(Struct, kw_only=True, omit_defaults=True):
    lease: Id
    state: LeaseState | None = None
    """None where the site does not know the lease: send the verdict with its capability."""
    unit_state: UnitState | None = None
    code: Code = "ok"


class VerdictReply(Struct, kw_only=True):
    outcomes: list[VerdictOutcome]
