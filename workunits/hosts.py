"""Hosts in conversation: who they are, and whether a message is new, a retry, or from a copy."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from accounts.authentication import Principal
from accounts.text import clean_name
from goblin_wire.exchange import ExchangeRequest, Want
from goblin_wire.problems import CopiedHost, HostRemoved, NotAllowed
from workunits import limits, switches
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
    removed: bool
    now: datetime
    switched_off: str | None
    """The sentence of the switch that keeps work from it, if one does."""


LABEL_MOST = 100
"""Characters of a machine's name."""

_COLUMNS = """
    h.id, h.seq, h.nonce, h.answered, h.granted, h.failed_in_row, h.failed_at,
    h.devices_seen IS NULL OR h.devices_seen < now() - interval '20 seconds' AS devices_due,
    coalesce(s.proven, 0) AS account_proven,
    coalesce(s.failed_in_row, 0) AS account_failed_in_row,
    s.failed_at AS account_failed_at, h.removed IS NOT NULL AS removed, now() AS now,
    w.sentence AS switched_off"""

# A lost claim is just made again, a lost report is not.
_LOCK = """
SELECT pg_advisory_xact_lock(%(account)s) AS locked,
       CASE WHEN %(lasting)s::boolean THEN ''
            ELSE set_config('synchronous_commit', 'off', true) END AS commit_mode"""

_FIND = f"""
SELECT {_COLUMNS} FROM workunits_host h
LEFT JOIN workunits_standing s ON s.account_id = h.account_id
{switches.OF_HOST}
WHERE h.account_id = %(account)s AND h.uid = %(uid)s"""  # noqa: S608

_MAKE = f"""
INSERT INTO workunits_host (account_id, uid, seq, nonce, answered, granted, version, label,
                            created, last_seen, failed_in_row, rejected, accepted)
SELECT %(account)s, %(uid)s, -1, '', '{{}}', 0, '',
       coalesce(nullif(%(label)s, ''),
                (SELECT left(t.label, {LABEL_MOST}) FROM accounts_apitoken t
                 WHERE t.id = %(token)s), ''),
       now(), now(), 0, 0, 0
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


def find(account: int, uid: UUID, version: str) -> Query:
    """What finds the account's host with this id; `sender_of` takes its rows.

    `version`: of its client, as the message says.
    """
    return query(_FIND, {"account": account, "uid": uid, "version": version})


def sender_of(found: list[Row]) -> Sender | None:
    """The host, if it is there."""
    return Sender(*found[0]) if found else None


def make(principal: Principal, uid: UUID, label: str, version: str) -> Sender:
    """A host that says its first message, called as it says or as its sign-in said.

    Raises `NotAllowed` for an account with far too many.
    """
    parameters = {"account": principal.account_id, "uid": uid}
    named = {"token": principal.token_id, "label": clean_name(label, LABEL_MOST)}
    run(_MAKE, {**parameters, **named})
    sender = sender_of(rows(_FIND, {**parameters, "version": version}))
    if sender is None:
        raise NotAllowed(
            f"An account has at most {limits.MAX_HOSTS_PER_ACCOUNT} machines and copies of them."
        )
    return sender


def require_present(sender: Sender) -> None:
    """Raise `HostRemoved` for a machine that its person removed."""
    if sender.removed:
        raise HostRemoved


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
