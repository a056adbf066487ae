"""The waiting process: `uvicorn gpugoblin_site.asgi_wait:app`.

    GET /wait?ticket=T   200 `{}` when it is worth coming back, at most after 25 seconds
    GET /healthz         200 while the database answers, else 503

Idle clients and labs are held here and not by gunicorn's few threads. It answers nothing but
"come back", so all it needs is one query per tick for all who wait; while nobody does, none.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

import django
import psycopg

from goblin_wire.problems import PROBLEM_JSON, CapabilityInvalid, NotFound, Problem, Unavailable
from goblin_wire.protocol import PROTOCOL_HEADER, WAIT_S, require_protocol_header

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gpugoblin_site.settings")
django.setup()

from django.db import connection  # noqa: E402

from gpugoblin_site import logs  # noqa: E402
from workunits import tickets, waiting  # noqa: E402
from workunits.waiting import Waiters  # noqa: E402

TICK_S = 0.02
LABS_TICKS = 5
"""So much rarer are the ticks while only labs wait: no device idles until they know."""
IDLE_FIRST_S = 0.2
"""For so long a machine that idles may take a unit before others fetch ahead."""
RECONNECT_S = 0.5
MAX_WAITERS = 20_000
FRESH_S = 5.0

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_log = logs.logger("wait")


class WaitingRoom:
    """The ASGI application."""

    def __init__(self, tick: float = TICK_S) -> None:
        self._tick = tick
        self._waiters: Waiters | None = None
        self._loop: asyncio.Task[None] | None = None
        self._answered = 0.0

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                self.start()
            else:
                await self.stop()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    def start(self) -> None:
        """Begin to tick; needs a running event loop."""
        self._waiters = Waiters()
        self._loop = asyncio.create_task(self._run(self._waiters))

    async def stop(self) -> None:
        if self._loop is not None:
            self._loop.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._loop

    async def _http(self, scope: Message, receive: Receive, send: Send) -> None:
        try:
            if scope["path"] == "/healthz":
                self._require_fresh()
            elif scope["path"] == "/wait" and scope["method"] == "GET":
                require_protocol_header(_spoken(scope))
                await self._wait(_ticket(scope), receive)
            else:
                raise NotFound
        except Problem as problem:
            await _send(send, problem.status, problem.to_bytes(), PROBLEM_JSON)
        else:
            await _send(send, 200, b"{}", "application/json")

    def _require_fresh(self) -> None:
        busy = self._waiters is not None and len(self._waiters) > 0
        if busy and time.monotonic() - self._answered > FRESH_S:
            raise Unavailable("The database does not answer.")

    async def _wait(self, ticket: tickets.Ticket, receive: Receive) -> None:
        """Hold the request until it is worth coming back, its time is over, or it is gone."""
        waiters = self._waiters
        if waiters is None or len(waiters) >= MAX_WAITERS:
            raise Unavailable("Too many wait here already; come back later.", retry_after=WAIT_S)
        waiter = waiters.add(ticket)
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await asyncio.wait(
                {waiter.over, gone}, timeout=WAIT_S, return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            waiters.remove(waiter)
            gone.cancel()

    async def _run(self, waiters: Waiters) -> None:
        """Tick for ever; where the database is away, try again."""
        while True:
            try:
                database = await _connect()
                async with database:
                    await self._tick_with(database, waiters)
            except psycopg.Error as error:
                _log.warning("database", error=str(error))
                await asyncio.sleep(RECONNECT_S)

    async def _tick_with(self, database: psycopg.AsyncConnection[Any], waiters: Waiters) -> None:
        called = 0.0
        while True:
            await waiters.somebody.wait()
            started = time.monotonic()
            now_waiting = waiters.snapshot()
            found = await database.execute(
                waiting.QUERY, waiting.parameters(now_waiting), prepare=True
            )
            busy_too = started - called > IDLE_FIRST_S
            if waiting.wake(now_waiting, await found.fetchall(), busy_too=busy_too):
                called = started
            self._answered = time.monotonic()
            # A slow query makes the ticks rarer, so that it never takes more than half a core.
            spent = self._answered - started
            tick = self._tick if waiters.has_clients() else self._tick * LABS_TICKS
            await asyncio.sleep(max(tick - spent, spent))


async def _connect() -> psycopg.AsyncConnection[Any]:
    known = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port", "sslmode", "options")
    return await psycopg.AsyncConnection.connect(
        **{name: known[name] for name in names if known.get(name)},
        autocommit=True,
        application_name="gpugoblin-wait",
    )


def _spoken(scope: Message) -> str | None:
    found: bytes | None = dict(scope["headers"]).get(PROTOCOL_HEADER.lower().encode())
    return None if found is None else found.decode("latin-1")


def _ticket(scope: Message) -> tickets.Ticket:
    query = parse_qs(scope["query_string"].decode("ascii", "replace"))
    given = query.get("ticket")
    if not given:
        raise CapabilityInvalid("A ticket is needed; the site gives one with its answers.")
    return tickets.unseal(given[0])


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, status: int, body: bytes, kind: str) -> None:
    headers = [
        (b"content-type", kind.encode("ascii")),
        (b"cache-control", b"no-store"),
        (b"content-length", str(len(body)).encode("ascii")),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


app = WaitingRoom()
