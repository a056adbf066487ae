"""The part of an answer that tells a host how its leases stand, and the writing of the answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import UUID

from accounts.authentication import Principal
from goblin_wire.exchange import Ended, ExchangeRequest, Holding, Lease, Settled
from goblin_wire.states import Activity, LeaseState
from workunits.capabilities import lease_message
from workunits.changes import BLAMELESS_RETURNS
from workunits.claims import Grant, columns
from workunits.database import Query, Row, query, rows
from workunits.hosts import Sender
from workunits.identifiers import uuids
from workunits.leasetime import failures_sql
from workunits.models.hosts import PAUSED, READY, STOPPING, WORKING

# What a verdict is just being written on is renewed the next time: waiting for it could end in a
# deadlock.
_STANDING = """
WITH moving AS (
  SELECT p.lease_id, v.progress, v.bytes
  FROM unnest(%(held)s::uuid[], %(progress)s::float8[], %(moved)s::bigint[])
         AS v(id, progress, bytes)
  JOIN workunits_pendinglease p ON p.lease_id = v.id
  WHERE p.account_id = %(account)s AND p.open AND p.live
    AND (v.progress > p.progress OR v.bytes > p.bytes_done)
  FOR UPDATE OF p SKIP LOCKED
), renewed AS (
  UPDATE workunits_pendinglease p
  SET deadline = greatest(p.deadline, now() + make_interval(secs => p.seconds)),
      progress = greatest(p.progress, m.progress), bytes_done = greatest(p.bytes_done, m.bytes)
  FROM moving m WHERE p.lease_id = m.lease_id
)
SELECT p.lease_id, p.open, p.live, p.host_id, l.state, l.code, l.reason, l.reported, l.flops
FROM workunits_pendinglease p
LEFT JOIN LATERAL (
  SELECT x.state, x.code, x.reason, x.outputs IS NOT NULL AS reported,
         CASE WHEN x.state = 'accepted' THEN
           (SELECT sum(c.flops) FROM workunits_creditentry c WHERE c.lease_id = x.id)
         END AS flops
  FROM workunits_lease x WHERE x.id = p.lease_id AND NOT p.live OFFSET 0) l ON true
WHERE p.account_id = %(account)s AND (p.host_id = %(host)s OR %(everything)s)"""

_LEASES = """
SELECT l.id AS lease_id, l.state, l.code, l.reason, l.outputs IS NOT NULL AS reported,
       (SELECT sum(c.flops) FROM workunits_creditentry c WHERE c.lease_id = l.id) AS flops
FROM workunits_lease l WHERE l.id = ANY(%(leases)s) AND l.account_id = %(account)s"""

_DETAILS = """
SELECT l.id AS lease_id, l.device, l.device_class, l.role, l.copy, p.seconds,
       u.uid AS unit_uid, u.flops, u.memory, u.input_bytes, u.output_bytes, u.manifest,
       lab.key AS lab_key, n.endpoint, n.certificate
FROM workunits_lease l
JOIN workunits_pendinglease p ON p.lease_id = l.id
JOIN workunits_unit u ON u.id = l.unit_id
JOIN research_access_lab lab ON lab.id = u.lab_id
JOIN workunits_labnode n ON n.lab_id = u.lab_id
WHERE l.id = ANY(%(leases)s) AND l.account_id = %(account)s AND l.state = 'open'
ORDER BY l.id"""

_FAILED_IN_ROW = failures_sql(
    "(CASE WHEN %(accepted)s > 0 THEN 0 ELSE failed_in_row END)", "%(failed)s"
)

_WRITE = f"""
WITH units AS (
  UPDATE workunits_unit SET state = 'leased', wanted = wanted - 1, issued = issued + 1
  WHERE id = ANY(%(g_unit)s)
), filled AS (
  DELETE FROM workunits_opening WHERE unit_id = ANY(%(g_filled)s)
), begun AS (
  UPDATE workunits_opening SET rank = 0 WHERE unit_id = ANY(%(g_begun)s)
), grants AS (
  SELECT * FROM unnest(%(g_lease)s::uuid[], %(g_unit)s::bigint[], %(g_copy)s::smallint[],
    %(g_role)s::text[], %(g_device)s::text[], %(g_class)s::text[], %(g_seconds)s::float8[],
    %(g_lab)s::bigint[], %(g_job)s::bigint[], %(g_flops)s::bigint[], %(g_bytes)s::bigint[])
    AS g(lease, unit, copy, role, device, class, seconds, lab, job, flops, bytes)
), leases AS (
  INSERT INTO workunits_lease (id, unit_id, account_id, host_id, copy, role, device, device_class,
                               state, counts, code, reason, seconds, created)
  SELECT lease, unit, %(account)s, %(host)s, copy, role, device, class, 'open', true, 'ok', '',
         seconds, now() FROM grants
), pending AS (
  INSERT INTO workunits_pendinglease (lease_id, account_id, host_id, lab_id, flops, output_bytes,
                                      open, live, seconds, deadline, progress, bytes_done)
  SELECT lease, %(account)s, %(host)s, lab, flops, bytes, true, true, seconds,
         now() + make_interval(secs => seconds), 0, 0 FROM grants
), events AS (
  INSERT INTO workunits_event (lab_id, job_id, unit_id, lease_id, kind, code, reason)
  SELECT lab, job, unit, lease, 'leased', 'ok', '' FROM grants
), told AS (
  DELETE FROM workunits_pendinglease WHERE lease_id = ANY(%(told)s) AND NOT live
)
UPDATE workunits_host
SET seq = %(seq)s, nonce = %(nonce)s, answered = %(answered)s, granted = %(granted)s,
    version = %(version)s, last_seen = now(), token_id = %(token)s,
    doing = %(doing)s::text, resumes = now() + make_interval(secs => %(resumes)s::float8),
    doing_since = CASE WHEN doing = %(doing)s::text THEN doing_since ELSE now() END,
    accepted = accepted + %(accepted)s, rejected = rejected + %(rejected)s,
    failed_in_row = {_FAILED_IN_ROW},
    failed_at = CASE WHEN %(failed)s > 0 THEN now() ELSE failed_at END
