"""Hosts in conversation: who they are, and whether a message is new, a retry, or from a copy."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from goblin_wire.exchange import ExchangeRequest, Want
from goblin_wire.problems import CopiedHost, NotAllowed
from workunits import limits
from workunits.database import Query, Row, query, rows, run
from workunits.leasetime import clamped_speed


class Sender(NamedTuple):
    """The host that sent a message, as its account's lock found it."""

    id: int
    seq: int
    nonce: str
    answered: list[UUID]
    granted: int
    failed_in_row: int
    failed_at: datetime | None
    devices_due: bool
    account_proven: int
    account_failed_in_row: int
    account_failed_at: datetime | None
    now: datetime


_COLUMNS = """
    h.id, h.seq, h.nonce, h.answered, h.granted, h.failed_in_row, h.failed_at,
    h.devices_seen IS NULL OR h.devices_seen < now() - interval '20 seconds' AS devices_due,
    coalesce(s.proven, 0) AS account_proven,
    coalesce(s.failed_in_row, 0) AS account_failed_in_row,
    s.failed_at AS account_failed_at, now() AS now"""

# A lost claim is just made again, a lost report is not.
_LOCK = """
SELECT pg_advisory_xact_lock(%(account)s) AS locked,
       CASE WHEN %(lasting)s::boolean THEN ''
            ELSE set_config('synchronous_commit', 'off', true) END AS commit_mode"""

_FIND = f"""
SELECT {_COLUMNS} FROM workunits_host h
LEFT JOIN workunits_standing s ON s.account_id = h.account_id
WHERE h.account_id = %(account)s AND h.uid = %(uid)s"""  # noqa: S608

_MAKE = f"""
INSERT INTO workunits_host (account_id, uid, seq, nonce, answered, granted, version, created,
                            last_seen, failed_in_row, rejected, accepted)
SELECT %(account)s, %(uid)s, -1, '', '{{}}', 0, '', now(), now(), 0, 0, 0
WHERE (SELECT count(*) FROM workunits_host WHERE account_id = %(account)s)
      < {limits.MAX_HOSTS_PER_ACCOUNT}
ON CONFLICT (account_id, uid) DO NOTHING"""  # noqa: S608

_DEVICES = """
WITH host AS (
  UPDATE workunits_host SET devices_seen = now() WHERE id = %(host)s
), still AS (
  UPDATE workunits_device SET last_seen = now()
  WHERE host_id = %(host)s AND NOT name = ANY(%(name)s)
)
INSERT INTO workunits_device AS d
       (host_id, name, device_class, memory, flops_per_s, catalogue, last_seen)
SELECT %(host)s, v.name, v.class, v.memory, v.flops, v.catalogue, now()
FROM unnest(%(name)s::text[], %(class)s::text[], %(memory)s::bigint[], %(flops)s::float8[],
            %(catalogue)s::bigint[]) AS v(name, class, memory, flops, catalogue)
ON CONFLICT (host_id, name) DO UPDATE
SET device_class = excluded.device_class, memory = excluded.memory,
    flops_per_s = excluded.flops_per_s, catalogue = excluded.catalogue, last_seen = now()"""


def lock(account: int, *, lasting: bool) -> Query:
    """What makes the account's exchanges take turns until the transaction ends.

    `lasting`: its commit has to be on disk when it returns.
    """
    return query(_LOCK, {"account": account, "lasting": lasting})


def find(account: int, uid: UUID) -> Query:
    """What finds the account's host with this id; `sender_of` takes its rows."""
    return query(_FIND, {"account": account, "uid": uid})


def sender_of(found: list[Row]) -> Sender | None:
    """The host, if it is there."""
    return Sender(*found[0]) if found else None


def make(account: int, uid: UUID) -> Sender:
    """A host that says its first message. Raises `NotAllowed` for an account with far too many."""
    parameters = {"account": account, "uid": uid}
    run(_MAKE, parameters)
    sender = sender_of(rows(_FIND, parameters))
    if sender is None:
        raise NotAllowed(
            f"An account has at most {limits.MAX_HOSTS_PER_ACCOUNT} machines and copies of them."
        )
    return sender


def is_retry(sender: Sender, message: ExchangeRequest) -> bool:
    """Whether the message was answered before; raises `CopiedHost` for one from a copy."""
    if message.seq > sender.seq:
        return False
    if message.seq == sender.seq and message.nonce == sender.nonce:
        return True
    raise CopiedHost(
        f"Message {message.seq} comes after message {sender.seq} of the same host id: this state"
        " directory seems to be a copy. Take a new host id; leases go on under it."
    )


def note_devices(sender: Sender, wants: list[Want]) -> list[Query]:
    """What remembers what the devices can do; at most every twenty seconds."""
    if not sender.devices_due:
        return []
    unique = {want.device: want for want in wants}
    values = {
        "host": sender.id,
        "name": list(unique),
        "class": [want.device_class for want in unique.values()],
        "memory": [want.memory for want in unique.values()],
        "flops": [clamped_speed(want.flops_per_s) for want in unique.values()],
        "catalogue": [want.catalogue for want in unique.values()],
    }
    return [query(_DEVICES, values)]
