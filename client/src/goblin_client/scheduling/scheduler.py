"""The scheduler: it hears events and answers with actions. It has no clock, socket or disk."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable

from goblin_client.scheduling.actions import Action
from goblin_client.scheduling.conversation import Conversation
from goblin_client.scheduling.deciding import decide
from goblin_client.scheduling.events import Event
from goblin_client.scheduling.hearing import hear
from goblin_client.scheduling.state import State
from goblin_client.scheduling.work import Device
from goblin_client.store import KeptResult
from goblin_wire.states import WorkState


class Scheduler:
    """One host. `handle` takes an event and the time and returns what is to be done."""

    def __init__(
        self,
        host: str,
        seq: int,
        devices: Iterable[str],
        *,
        label: str = "",
        nonce: Callable[[], str] = lambda: secrets.token_hex(8),
    ) -> None:
        talk = Conversation(host, seq, nonce, label)
        self.state = State(talk, {name: Device(name) for name in devices})

    def restore(self, result: KeptResult, *, uploaded: bool, since: float, now: float) -> None:
        """Go on with a result of an earlier process, made at `since`."""
        self.state.now = now
        work = self.state.add(result.lease)
        work.since, work.result, work.fetched = since, result, True
        work.state = WorkState.REPORTED if uploaded else WorkState.UPLOADING

    def renamed(self, host: str) -> None:
        """We are another host from now on; its leases go on under the new id."""
        self.state.talk.rename(host)
        for work in self.state.works.values():
            work.told_at = None

    def handle(self, event: Event, now: float) -> list[Action]:
        """Take one event at time `now` (seconds); the actions are to be done in order."""
        state = self.state
        state.now, state.todo = now, []
        if not state.over:
            hear(state, event)
            if not state.over:
                decide(state)
        return state.todo

    @property
    def wake_at(self) -> float:
        """When `Ticked` is due at the latest."""
        return self.state.wake
