"""What the scheduler is told."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from goblin_client.store import KeptResult
from goblin_wire.exchange import ExchangeReply


class Trouble(StrEnum):
    """What a failed transfer means."""

    ENDPOINT = "endpoint"
    """The other end does not answer as it should: wait, try again."""
    UNIT = "unit"
    """The unit is not one that we compute: hand it back."""
    ENDED = "ended"
    """The lab takes nothing more for this lease."""
    CAPABILITY = "capability"
    """The lab does not accept the capability: the site has to give a new one."""
    DAMAGED = "damaged"
    """What arrived is not what was announced; from the start again."""


@dataclass(frozen=True)
class Failure:
    trouble: Trouble
    code: str
    detail: str
    retry_after: float | None = None


@dataclass(frozen=True)
class Replied:
    reply: ExchangeReply


@dataclass(frozen=True)
class NotReplied:
    code: str
    detail: str
    retry_after: float | None = None


@dataclass(frozen=True)
class Waited:
    """The waiting request ended; `failed` when not by the site's word."""

    failed: bool


@dataclass(frozen=True)
class Admitted:
    """The unit is one that we compute; `blobs` of them fill its placeholders."""

    lease: str
    blobs: int
    bytes: int


@dataclass(frozen=True)
class Arrived:
    """The first `blobs` inputs are here."""

    lease: str
    blobs: int
    bytes: int


@dataclass(frozen=True)
class FetchEnded:
    """All inputs are here, or why not."""

    lease: str
    failure: Failure | None = None


@dataclass(frozen=True)
class DeviceReady:
    device: str
    memory: int
    device_class: str
    flops_per_s: float


@dataclass(frozen=True)
class DeviceLost:
    """A computing process ended. `code` is `memory` where the system killed it for that."""

    device: str
    code: str
    detail: str


@dataclass(frozen=True)
class DeviceRefused:
    """A device that does not count, and why."""

    device: str
    detail: str


@dataclass(frozen=True)
class Progressed:
    device: str
    lease: str
    share: float


@dataclass(frozen=True)
class Computed:
    device: str
    result: KeptResult


@dataclass(frozen=True)
class ComputeFailed:
    device: str
    lease: str
    code: str
    detail: str


@dataclass(frozen=True)
class UploadMoved:
    lease: str
    bytes: int


@dataclass(frozen=True)
class UploadEnded:
    lease: str
    failure: Failure | None = None


@dataclass(frozen=True)
class PauseAsked:
    """`until`: seconds of the scheduler's clock, or none for "until resumed"."""

    until: float | None


@dataclass(frozen=True)
class ResumeAsked:
    pass


@dataclass(frozen=True)
class StopAsked:
    pass


@dataclass(frozen=True)
class Ticked:
    """Time has passed."""


Event: TypeAlias = (
    Replied
    | NotReplied
    | Waited
    | Admitted
    | Arrived
    | FetchEnded
    | DeviceReady
    | DeviceLost
    | DeviceRefused
    | Progressed
    | Computed
    | ComputeFailed
    | UploadMoved
    | UploadEnded
    | PauseAsked
    | ResumeAsked
    | StopAsked
    | Ticked
)
