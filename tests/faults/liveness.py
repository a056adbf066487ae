"""Clients' schedulers and the site's quorum machine, played together in time that is made up.

Much goes wrong for a while: requests and replies are lost, transfers fail, devices crash, results
are wrong, machines forget everything or never come back, leases expire. Then all goes well and a
new volunteer joins: every unit must be accepted, or be put aside with a reason.
"""

import itertools
import random
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from client.tests.driver import LABS, Driver, result
from goblin_client.scheduling import actions, events
from goblin_client.scheduling.events import Failure, Trouble
from goblin_wire.exchange import Ended, ExchangeReply, ExchangeRequest, LabAddress, Lease, Settled
from goblin_wire.states import LeaseState, Policy, UnitState, VerdictKind
from workunits import limits, quorum
from workunits.quorum import (
    Copy,
    Expired,
    Happening,
    Judged,
    Judgement,
    Reported,
    Returned,
    Unit,
    decide,
)

LEASE_S = 60.0
STEPS = 6000
"""Far more than a healthy network needs for a few units."""
UNDER_WAY = frozenset({LeaseState.OPEN, LeaseState.EXPIRED, LeaseState.REPORTED})


@dataclass
class Piece:
    """A unit with its leases, as the site has them."""

    id: str
    unit: Unit = field(
        default_factory=lambda: Unit(UnitState.OPEN, Policy.CHECK, 1, wanted=1, issued=0)
    )
    copies: dict[UUID, Copy] = field(default_factory=dict)

    def happen(self, happening: Happening) -> None:
        outcome = decide(self.unit, list(self.copies.values()), happening)
        self.unit = outcome.unit
        self.copies |= {copy.lease: copy for copy in outcome.changed}

    def may_have(self, account: int) -> bool:
        own = [copy for copy in self.copies.values() if copy.account == account]
        counted = any(copy.state in quorum.COUNTED for copy in own)
        few = len(own) < limits.MAX_LEASES_PER_ACCOUNT_AND_UNIT
        return self.unit.wanted > 0 and few and not counted

    @property
    def over(self) -> bool:
        """Accepted, or put aside with a reason."""
        put_aside = self.unit.state is UnitState.QUARANTINED and self.unit.code != "ok"
        return put_aside or self.unit.state is UnitState.ACCEPTED


class Site:
    """Gives out leases, lets them expire, tells how they ended. The lab judges at once."""

    def __init__(self, units: int) -> None:
        self.pieces = [Piece(f"{number:032x}") for number in range(1, units + 1)]
        self._numbers = itertools.count(1)
        self._leases: dict[str, tuple[Piece, int]] = {}
        self._deadlines: dict[str, float] = {}
        self._told: set[str] = set()

    def piece(self, lease: str) -> Piece:
        return self._leases[lease][0]

    def copy(self, lease: str) -> Copy:
        return self.piece(lease).copies[UUID(hex=lease)]

    def expire(self, now: float) -> None:
        for lease in [each for each, deadline in self._deadlines.items() if deadline < now]:
            del self._deadlines[lease]
            self.piece(lease).happen(Expired(UUID(hex=lease)))

    @property
    def next_deadline(self) -> float:
        return min(self._deadlines.values(), default=float("inf"))

    def judge(self, lease: str, right: bool) -> None:
        kind = VerdictKind.ACCEPTED if right else VerdictKind.REJECTED
        judgement = Judgement(kind, ("d" * 64,), "ok" if right else "wrong", "It is wrong.")
        self.piece(lease).happen(Judged(UUID(hex=lease), judgement))

    def answer(self, account: int, request: ExchangeRequest, now: float) -> ExchangeReply:
        for returned in request.returned:
            self._happen(returned.lease, Returned(UUID(hex=returned.lease), returned.code))
        for done in request.done:
            self._happen(done.lease, Reported(UUID(hex=done.lease), tuple(done.outputs)))
        for held in request.holding:
            if held.lease in self._deadlines:
                self._deadlines[held.lease] = now + LEASE_S
        named = {each.lease for each in (*request.holding, *request.done)}
        reply = ExchangeReply(wait_url="https://site.example/wait", ticket="t")
        for lease, (_, owner) in self._leases.items():
            if owner == account:
                self._tell(reply, lease, named)
        self._grant(reply, account, sum(want.units for want in request.want), now)
        return reply

    def _happen(self, lease: str, happening: Happening) -> None:
        if lease in self._leases:
            self._deadlines.pop(lease, None)
            self.piece(lease).happen(happening)

    def _tell(self, reply: ExchangeReply, lease: str, named: set[str]) -> None:
        copy = self.copy(lease)
        if copy.state in UNDER_WAY:
            if copy.state is LeaseState.OPEN and lease not in named:
                reply.again.append(self._message(lease))
        elif lease in named or lease not in self._told:
            self._told.add(lease)
            if copy.outputs is None:
                reply.ended.append(Ended(lease=lease, code="ended", reason="It is over."))
            else:
                reply.settled.append(Settled(lease=lease, verdict=str(copy.state)))

    def _grant(self, reply: ExchangeReply, account: int, units: int, now: float) -> None:
        free = [piece for piece in self.pieces if piece.may_have(account)]
        for piece in free[:units]:
            lease = UUID(int=next(self._numbers))
            piece.copies[lease] = Copy(lease, piece.unit.issued, account, account, LeaseState.OPEN)
            piece.unit = quorum.claimed(piece.unit)
            self._leases[lease.hex] = (piece, account)
            self._deadlines[lease.hex] = now + LEASE_S
            reply.leases.append(self._message(lease.hex))

    def _message(self, lease: str) -> Lease:
        return Lease(
            lease=lease,
            unit=self.piece(lease).id,
            device="cpu",
            seconds=LEASE_S,
            flops=1000,
            memory=100,
            input_bytes=50,
            output_bytes=20,
            lab=LabAddress(lab=LABS[0], endpoint="https://lab.example"),
            capability="c.s",
        )


