"""The waiting process: held until something is there, and never for long."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from goblin_wire.exchange import Returned
from goblin_wire.problems import CapabilityInvalid, Unavailable
from gpugoblin_site import asgi_wait
from gpugoblin_site.asgi_wait import WaitingRoom
from workunits import events, network, tickets, waiting
from workunits.models import LabNode
from workunits.tests.world import MIB, Researcher, Volunteer, done, verdict

T = TypeVar("T")


@pytest.fixture(autouse=True)
def _fresh_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each answer tells the network as it is now."""
    monkeypatch.setattr(events, "network", network.measure)


async def get(
    room: WaitingRoom, path: str, query: str = "", *, leave: float = 1e9, spoken: str = "1"
) -> Any:
    """One request; the client goes away after `leave` seconds. Gives status and body."""
    sent: list[Any] = []

    async def receive() -> Any:
        if not sent and not receive_state:
            receive_state.append(1)
            return {"type": "http.request", "body": b"", "more_body": False}
        await asyncio.sleep(leave)
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    receive_state: list[int] = []
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": query.encode(),
        "headers": [(b"goblin-protocol", spoken.encode())],
    }
    await room(scope, receive, send)
    return sent[0]["status"], sent[1]["body"]


def with_room(play: Callable[[WaitingRoom], Awaitable[T]]) -> T:
    """Run `play` beside a room that ticks."""

    async def main() -> T:
        room = WaitingRoom(tick=0.01)
        room.start()
        try:
            return await play(room)
        finally:
            await room.stop()
            await sync_to_async(connections.close_all)()

    return asyncio.run(main())


def waits_for(ticket: str, then: Callable[[], object]) -> float:
    """Seconds from `then` until whoever waits with the ticket is woken."""

    async def play(room: WaitingRoom) -> float:
        held = asyncio.create_task(get(room, "/wait", f"ticket={ticket}"))
        await asyncio.sleep(0.15)
        assert not held.done()
        await sync_to_async(then)()
        started = time.monotonic()
        assert await asyncio.wait_for(held, 10) == (200, b"{}")
        return time.monotonic() - started

    return with_room(play)


@pytest.mark.django_db(transaction=True)
def test_row_22_an_idle_client_is_woken_by_new_work() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    ticket = volunteer.ask(1).ticket
    assert waits_for(ticket, lambda: lab.job(units=1)) < 2
    assert len(volunteer.ask(1).leases) == 1


@pytest.mark.django_db(transaction=True)
def test_a_lab_is_woken_by_what_it_has_to_act_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi_wait, "WAIT_S", 1.0)
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job(units=2)
    lab.events()
    kept, returned = volunteer.ask(2).leases
    ticket = lab.events().ticket
    assert waits_for(ticket, lambda: volunteer.ask(done=[done(kept)])) > 0.6
    monkeypatch.setattr(asgi_wait, "WAIT_S", 8.0)
    back = Returned(lease=returned.lease, code="failed")
    assert waits_for(ticket, lambda: volunteer.ask(returned=[back])) < 4


@pytest.mark.django_db(transaction=True)
def test_a_lab_is_woken_when_the_network_has_doubled() -> None:
    lab = Researcher.make()
    assert waits_for(lab.events().ticket, lambda: Volunteer.make().ask(1)) < 2
    assert lab.events().network.devices == 1


@pytest.mark.django_db(transaction=True)
def test_a_client_is_woken_when_its_result_was_judged() -> None:
    lab, volunteer = Researcher.make(), Volunteer.make()
    lab.job(units=1)
    (lease,) = volunteer.ask(1).leases
    ticket = volunteer.ask(1, done=[done(lease)]).ticket
    assert waits_for(ticket, lambda: lab.judge(verdict(lease))) < 2


@pytest.mark.django_db(transaction=True)
def test_nobody_is_woken_for_what_they_cannot_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi_wait, "WAIT_S", 0.4)
    lab = Researcher.make()
    small, offline = Volunteer.make(), Volunteer.make()
    tokens = [small.ask(1, memory=MIB - 1).ticket, offline.ask(1).ticket]
    lab.job(units=1)
    LabNode.objects.update(reachable=False)

    async def play(room: WaitingRoom) -> list[float]:
        started = time.monotonic()
        for status, _ in await asyncio.gather(
            *[get(room, "/wait", f"ticket={ticket}") for ticket in tokens]
        ):
            assert status == 200
        return [time.monotonic() - started]

    assert with_room(play)[0] >= 0.4


@pytest.mark.django_db(transaction=True)
def test_a_client_that_goes_away_is_forgotten() -> None:
    ticket = Volunteer.make().ask(1).ticket

    async def play(room: WaitingRoom) -> int:
        held = asyncio.create_task(get(room, "/wait", f"ticket={ticket}", leave=0.05))
        await asyncio.wait_for(held, 5)
        assert room._waiters is not None
        return len(room._waiters)

    assert with_room(play) == 0


