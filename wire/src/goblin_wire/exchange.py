"""What a volunteer's client and the site say to each other: one call, `POST /api/v1/exchange`."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct, field

from goblin_wire.fields import (
    Code,
    Count,
    Device,
    Digest,
    Flops,
    Id,
    Nonce,
    Seconds,
    Sentence,
    Share,
    ShortText,
    Size,
    Token,
    Url,
)
from goblin_wire.protocol import MAX_BATCH, MAX_HOLDING
from goblin_wire.states import Activity, LeaseRole

Batch = Meta(max_length=MAX_BATCH)
Devices = Meta(max_length=16)


class Holding(Struct, kw_only=True, omit_defaults=True):
    """A lease that the client works on; it is renewed while `progress` or `bytes_done` moves."""

    lease: Id
    progress: Share = 0.0
    bytes_done: Size = 0
    """Bytes downloaded and uploaded so far for this lease."""


class Returned(Struct, kw_only=True, omit_defaults=True):
    """A lease handed back; `code` says why (`shutting_down`, `cost_mismatch`, `bad_graph`,
    `memory`, `lab_unreachable`, `lease_ended` (the lab node said so first), `digest_mismatch`,
    `paused`, `failed`, `disk_full`, `capability_refused`, `client_failed`)."""

    lease: Id
    code: Code
    detail: Sentence = ""


class Done(Struct, kw_only=True, omit_defaults=True):
    """A finished lease whose outputs were uploaded to the lab node."""

    lease: Id
    outputs: Annotated[list[Digest], Meta(max_length=64)]
    bytes: Size
    seconds: Seconds = 0.0
    """Seconds of computation, for the estimate of the device's speed; never for credit."""
    capability: Token | None = None
    """Sent where the site answered `unknown_lease`: the site made the lease, then lost it."""


class Want(Struct, kw_only=True, omit_defaults=True):
    """What one device could take now."""

    device: Device
    units: Annotated[int, Meta(ge=0, le=MAX_BATCH)]
    seconds: Seconds
    """Seconds of work asked for at this device's speed."""
    memory: Size
    """Bytes that a unit may use."""
    catalogue: Count
    device_class: ShortText = ""
    """Probed numeric fingerprint and kind of the device."""
    flops_per_s: float = 0.0
    """Measured speed; the site clamps it, NaN and infinity included."""


class ExchangeRequest(Struct, kw_only=True, omit_defaults=True):
    protocol: int
    host: Id
    seq: Count
    nonce: Nonce
    version: ShortText = ""
    label: ShortText = ""
    """How its person called this machine at `join`; sent with the first message of a host id."""
    activity: Activity = Activity.RUNNING
    resumes_s: Seconds = 0.0
    """Of a paused client: seconds until it goes on by itself; 0 where its person has to say so."""
    holding: Annotated[list[Holding], Meta(max_length=MAX_HOLDING)] = field(default_factory=list)
    returned: Annotated[list[Returned], Batch] = field(default_factory=list)
    done: Annotated[list[Done], Batch] = field(default_factory=list)
    want: Annotated[list[Want], Devices] = field(default_factory=list)


class LabAddress(Struct, kw_only=True, omit_defaults=True):
    lab: Id
    endpoint: Url
    """Base URL of the data listener."""
    certificate: Digest | None = None
    """SHA-256 of the listener's certificate (DER); none only for plain HTTP to loopback."""


class Lease(Struct, kw_only=True, omit_defaults=True):
    lease: Id
    unit: Id
    device: Device
    role: LeaseRole = LeaseRole.COMPUTE
    seconds: Seconds
    """Time until the lease expires, unless it is renewed."""
    flops: Flops
    memory: Size
    input_bytes: Size
    output_bytes: Size
    lab: LabAddress
    capability: Token


class Ended(Struct, kw_only=True, omit_defaults=True):
    """A held lease that is over: stop working on it."""

    lease: Id
    code: Code
    reason: Sentence


class Settled(Struct, kw_only=True, omit_defaults=True):
    """The fate of a reported lease; the client may now forget the result."""

    lease: Id
    verdict: Code
    """A `VerdictKind`, or `superseded`, `lapsed`, `ended` where none is needed any more."""
    code: Code = "ok"
    reason: Sentence = ""
    flops: Flops = 0
    """Flops credited."""


class Unknown(Struct, kw_only=True, omit_defaults=True):
    """A lease in `done` that the site does not know: report it again with its capability."""

    lease: Id
    code: Code = "unknown_lease"


class ExchangeReply(Struct, kw_only=True, omit_defaults=True):
    leases: list[Lease] = field(default_factory=list)
    again: list[Lease] = field(default_factory=list)
    """Open leases of this host that it did not list."""
    ended: list[Ended] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)
    poll_after_ms: Count = 1000
    wait_url: Url = ""
    ticket: Token = ""
    notice: Sentence = ""
    """A sentence for the person in front of the machine; also why there is no work."""
    notice_code: Code = "ok"
