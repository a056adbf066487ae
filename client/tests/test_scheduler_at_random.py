"""The scheduler in a network where anything may happen: every unit comes to an end."""

from __future__ import annotations

import itertools
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from client.tests.driver import Driver, lease, result
from goblin_client.scheduling import actions, events
from goblin_client.scheduling.events import Failure, Trouble
from goblin_wire.exchange import (
    ExchangeReply,
    ExchangeRequest,
    Lease,
    Settled,
)


class Network:
    """A site, labs and a device that do anything at all, driven by drawn choices."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data
        self.driver = Driver()
        self.numbers = itertools.count(1)
        self.flying: list[Any] = []
        self.computing: dict[str, Lease] = {}
        self.open: dict[str, Lease] = {}
        self.reported: set[str] = set()
        self.settled: set[str] = set()
        self.take(self.driver.done)

    def pick(self, *choices: Any) -> Any:
        return self.data.draw(st.sampled_from(choices))

    def take(self, found: list[Any]) -> None:
        for action in found:
            if isinstance(action, actions.Compute):
                assert action.lease.lease not in self.computing
                self.computing[action.lease.lease] = action.lease
            elif isinstance(action, actions.CancelCompute):
                del self.computing[action.lease]
            elif isinstance(
                action,
                actions.Send
                | actions.Fetch
                | actions.Upload
                | actions.AwaitWork
                | actions.StartDevice,
            ):
                self.flying.append(action)
        assert len(self.computing) <= 2
        for kind in (actions.Send, actions.AwaitWork):
            assert sum(isinstance(each, kind) for each in self.flying) <= 1

    def tell(self, event: Any) -> None:
        self.take(self.driver.tell(event, after=self.pick(0.0, 0.01, 1.0)))

    def step(self, *, well: bool) -> None:
        """Something that is under way ends, well or not; or time passes."""
        if self.computing and self.pick(True, False):
            self.compute(well)
        elif self.flying:
            action = self.flying.pop(0 if well else self.pick(*range(len(self.flying))))
            getattr(self, f"on_{type(action).__name__}")(action, well)
        else:
            pause = min(60.0, max(0.0, self.driver.scheduler.wake_at - self.driver.now))
            self.take(self.driver.tell(events.Ticked(), after=pause))

    def compute(self, well: bool) -> None:
        found = next(iter(self.computing.values()))
        kind = "fine" if well else self.pick("fine", "fine", "failed", "crash")
        if kind == "crash":
            self.computing.clear()
            self.tell(events.DeviceLost("cpu", "failed", "crash"))
            return
        del self.computing[found.lease]
        self.tell(
            events.Computed("cpu", result(found))
            if kind == "fine"
            else events.ComputeFailed("cpu", found.lease, "failed", "no")
        )

    def on_Send(self, action: actions.Send, well: bool) -> None:
        if not well and self.pick(True, False):
            self.tell(events.NotReplied("unreachable", "away"))
            return
        request = action.request
        for returned in request.returned:
            self.open.pop(returned.lease, None)
        for done in request.done:
            if self.open.pop(done.lease, None):
                self.reported.add(done.lease)
        self.tell(events.Replied(self.answer(request, well)))

    def answer(self, request: ExchangeRequest, well: bool) -> ExchangeReply:
        leases = []
        for _ in range(sum(want.units for want in request.want) if len(self.open) < 8 else 0):
            made = lease(next(self.numbers), lab=self.pick(0, 1))
            self.open[made.lease] = made
            leases.append(made)
        listed = {each.lease for each in request.holding}
        again = [
            each for each in self.open.values() if each.lease not in listed and each not in leases
        ]
        new = [each.lease for each in request.done if well or self.pick(True, False)]
        self.settled.update(new)
        return ExchangeReply(
            leases=leases if well or self.pick(True, True, False) else [],
            again=again,
            settled=[Settled(lease=each, verdict="accepted") for each in new],
            wait_url="https://site.example/wait",
            ticket="t",
        )

    def on_AwaitWork(self, _action: actions.AwaitWork, well: bool) -> None:
        self.tell(events.Waited(failed=not well))

    def on_StartDevice(self, _action: actions.StartDevice, _well: bool) -> None:
        self.tell(events.DeviceReady("cpu", 10_000, "class", 1e9))

    def on_Fetch(self, action: actions.Fetch, well: bool) -> None:
        name = action.lease.lease
        self.tell(events.Admitted(name, 4, 10))
        self.tell(events.Arrived(name, 2, 20))
        trouble = None if well else self.pick(None, None, *Trouble)
        if trouble is None:
            self.tell(events.Arrived(name, 4, 50))
        self.tell(events.FetchEnded(name, trouble and Failure(trouble, "failed", "no")))

    def on_Upload(self, action: actions.Upload, well: bool) -> None:
        trouble = None if well else self.pick(None, None, *Trouble)
        self.tell(
            events.UploadEnded(
                action.result.lease.lease, trouble and Failure(trouble, "failed", "no")
            )
        )


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_whatever_happens_every_unit_comes_to_an_end(data: st.DataObject) -> None:
    network = Network(data)
    for _ in range(data.draw(st.integers(0, 60))):
        network.step(well=False)
    network.tell(events.StopAsked())
    for _ in range(300):
        if network.driver.state.over:
            break
        network.step(well=True)
    assert network.driver.state.over
    left = network.driver.state.works.values()
    assert all(work.result is not None for work in left)
    assert not [each for each in network.computing if each not in network.driver.state.works]


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_after_any_trouble_a_healthy_network_finishes_units_again(data: st.DataObject) -> None:
    network = Network(data)
    for _ in range(data.draw(st.integers(0, 60))):
        network.step(well=False)
    before = len(network.settled)
    for _ in range(400):
        network.step(well=True)
        if len(network.settled) >= before + 3:
            return
    raise AssertionError("the client stopped working")
