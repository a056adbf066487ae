"""A scheduler that is driven by hand: a list of events in, what it wants done out."""

from __future__ import annotations

import itertools
from typing import Any

from goblin_client.scheduling import events
from goblin_client.scheduling.events import Failure, Trouble
from goblin_client.scheduling.scheduler import Scheduler
from goblin_client.store import KeptResult
from goblin_wire.exchange import (
    ExchangeReply,
    LabAddress,
    Lease,
)

LABS = ["1" * 32, "2" * 32]
OFFLINE = Failure(Trouble.ENDPOINT, "unreachable", "The lab is away.")


def lease(number: int, *, lab: int = 0, device: str = "cpu", seconds: float = 60.0) -> Lease:
    return Lease(
        lease=f"{number:032x}",
        unit=f"{number:032x}",
        device=device,
        seconds=seconds,
        flops=1000,
        memory=100,
        input_bytes=50,
        output_bytes=20,
        lab=LabAddress(lab=LABS[lab], endpoint="https://lab.example"),
        capability="c.s",
    )


def result(of: Lease) -> KeptResult:
    return KeptResult(lease=of, digests=["d" * 64], sizes=[20], seconds=0.5, made=0.0)


class Driver:
    """Feeds a scheduler and keeps what it wants done."""

    def __init__(self, *devices: str) -> None:
        numbers = itertools.count()
        self.scheduler = Scheduler(
            "a" * 32, 0, devices or ("cpu",), nonce=lambda: f"{next(numbers):016x}"
        )
        self.now = 100.0
        self.done: list[Any] = []
        for device in devices or ("cpu",):
            self.tell(events.DeviceReady(device, 10_000, "class", 1e9))

    @property
    def state(self) -> Any:
        return self.scheduler.state

    def tell(self, event: Any, *, after: float = 0.0) -> list[Any]:
        self.now += after
        new = self.scheduler.handle(event, self.now)
        self.done += new
        return new

    def of(self, kind: type[Any]) -> list[Any]:
        return [action for action in self.done if isinstance(action, kind)]

    def reply(self, *leases: Lease, **members: Any) -> list[Any]:
        return self.tell(events.Replied(ExchangeReply(leases=list(leases), **members)))

    def fetched(self, of: Lease) -> list[Any]:
        self.tell(events.Admitted(of.lease, 2, 10))
        self.tell(events.Arrived(of.lease, 2, 50))
        return self.tell(events.FetchEnded(of.lease))

    def to_upload(self, of: Lease) -> list[Any]:
        self.fetched(of)
        return self.tell(events.Computed(of.device, result(of)))


def one(found: list[Any], kind: type[Any]) -> Any:
    (action,) = [each for each in found if isinstance(each, kind)]
    return action