class Machine:
    """A volunteer's machine: the real scheduler, and what it asked for that is under way."""

    def __init__(self, world: "World", account: int) -> None:
        self._world = world
        self._account = account
        self.begin()

    def begin(self) -> None:
        """With an empty memory."""
        self.driver = Driver()
        self.driver.now = self._world.now
        self._flying: list[Any] = []
        self._computing: dict[str, Lease] = {}
        self._take(self.driver.done)
        self.tick()

    @property
    def busy(self) -> bool:
        return bool(self._flying or self._computing)

    def tick(self) -> None:
        self._tell(events.Ticked())

    def step(self) -> None:
        """Something that is under way ends."""
        chance = self._world.chance
        if self._computing and (not self._flying or chance.random() < 0.5):
            self._compute(next(iter(self._computing.values())))
        elif self._flying:
            action = self._flying.pop(chance.randrange(len(self._flying)))
            getattr(self, f"_on_{type(action).__name__}")(action)

    def _tell(self, event: Any) -> None:
        self.driver.now = self._world.now
        self._take(self.driver.tell(event))

    def _take(self, wanted: list[Any]) -> None:
        for action in wanted:
            if isinstance(action, actions.Compute):
                self._computing[action.lease.lease] = action.lease
            elif isinstance(action, actions.CancelCompute):
                self._computing.pop(action.lease, None)
            elif hasattr(self, f"_on_{type(action).__name__}"):
                self._flying.append(action)

    def _compute(self, lease: Lease) -> None:
        if self._world.trouble(0.1):
            self._computing.clear()
            self._tell(events.DeviceLost("cpu", "failed", "It crashed."))
            return
        del self._computing[lease.lease]
        if self._world.trouble(0.1):
            self._tell(events.ComputeFailed("cpu", lease.lease, "failed", "It failed."))
        else:
            self._tell(events.Computed("cpu", result(lease)))

    def _on_Send(self, action: actions.Send) -> None:
        if self._world.trouble(0.2):
            self._tell(events.NotReplied("unreachable", "The request was lost."))
            return
        reply = self._world.site.answer(self._account, action.request, self._world.now)
        if self._world.trouble(0.2):
            self._tell(events.NotReplied("unreachable", "The reply was lost."))
        else:
            self._tell(events.Replied(reply))

    def _on_AwaitWork(self, _action: actions.AwaitWork) -> None:
        self._tell(events.Waited(failed=self._world.trouble(0.3)))

    def _on_StartDevice(self, _action: actions.StartDevice) -> None:
        self._tell(events.DeviceReady("cpu", 10_000, "class", 1e9))

    def _on_Fetch(self, action: actions.Fetch) -> None:
        lease = action.lease.lease
        self._tell(events.Admitted(lease, 4, 10))
        self._tell(events.Arrived(lease, 2, 20))
        failure = self._failure()
        if failure is None:
            self._tell(events.Arrived(lease, 4, 50))
        self._tell(events.FetchEnded(lease, failure))

    def _on_Upload(self, action: actions.Upload) -> None:
        lease, site = action.result.lease.lease, self._world.site
        failure = self._failure()
        if site.piece(lease).unit.state is UnitState.ACCEPTED and site.copy(lease).state in (
            LeaseState.SUPERSEDED,
            LeaseState.ENDED,
        ):
            failure = Failure(Trouble.ENDED, "lease_ended", "Another result was verified first.")
        if failure is None:
            site.judge(lease, not self._world.trouble(0.2))
        self._tell(events.UploadEnded(lease, failure))

    def _failure(self) -> Failure | None:
        if not self._world.trouble(0.3):
            return None
        return Failure(self._world.chance.choice(list(Trouble)), "failed", "It failed.")


class World:
    """Everything, and the time."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.now = 100.0
        self.site = Site(self.chance.randint(1, 6))
        self._bad = True
        self.machines = [Machine(self, account) for account in range(self.chance.randint(1, 3))]

    def trouble(self, share: float) -> bool:
        return self._bad and self.chance.random() < share

    def play(self) -> list[Piece]:
        """Trouble, then none; the units that are not over at the end."""
        for _ in range(self.chance.randint(0, 150)):
            self._trouble_step()
        self._bad = False
        self.machines.append(Machine(self, 99))
        for _ in range(STEPS):
            if all(piece.over for piece in self.site.pieces):
                return []
            self._healthy_step()
        return [piece for piece in self.site.pieces if not piece.over]

    def _trouble_step(self) -> None:
        machine = self.chance.choice(self.machines)
        if self.chance.random() < 0.02:
            machine.begin()
        elif self.chance.random() < 0.01 and len(self.machines) > 1:
            self.machines.remove(machine)
        elif machine.busy:
            machine.step()
        self._pass(self.chance.choice((0.0, 0.1, 1.0, 20.0)))

    def _healthy_step(self) -> None:
        busy = [machine for machine in self.machines if machine.busy]
        if busy:
            self.chance.choice(busy).step()
            self._pass(0.05)
            return
        wakes = [machine.driver.scheduler.wake_at for machine in self.machines]
        self._pass(max(0.1, min(*wakes, self.site.next_deadline) - self.now + 0.01))

    def _pass(self, seconds: float) -> None:
        self.now += seconds
        self.site.expire(self.now)
        for machine in self.machines:
            if self.now >= machine.driver.scheduler.wake_at:
                machine.tick()
