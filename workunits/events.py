"""What happened to a lab's units, read by cursor.

Rows become visible in the order of their transactions' ends, not of their ids. So a read returns
only what lies below the oldest transaction that still runs, in the order (transaction, id): nothing
can appear before a cursor later.
"""

from __future__ import annotations

import time
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from accounts.authentication import Principal
from goblin_wire.lab import EventsReply, EventsRequest, LabEvent
from goblin_wire.problems import BadMessage
from goblin_wire.protocol import require_protocol
from workunits import labs
from workunits.database import Row, row, rows
from workunits.epochs import current_epoch
from workunits.network import network
from workunits.pseudonyms import pseudonym
from workunits.tickets import LabTicket, lifetime_end, seal

POLL_MS = 2_000

_READ = """
SELECT e.xid::text::numeric::bigint AS xid, e.id, e.kind, e.code, e.reason, e.lease_id,
       j.uid AS job_uid, u.uid AS unit_uid, l.outputs, l.device_class, a.key AS account_key
FROM workunits_event e
JOIN workunits_job j ON j.id = e.job_id
LEFT JOIN workunits_unit u ON u.id = e.unit_id
LEFT JOIN workunits_lease l ON l.id = e.lease_id
LEFT JOIN accounts_account a ON a.id = l.account_id
WHERE e.lab_id = %(lab)s AND (e.xid, e.id) > (%(xid)s::text::xid8, %(id)s)
  AND e.xid < pg_snapshot_xmin(pg_current_snapshot())
ORDER BY e.xid, e.id LIMIT %(limit)s"""

_NEXT_TRANSACTION = "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS xid"


class Cursor(NamedTuple):
    epoch: str
    xid: int
    id: int

    @classmethod
    def parse(cls, text: str) -> Cursor:
        """From the wire; raises `BadMessage`."""
        epoch, _, rest = text.partition(":")
        xid, _, number = rest.partition(":")
        digits = xid.isascii() and xid.isdigit() and number.isascii() and number.isdigit()
        if not digits or int(xid) >= 2**63 or int(number) >= 2**63:
            raise BadMessage("The cursor is not one that this site gave out.")
        return cls(epoch, int(xid), int(number))

    def __str__(self) -> str:
        return f"{self.epoch}:{self.xid}:{self.id}"


def read(principal: Principal, message: EventsRequest) -> EventsReply:
    """Events after the cursor. Also the lab's sign of life, with its window."""
    require_protocol(message.protocol)
    lab = principal.lab
    node = labs.node(lab, account=principal.account_id)
    labs.seen(node, message.window)
    cursor, reset = _cursor(message.cursor)
    reply = EventsReply(
        reset=reset,
        site_seconds=time.time(),
        network=network(),
        reachability=labs.reachability(node),
        site_keys=labs.site_keys(),
        flops_left_today=int(node.flops_left),
        poll_after_ms=POLL_MS,
        notice=node.switched_off,
    )
    found = (
        []
        if reset
        else rows(
            _READ,
            {
                "lab": lab,
                "xid": str(cursor.xid),
                "id": cursor.id,
                "limit": message.limit,
            },
        )
    )
    if found:
        cursor = Cursor(cursor.epoch, found[-1].xid, found[-1].id)
    assert principal.lab_key is not None  # noqa: S101 - tokens of scope lab have a lab
    reply.events = [_message(principal.lab_key, each) for each in found]
    reply.cursor = str(cursor)
    _invite(reply, lab, cursor, more=len(found) == message.limit)
    return reply


def _cursor(text: str) -> tuple[Cursor, bool]:
    """The cursor to read from, and whether the lab must be told that events may be missing."""
    epoch = current_epoch()
    start = Cursor(epoch, 0, 0)
    if not text:
        return start, False
    cursor = Cursor.parse(text)
    ahead = row(_NEXT_TRANSACTION)
    if cursor.epoch != epoch or ahead is None or cursor.xid >= ahead.xid:
        return start, True
    return cursor, False


def _message(lab_key: UUID, each: Row) -> LabEvent:
    volunteer = "" if each.account_key is None else pseudonym(lab_key, each.account_key)
    return LabEvent(
        kind=each.kind,
        job=each.job_uid.hex,
        unit=None if each.unit_uid is None else each.unit_uid.hex,
        lease=None if each.lease_id is None else each.lease_id.hex,
        code=each.code,
        reason=each.reason,
        outputs=(each.outputs or []) if each.kind in {"reported", "accepted"} else [],
        volunteer=volunteer,
        device_class=each.device_class or "",
    )


def _invite(reply: EventsReply, lab: int, cursor: Cursor, *, more: bool) -> None:
    """Say when to come back: at once where there is more, else from the waiting process."""
    if more or reply.reset:
        reply.poll_after_ms = 0
        return
    reply.wait_url = f"{settings.GOBLIN_WAIT_URL}/wait"
    reply.ticket = seal(
        LabTicket(lab, cursor.xid, cursor.id, reply.network.devices, lifetime_end())
    )
