"""What the scheduler wants done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from goblin_client.store import KeptResult
from goblin_wire.exchange import ExchangeRequest, Lease


@dataclass(frozen=True)
class Send:
    """Remember the message's number, then send it to the site; answer `Replied`/`NotReplied`."""

    request: ExchangeRequest


@dataclass(frozen=True)
class AwaitWork:
    """Ask the waiting address; answer `Waited`."""

    url: str
    ticket: str


@dataclass(frozen=True)
class TakeNewHost:
    """Our host id belongs to somebody else too: `Scheduler.renamed` tells the new one."""


@dataclass(frozen=True)
class Fetch:
    """Get what the unit reads; answer `Admitted`, `Arrived`..., `FetchEnded`."""

    lease: Lease
    memory: int


@dataclass(frozen=True)
class Compute:
    """Hand the unit to a device; its first `blobs` inputs are here."""

    device: str
    lease: Lease
    blobs: int


@dataclass(frozen=True)
class Feed:
    """Tell a device that more inputs of a unit that it computes are here."""

    device: str
    lease: str
    blobs: int


@dataclass(frozen=True)
class CancelCompute:
    device: str
    lease: str


@dataclass(frozen=True)
class StartDevice:
    """Start the computing process again; answer `DeviceReady`."""

    device: str


@dataclass(frozen=True)
class Keep:
    """Make a result survive."""

    result: KeptResult
    uploaded: bool


@dataclass(frozen=True)
class Upload:
    """Send the outputs; `afresh` from their first byte. Answer `UploadMoved`..., `UploadEnded`."""

    result: KeptResult
    afresh: bool


@dataclass(frozen=True)
class Forget:
    """The lease is over: remove what we keep of it, and remember how it ended."""

    lease: str
    lab: str
    verdict: str
    code: str
    reason: str
    flops: int


@dataclass(frozen=True)
class Notice:
    """A sentence for the person at this machine."""

    text: str


@dataclass(frozen=True)
class Exit:
    """Nothing more to do; `refused` where the site does not accept us.

    `removed`: its person removed this machine there, so nothing of it is kept here either.
    """

    refused: str = ""
    removed: bool = False


Action: TypeAlias = (
    Send
    | AwaitWork
    | TakeNewHost
    | Fetch
    | Compute
    | Feed
    | CancelCompute
    | StartDevice
    | Keep
    | Upload
    | Forget
    | Notice
    | Exit
)
