"""Who waits for what, and the one query per tick that finds for whom waiting is over."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from goblin_wire.problems import Unavailable
from goblin_wire.protocol import LAB_SEEN_S, WAIT_S
from workunits import limits, switches
from workunits.tickets import ClientTicket, LabTicket, Ticket
from workunits.tries import may_take_sql

LOOK_AHEAD = 64
"""Openings of a job that are looked at for one client."""
CROWD = 4
"""Clients woken per opening: some of them will be too late, all of them would be a stampede."""

ACCOUNT_WAITS = 1000
"""Requests that are held for one account."""

QUIET_EVENTS = ("leased", "reported", "accepted")
"""A lab is not woken for these: it has the result, and judged it, before the site hears of it."""

QUERY = f"""
WITH ready AS MATERIALIZED (
  SELECT j.id FROM workunits_job j
  JOIN research_access_lab l ON l.id = j.lab_id AND l.state = 'active'
  JOIN workunits_labnode n ON n.lab_id = j.lab_id AND n.reachable
   AND n.last_seen > now() - make_interval(secs => {LAB_SEEN_S})
  LEFT JOIN workunits_labday d
    ON d.lab_id = j.lab_id AND d.day = (now() AT TIME ZONE 'UTC')::date
  WHERE j.state = 'open' AND cardinality(%(c_n)s::integer[]) > 0
    AND {switches.EVERYTHING_IS_ON} AND {switches.lab_is_on("j.lab_id")}
    AND EXISTS (SELECT 1 FROM workunits_opening o WHERE o.job_id = j.id)
    AND (SELECT count(*) < n.window_units AND coalesce(sum(p.output_bytes), 0) < n.window_bytes
           AND coalesce(sum(p.flops), 0) + coalesce(d.flops, 0) < l.daily_flops
         FROM workunits_pendinglease p WHERE p.lab_id = j.lab_id AND p.live)
), openings AS (
  SELECT count(*) AS units
  FROM (SELECT 1 FROM ready JOIN workunits_opening o ON o.job_id = ready.id LIMIT 1000) AS looked
), network AS MATERIALIZED (
  SELECT count(*) AS online FROM workunits_device
  WHERE last_seen > now() - make_interval(secs => {limits.ONLINE_S})
    AND cardinality(%(l_n)s::integer[]) > 0
)
SELECT v.n, 'lab' AS kind, 0::bigint AS units
FROM unnest(%(l_n)s::integer[], %(l_lab)s::bigint[], %(l_xid)s::bigint[], %(l_event)s::bigint[],
            %(l_devices)s::bigint[]) AS v(n, lab, xid, event, devices)
WHERE (SELECT online > 0 AND online >= 2 * v.devices OR 2 * online <= v.devices AND v.devices > 0
       FROM network) OR EXISTS (
  SELECT 1 FROM workunits_event e
  WHERE e.lab_id = v.lab AND (e.xid, e.id) > (v.xid::text::xid8, v.event)
    AND e.xid < pg_snapshot_xmin(pg_current_snapshot()) AND e.kind <> ALL(%(quiet)s))
UNION ALL
SELECT v.n, 'told', 0
FROM unnest(%(c_n)s::integer[], %(c_account)s::bigint[], %(c_host)s::bigint[])
     AS v(n, account, host)
WHERE EXISTS (SELECT 1 FROM workunits_pendinglease p
              WHERE p.account_id = v.account AND p.host_id = v.host AND NOT p.live)
UNION ALL
SELECT v.n, 'work', (SELECT units FROM openings)
FROM unnest(%(c_n)s::integer[], %(c_account)s::bigint[], %(c_memory)s::bigint[],
            %(c_catalogue)s::bigint[]) AS v(n, account, memory, catalogue)