WHERE id = %(host)s"""  # noqa: S608


@dataclass(slots=True)
class Standing:
    """How the leases of a host stand."""

    open: list[UUID] = field(default_factory=list)
    """Open leases of the host."""
    account_open: int = 0
    settled: list[Settled] = field(default_factory=list)
    ended: list[Ended] = field(default_factory=list)
    told: list[UUID] = field(default_factory=list)
    """The leases of `settled` and `ended`."""


def renew(account: int, host: int, holding: list[Holding], *, whole_account: bool) -> Query:
    """What renews the leases that move; its rows tell `standing` of all that are in flight.

    `whole_account`: of the account's other hosts too.
    """
    values = {"account": account, "host": host, "everything": whole_account, **_moved(holding)}
    return query(_STANDING, values)


def standing(
    principal: Principal, host: int, message: ExchangeRequest, in_flight: list[Row]
) -> Standing:
    """What this host is to be told. `in_flight`: the rows of `renew`."""
    found = Standing()
    seen: set[UUID] = set()
    for each in in_flight:
        found.account_open += each.open and each.live
        if each.host_id == host:
            seen.add(each.lease_id)
            _note(found, each)
    _note_others(found, principal, message, seen)
    return found


def _moved(holding: list[Holding]) -> dict[str, object]:
    return {
        "held": uuids([each.lease for each in holding]),
        "progress": [each.progress for each in holding],
        "moved": [each.bytes_done for each in holding],
    }


def _note(found: Standing, each: Row) -> None:
    if each.live:
        if each.open:
            found.open.append(each.lease_id)
    else:
        tell(found, each)


def _note_others(
    found: Standing, principal: Principal, message: ExchangeRequest, seen: set[UUID]
) -> None:
    """Leases that the client speaks of and that are over since long, or under another host."""
    named = {*uuids([x.lease for x in message.holding]), *uuids([x.lease for x in message.done])}
    named -= seen
    if not named:
        return
    for each in rows(_LEASES, {"leases": list(named), "account": principal.account_id}):
        if each.state not in {LeaseState.OPEN, LeaseState.EXPIRED, LeaseState.REPORTED}:
            tell(found, each)


def tell(found: Standing, each: Row) -> None:
    """Add a lease that is over: settled if it was reported, else ended."""
    found.told.append(each.lease_id)
    if each.reported:
        found.settled.append(
            Settled(
                lease=each.lease_id.hex,
                verdict=verdict_of(each),
                code=each.code,
                reason=each.reason,
                flops=int(each.flops or 0),
            )
        )
    else:
        found.ended.append(Ended(lease=each.lease_id.hex, code=_end_code(each), reason=each.reason))


def verdict_of(each: Row) -> str:
    """The fate of a reported lease: a verdict kind, or the state that made one needless."""
    return "reissued" if each.state == LeaseState.RETURNED else str(each.state)


def _end_code(each: Row) -> str:
    return str(each.state if each.code == "ok" else each.code)


def again(principal: Principal, host: UUID, leases: Iterable[UUID]) -> list[Lease]:
    """Open leases as messages, their capabilities signed anew."""
    wanted = list(leases)
    if not wanted:
        return []
    found = rows(_DETAILS, {"leases": wanted, "account": principal.account_id})
    return [lease_message(each, principal, host) for each in found]


def replayed(principal: Principal, leases: list[UUID]) -> Standing:
    """What the leases of an earlier answer have become."""
    found = Standing()
    for each in rows(_LEASES, {"leases": leases, "account": principal.account_id}):
        if each.state == LeaseState.OPEN:
            found.open.append(each.lease_id)
        elif each.state not in {LeaseState.EXPIRED, LeaseState.REPORTED}:
            tell(found, each)
    return found


def write(
    principal: Principal,
    sender: Sender,
    message: ExchangeRequest,
    grants: list[Grant],
    told: Standing,
    answered: list[UUID],
    notice: str,
) -> Query:
    """What writes the whole answer: the new leases, what was told, and the host's place.

    `notice`: the code of why the host got no work, or `ok`.
    """
    accepted = sum(each.verdict == LeaseState.ACCEPTED for each in told.settled)
    rejected = sum(each.verdict == LeaseState.REJECTED for each in told.settled)
    failed = sum(each.code not in BLAMELESS_RETURNS for each in message.returned)
    return query(
        _WRITE,
        {
            **columns(grants),
            "account": principal.account_id,
            "host": sender.id,
            "told": told.told,
            "seq": message.seq,
            "nonce": message.nonce,
            "answered": answered,
            "granted": len(grants),
            "version": message.version,
            "token": principal.token_id,
            "doing": _doing(message, bool(grants or told.open), notice),
            "resumes": message.resumes_s or None,
            "accepted": accepted,
            "rejected": rejected,
            "failed": failed + rejected,
        },
    )


def _doing(message: ExchangeRequest, holds: bool, notice: str) -> str:
    """What the machine's page says that it does."""
    if message.activity is not Activity.RUNNING:
        return PAUSED if message.activity is Activity.PAUSED else STOPPING
    if holds:
        return WORKING
    return READY if notice == "ok" else notice
