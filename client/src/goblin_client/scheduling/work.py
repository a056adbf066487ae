"""What the scheduler remembers: units, devices, and how each endpoint has behaved."""

from __future__ import annotations

from dataclasses import dataclass, field

from goblin_client.store import KeptResult
from goblin_wire.backoff import Backoff
from goblin_wire.exchange import Holding, Lease
from goblin_wire.states import WorkState

QUEUED = frozenset({WorkState.LEASED, WorkState.FETCHING, WorkState.READY, WorkState.COMPUTING})
"""States in which a unit still needs its device."""
FETCHED_SHARE, COMPUTED_SHARE = 0.3, 0.6
"""How much of a unit's progress its download and its computation count for."""


@dataclass
class Work:
    """A unit on this machine. Times are seconds of the scheduler's clock."""

    lease: Lease
    order: int
    since: float
    listed_at: float
    state: WorkState = WorkState.LEASED
    blobs: int = 0
    """Inputs; known once the unit is admitted."""
    arrived: int = 0
    fetched: bool = False
    share: float = 0.0
    """Of the computation."""
    input_moved: int = 0
    output_moved: int = 0
    fetch_failures: int = 0
    crashes: int = 0
    result: KeptResult | None = None
    afresh: bool = False
    damages: int = 0
    upload_failures: int = 0
    told_at: float | None = None
    """When the site was last told that it is done."""
    unknown: bool = False
    """The site does not know the lease: our report needs its capability."""
    unlisted: bool = False
    """Left out of `holding`, so that the site gives a new capability in `again`."""

    @property
    def id(self) -> str:
        return self.lease.lease

    @property
    def lab(self) -> str:
        return self.lease.lab.lab

    @property
    def is_queued(self) -> bool:
        return self.state in QUEUED

    @property
    def can_begin(self) -> bool:
        """Whether enough is here to start: further inputs arrive during the arithmetic."""
        some_arrived = self.blobs > 0 and self.arrived >= min(2, self.blobs)
        return self.fetched or (self.state is WorkState.FETCHING and some_arrived)

    def begin_again(self) -> None:
        """Back to fetching: inputs that were used already may be gone from the cache."""
        self.state, self.fetched, self.arrived, self.share = WorkState.FETCHING, False, 0, 0.0

    def finish(self, result: KeptResult) -> None:
        """The outputs are on disk."""
        result.lease = self.lease
        self.result, self.state, self.fetched = result, WorkState.UPLOADING, True

    def renew(self, lease: Lease) -> None:
        """The site told the lease again, with a new capability. That does not renew it."""
        self.lease, self.unlisted = lease, False
        self.upload_failures = 0
        if self.result is not None:
            self.result.lease = lease

    def holding(self) -> Holding:
        fetched = 1.0 if self.fetched else self.arrived / max(1, self.blobs)
        computed = 1.0 if self.result else self.share
        return Holding(
            lease=self.id,
            progress=min(1.0, FETCHED_SHARE * fetched + COMPUTED_SHARE * computed),
            bytes_done=self.input_moved + self.output_moved,
        )


@dataclass
class Device:
    """A device that computes. `running`: what its process was given, the first one in work."""

    name: str
    ready: bool = False
    memory: int = 0
    device_class: str = ""
    flops_per_s: float = 0.0
    running: list[str] = field(default_factory=list)
    refused: str = ""
    restart_at: float | None = None
    backoff: Backoff = field(default_factory=lambda: Backoff(first=0.5, longest=120.0))
    unit_seconds: float | None = None
    """Moving average of a unit's computation."""
    short_since: float | None = None
    """Since when fewer units are queued than wished."""

    def took(self, seconds: float) -> None:
        known = self.unit_seconds
        self.unit_seconds = seconds if known is None else 0.7 * known + 0.3 * seconds


@dataclass
class Endpoint:
    """How one endpoint has behaved: many failures at once are one step of its backoff."""

    backoff: Backoff = field(default_factory=Backoff)
    ready_at: float = 0.0

    def is_open(self, now: float) -> bool:
        return now >= self.ready_at

    def failed(self, now: float, retry_after: float | None = None) -> None:
        if self.is_open(now):
            self.ready_at = now + self.backoff.failed(retry_after)
        elif retry_after is not None:
            self.ready_at = max(self.ready_at, now + retry_after)

    def succeeded(self) -> None:
        self.backoff.succeeded()