def test_a_ticket_that_is_not_ours_is_refused() -> None:
    ticket = tickets.seal(tickets.LabTicket(1, 2, 3, 0, tickets.lifetime_end()))
    old = tickets.seal(tickets.LabTicket(1, 2, 3, 0, time.time() - 1))
    for bad in ("", "x", ticket[:-3] + "AAA", "é" * 20, old, "A" * 4000):
        with pytest.raises(CapabilityInvalid):
            tickets.unseal(bad)


@pytest.mark.django_db(transaction=True)
def test_strange_requests_get_problems() -> None:
    async def play(room: WaitingRoom) -> list[int]:
        return [
            (await get(room, path, query))[0]
            for path, query in (
                ("/wait", ""),
                ("/wait", "ticket=abc"),
                ("/", ""),
                ("/healthz", ""),
            )
        ]

    assert with_room(play) == [403, 403, 404, 200]


@pytest.mark.django_db(transaction=True)
def test_row_28_who_waits_speaks_our_version() -> None:
    async def play(room: WaitingRoom) -> list[int]:
        return [
            (await get(room, "/wait", "ticket=abc", spoken=spoken))[0]
            for spoken in ("1", "2", "one")
        ]

    assert with_room(play) == [403, 426, 400]


def test_a_crowd_is_not_woken_for_a_single_unit() -> None:
    async def play() -> int:
        waiters = waiting.Waiters()
        for number in range(100):
            waiters.add(tickets.ClientTicket(number, number, 1, 1, 0.0))
        held = waiters.snapshot()
        waiting.wake(held, [(n, "work", 1) for n in range(100)])
        return sum(each.over.done() for each in held)

    assert asyncio.run(play()) == waiting.CROWD


def test_who_idles_is_called_before_those_who_ask_for_more() -> None:
    async def play() -> None:
        waiters = waiting.Waiters()
        for number, busy in enumerate((True, True, False)):
            waiters.add(tickets.ClientTicket(number, number, 1, 1, 0.0, busy))
        held = waiters.snapshot()
        found = [(n, "work", 1) for n in range(3)]
        assert waiting.wake(held, found)
        assert [each.over.done() for each in held] == [False, False, True]
        assert not waiting.wake(held, found[:2], busy_too=False)
        assert not any(each.over.done() for each in held[:2])
        assert not waiting.wake(held, [(n, "settled", 1) for n in range(2)])
        assert not any(each.over.done() for each in held[:2])
        assert not waiting.wake(held, found[:2])
        assert all(each.over.done() for each in held[:2])

    asyncio.run(play())


def test_one_host_is_held_once_and_one_account_does_not_take_all_places(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(waiting, "ACCOUNT_WAITS", 3)

    async def play() -> None:
        waiters = waiting.Waiters()
        held = [waiters.add(tickets.ClientTicket(1, 1, 1, 1, 0.0)) for _ in range(50)]
        assert len(waiters) == 1
        assert [each.over.done() for each in held] == [True] * 49 + [False]
        held += [waiters.add(tickets.ClientTicket(1, host, 1, 1, 0.0)) for host in (2, 3)]
        with pytest.raises(Unavailable):
            waiters.add(tickets.ClientTicket(1, 4, 1, 1, 0.0))
        held.append(waiters.add(tickets.ClientTicket(2, 1, 1, 1, 0.0)))
        held += [waiters.add(tickets.LabTicket(1, 2, 3, 0, 0.0)) for _ in range(5)]
        assert len(waiters) == 5
        for each in held:
            waiters.remove(each)
        assert len(waiters) == 0
        assert not waiters.somebody.is_set()
        waiters.add(tickets.ClientTicket(1, 4, 1, 1, 0.0))

    asyncio.run(play())


@pytest.mark.django_db(transaction=True)
def test_row_22_a_surge_of_idle_clients_is_busy_within_seconds() -> None:
    lab, volunteers = Researcher.make(), [Volunteer.make() for _ in range(30)]

    async def play(room: WaitingRoom) -> float:
        async def find_work(volunteer: Volunteer) -> None:
            reply = await sync_to_async(volunteer.ask)(1)
            while not reply.leases:
                await get(room, "/wait", f"ticket={reply.ticket}")
                reply = await sync_to_async(volunteer.ask)(1)

        looking = [asyncio.create_task(find_work(volunteer)) for volunteer in volunteers]
        await asyncio.sleep(1.0)
        assert not any(each.done() for each in looking)
        await sync_to_async(lab.job)(units=len(volunteers))
        started = time.monotonic()
        await asyncio.wait_for(asyncio.gather(*looking), 20)
        return time.monotonic() - started

    assert with_room(play) < 10
