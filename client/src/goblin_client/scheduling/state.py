"""All that the scheduler remembers between two events, and the small changes of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from goblin_client.scheduling import actions
from goblin_client.scheduling.actions import Action
from goblin_client.scheduling.conversation import Conversation
from goblin_client.scheduling.work import Device, Endpoint, Work
from goblin_wire.exchange import Lease, Returned
from goblin_wire.fields import sentence
from goblin_wire.states import WorkState

NEVER = float("inf")
SILENT_RETURNS = frozenset({"shutting_down", "paused"})
"""Codes of leases handed back that need not be shown to the person: it was the person's wish."""


@dataclass
class State:
    """`now`, `todo` and `wake` belong to the event that is being handled; seconds."""

    talk: Conversation
    devices: dict[str, Device]
    works: dict[str, Work] = field(default_factory=dict)
    site: Endpoint = field(default_factory=Endpoint)
    labs: dict[str, Endpoint] = field(default_factory=dict)
    fetching: dict[str, str] = field(default_factory=dict)
    """Lab -> the lease that is being fetched from it."""
    uploading: dict[str, str] = field(default_factory=dict)
    paused_until: float | None = None
    stopping_since: float | None = None
    notice: str = ""
    trouble: str = ""
    """Why the site does not answer, if it doesn't."""
    over: bool = False
    orders: int = 0
    now: float = 0.0
    todo: list[Action] = field(default_factory=list)
    wake: float = NEVER

    # --- asking ----------------------------------------------------------------------------------
    def lab(self, lab: str) -> Endpoint:
        return self.labs.setdefault(lab, Endpoint())

    def queue(self, device: str) -> list[Work]:
        """The units that the device has yet to finish, oldest first."""
        return [
            work for work in self.works.values() if work.is_queued and work.lease.device == device
        ]

    def unfinished(self) -> list[Work]:
        return [work for work in self.works.values() if work.is_queued]

    @property
    def kept_bytes(self) -> int:
        """Bytes of results on disk."""
        return sum(sum(work.result.sizes) for work in self.works.values() if work.result)

    def any_in(self, state: WorkState) -> bool:
        return any(work.state is state for work in self.works.values())

    # --- changing --------------------------------------------------------------------------------
    def do(self, action: Action) -> None:
        self.todo.append(action)

    def wake_by(self, when: float) -> None:
        self.wake = min(self.wake, when)

    def add(self, lease: Lease) -> Work:
        self.orders += 1
        work = Work(lease, self.orders, since=self.now, listed_at=self.now)
        self.works[work.id] = work
        return work

    def hand_back(self, work: Work, code: str, detail: str) -> None:
        """Return the lease to the site."""
        detail = sentence(detail)
        self._drop(work)
        self.talk.returned.append(Returned(lease=work.id, code=code, detail=detail))
        if code not in SILENT_RETURNS:
            self.do(actions.Forget(work.id, work.lab, "returned", code, detail, 0))

    def hand_back_all(self, works: Iterable[Work], code: str, detail: str) -> None:
        for work in list(works):
            self.hand_back(work, code, detail)

    def forget(self, lease: str, verdict: str, code: str, reason: str, flops: int = 0) -> None:
        """The lease is over; nothing of it is kept."""
        if work := self.works.get(lease):
            self._drop(work)
            self.do(actions.Forget(lease, work.lab, verdict, code, reason, flops))

    def _drop(self, work: Work) -> None:
        self.stop_computing(work)
        self.works.pop(work.id, None)

    def stop_computing(self, work: Work) -> None:
        device = self.devices.get(work.lease.device)
        if device is not None and work.id in device.running:
            device.running.remove(work.id)
            self.do(actions.CancelCompute(device.name, work.id))

    def requeue(self, device: Device) -> None:
        """What the device's process was given has to be given again."""
        for lease in device.running:
            if work := self.works.get(lease):
                work.begin_again()
        device.running = []