WHERE EXISTS (
  SELECT 1 FROM ready CROSS JOIN LATERAL (
    SELECT o.unit_id FROM workunits_opening o
    WHERE o.job_id = ready.id AND o.memory <= v.memory AND o.catalogue <= v.catalogue
    ORDER BY o.rank, o.position LIMIT {LOOK_AHEAD}) o
  WHERE {may_take_sql("o.unit_id", "v.account")})"""  # noqa: S608


@dataclass(eq=False, slots=True)
class Waiter:
    """One held request; its future is resolved when it is worth coming back."""

    ticket: Ticket
    over: asyncio.Future[None]

    def end(self) -> None:
        if not self.over.done():
            self.over.set_result(None)


@dataclass(slots=True)
class Waiters:
    """All held requests, in the order in which they came."""

    _all: dict[Waiter, None] = field(default_factory=dict)
    _by_host: dict[tuple[int, ...], Waiter] = field(default_factory=dict)
    _of_account: Counter[int] = field(default_factory=Counter)
    somebody: asyncio.Event = field(default_factory=asyncio.Event)

    def __len__(self) -> int:
        return len(self._all)

    def add(self, ticket: Ticket) -> Waiter:
        """Hold one more. An older request of the same host or lab ends: nobody reads its answer.

        Raises `Unavailable` where one account would take the places of all others.
        """
        older = self._by_host.get(_place(ticket))
        if older is not None:
            older.end()
            self.remove(older)
        if isinstance(ticket, ClientTicket):
            if self._of_account[ticket.account] >= ACCOUNT_WAITS:
                raise Unavailable("Too many machines of this account wait.", retry_after=WAIT_S)
            self._of_account[ticket.account] += 1
        waiter = Waiter(ticket, asyncio.get_running_loop().create_future())
        self._all[waiter] = None
        self._by_host[_place(ticket)] = waiter
        self.somebody.set()
        return waiter

    def remove(self, waiter: Waiter) -> None:
        """Let go of a request; harmless when done before."""
        if waiter not in self._all:
            return
        del self._all[waiter], self._by_host[_place(waiter.ticket)]
        if isinstance(waiter.ticket, ClientTicket):
            self._of_account[waiter.ticket.account] -= 1
            if not self._of_account[waiter.ticket.account]:
                del self._of_account[waiter.ticket.account]
        if not self._all:
            self.somebody.clear()

    def has_clients(self) -> bool:
        """Whether a device idles until its request is answered."""
        return any(isinstance(waiter.ticket, ClientTicket) for waiter in self._all)

    def snapshot(self) -> list[Waiter]:
        return list(self._all)


def _place(ticket: Ticket) -> tuple[int, ...]:
    """Who waits: a host of an account, or a lab."""
    if isinstance(ticket, ClientTicket):
        return ticket.account, ticket.host
    return (ticket.lab,)


def parameters(waiters: list[Waiter]) -> dict[str, list[Any]]:
    """The arrays that `QUERY` takes; `n` is the index in `waiters`."""
    arrays: dict[str, list[Any]] = {
        name: []
        for name in (
            "l_n",
            "l_lab",
            "l_xid",
            "l_event",
            "l_devices",
            "c_n",
            "c_account",
            "c_host",
            "c_memory",
            "c_catalogue",
        )
    }
    for index, waiter in enumerate(waiters):
        match waiter.ticket:
            case LabTicket(lab, xid, event, devices):
                _append(arrays, l_n=index, l_lab=lab, l_xid=xid, l_event=event, l_devices=devices)
            case ClientTicket(account, host, memory, catalogue):
                _append(
                    arrays,
                    c_n=index,
                    c_account=account,
                    c_host=host,
                    c_memory=memory,
                    c_catalogue=catalogue,
                )
    arrays["quiet"] = list(QUIET_EVENTS)
    return arrays


def _append(arrays: dict[str, list[Any]], **values: int) -> None:
    for name, value in values.items():
        arrays[name].append(value)


def wake(waiters: list[Waiter], found: Sequence[Any], *, busy_too: bool = True) -> bool:
    """Resolve those that `QUERY` named; of the clients no more than the openings are worth.

    Who idles comes first. Who has work in hand comes only where none idles, and with `busy_too`:
    not while an idle one, who was called just now, is on its way. Says whether one was called.
    """
    woken = {n for n, kind, _ in found if kind != "work" and not _is_busy(waiters[n])}
    hungry = sorted((_is_busy(waiters[n]), n, units) for n, kind, units in found if kind == "work")
    an_idle_one = bool(hungry) and not hungry[0][0]
    for place, (busy, index, units) in enumerate(hungry):
        if place < CROWD * units and not (busy and (an_idle_one or not busy_too)):
            woken.add(index)
    for index in woken:
        waiters[index].end()
    return an_idle_one


def _is_busy(waiter: Waiter) -> bool:
    return isinstance(waiter.ticket, ClientTicket) and waiter.ticket.busy
