"""The one call of a volunteer's client: reports in, leases out.

One transaction in four round trips to the database: who sends what of which units; the reports
written and what stands; the choice of units; the answer written. Reports are on disk before the
answer leaves; a message without any is not, since a claim that is lost in a crash is just made
again. A message that was answered before gets the same answer.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.authentication import Principal
from goblin_wire.exchange import ExchangeReply, ExchangeRequest, Unknown, Want
from goblin_wire.protocol import require_protocol
from workunits import (
    answers,
    candidates,
    claims,
    database,
    hosts,
    limits,
    notices,
    reports,
    snapshot,
    switches,
)
from workunits.answers import Standing
from workunits.capabilities import lease_message
from workunits.claims import Claim, Grant
from workunits.database import Row
from workunits.hosts import Sender
from workunits.identifiers import uuids
from workunits.leasetime import pause_seconds
from workunits.notices import Notice
from workunits.reports import Reports
from workunits.snapshot import Held
from workunits.tickets import ClientTicket, lifetime_end, seal

SOON_MS = 1_000
BUSY_MS = 15_000
REPORTED_MS = 4_000


class Answer(NamedTuple):
    """What one exchange decided, before it is put into words."""

    standing: Standing
    grants: list[Grant]
    again: list[UUID]
    short: list[Want]
    notice: Notice
    pause: float
    limited: bool
    """Waiting makes no sense: what is there is kept back by a limit."""


def exchange(principal: Principal, message: ExchangeRequest) -> ExchangeReply:
    """Answer one message of a client.

    Raises `UnsupportedProtocol`, `CopiedHost`, `HostRemoved` or `NotAllowed`; nothing was taken
    then.
    """
    require_protocol(message.protocol)
    uid = UUID(hex=message.host)
    with transaction.atomic():
        sender, held = _open(principal, uid, message)
        hosts.require_present(sender)
        if hosts.is_retry(sender, message):
            return _replay(principal, uid, sender, message)
        ids = reports.ids_of(message.done, message.returned)
        taken = reports.take(principal, sender.id, ids, message, held)
        answer = _decide(principal, sender, message, taken)
        answered = [*(g.lease_id for g in answer.grants), *answer.again, *answer.standing.told]
        database.finish(
            [
                *hosts.note_devices(sender, message.want),
                answers.write(
                    principal,
                    sender,
                    message,
                    answer.grants,
                    answer.standing,
                    answered,
                    answer.notice.code,
                ),
            ]
        )
    unknown = taken.unknown(message.done)
    return _reply(principal, uid, sender, answer, unknown, reported=bool(taken.copies))


def _open(
    principal: Principal, uid: UUID, message: ExchangeRequest
) -> tuple[Sender, dict[int, Held]]:
    """Take the account's turn; find the host, and lock the units that the message speaks of.

    In this order: whoever holds units and waits for a host's row waits for no turn.
    """
    ids = reports.ids_of(message.done, message.returned)
    first = [
        hosts.lock(principal.account_id, lasting=bool(ids)),
        hosts.find(principal.account_id, uid, message.version),
    ]
    if any(each.capability for each in message.done):
        found = database.together(first)
        reports.recreate(principal, message.done)
        found += database.together(snapshot.of_leases(ids, account=principal.account_id))
    else:
        locking = snapshot.of_leases(ids, account=principal.account_id) if ids else []
        found = database.together([*first, *locking])
    sender = hosts.sender_of(found[1]) or hosts.make(principal, uid, message.label, message.version)
    return sender, snapshot.held_units(*found[2:]) if ids else {}


def _decide(
    principal: Principal, sender: Sender, message: ExchangeRequest, taken: Reports
) -> Answer:
    hungry = [want for want in message.want if want.units > 0]
    in_flight, jobs = _look(principal, sender, message, taken, hungry)
    standing = answers.standing(principal, sender.id, message, in_flight)
    listed = set(uuids([each.lease for each in message.holding]))
    again = [lease for lease in standing.open if lease not in listed]
    pause = _pause(sender)
    is_off = sender.switched_off is not None
    allowance = 0 if pause or is_off else _allowance(sender, standing)
    claim = Claim(principal.account_id, allowance)
    claim.take(hungry, candidates.candidates(jobs))
    notice = notices.NONE
    if sender.switched_off is not None:
        notice = Notice(switches.CODE, sender.switched_off)
    elif claim.short and not claim.grants:
        notice = _why(principal, standing, claim, pause, allowance)
    limited = claim.allowance <= 0 or bool(claim.refusal)
    return Answer(standing, claim.grants, again, claim.short, notice, pause, limited)


def _look(
    principal: Principal,
    sender: Sender,
    message: ExchangeRequest,
    taken: Reports,
    hungry: list[Want],
) -> tuple[list[Row], list[Row]]:
    """Write the reports; then the leases in flight, and the jobs to lease from."""
    is_new = sender.account_proven < limits.NEW_ACCOUNT_UNITS
    reporting = taken.changes.statements()
    looking = [
        answers.renew(principal.account_id, sender.id, message.holding, whole_account=is_new)
    ]
    if hungry:
        looking.append(claims.look(hungry))
    if taken.disputed:
        database.together(reporting)
        reports.pause_disputed(taken.disputed)
        reporting = []
    found = database.together([*reporting, *looking])[len(reporting) :]
    return found[0], found[1] if hungry else []


def _allowance(sender: Sender, standing: Standing) -> int:
    host = limits.MAX_OPEN_LEASES_PER_HOST - len(standing.open)
    if sender.account_proven >= limits.NEW_ACCOUNT_UNITS:
        return max(0, host)
    return max(0, min(host, limits.NEW_ACCOUNT_OPEN_LEASES - standing.account_open))


def _pause(sender: Sender) -> float:
    """Seconds that the host has to wait after leases that came to nothing."""
    waits = [
        pause_seconds(failed) - (sender.now - since).total_seconds()
        for failed, since in (
            (sender.failed_in_row, sender.failed_at),
            (sender.account_failed_in_row, sender.account_failed_at),
        )
        if since is not None
    ]
    return max([0.0, *waits])


def _why(
    principal: Principal, standing: Standing, claim: Claim, pause: float, allowance: int
) -> Notice:
    if pause:
        return notices.slowed_down(pause)
    if claim.refusal:
        return notices.LAB_LIMITS[claim.refusal]
    if allowance:
        return notices.no_work(principal.account_id, claim.short)
    if len(standing.open) >= limits.MAX_OPEN_LEASES_PER_HOST:
        return notices.host_limit(limits.MAX_OPEN_LEASES_PER_HOST)
    return notices.account_limit(limits.NEW_ACCOUNT_OPEN_LEASES, limits.NEW_ACCOUNT_UNITS)


def _reply(
    principal: Principal,
    uid: UUID,
    sender: Sender,
    answer: Answer,
    unknown: list[UUID],
    *,
    reported: bool,
) -> ExchangeReply:
    reply = ExchangeReply(
        leases=[lease_message(grant, principal, uid) for grant in answer.grants],
        again=answers.again(principal, uid, answer.again),
        ended=answer.standing.ended,
        settled=answer.standing.settled,
        unknown=[Unknown(lease=lease.hex) for lease in unknown],
        notice=answer.notice.sentence,
        notice_code=answer.notice.code,
    )
    _invite(reply, principal, sender, answer, reported=reported)
    return reply


def _invite(
    reply: ExchangeReply, principal: Principal, sender: Sender, answer: Answer, *, reported: bool
) -> None:
    """Say when to come back, and where to wait until then."""
    if answer.pause:
        reply.poll_after_ms = min(int(answer.pause * 1000) + 1, 3_600_000)
        return
    reply.poll_after_ms = BUSY_MS
    if reported or answer.grants:
        reply.poll_after_ms = REPORTED_MS
    if answer.short and not answer.limited:
        reply.poll_after_ms = SOON_MS
        _wait(reply, principal, sender, answer)


def _wait(reply: ExchangeReply, principal: Principal, sender: Sender, answer: Answer) -> None:
    reply.wait_url = f"{settings.GOBLIN_WAIT_URL}/wait"
    reply.ticket = seal(
        ClientTicket(
            principal.account_id,
            sender.id,
            max(want.memory for want in answer.short),
            max(want.catalogue for want in answer.short),
            lifetime_end(),
            busy=bool(answer.grants or answer.standing.open),
        )
    )


def _replay(
    principal: Principal, uid: UUID, sender: Sender, message: ExchangeRequest
) -> ExchangeReply:
    """The answer that was lost on its way, from the ids that the host's row keeps."""
    standing = answers.replayed(principal, sender.answered)
    granted = set(sender.answered[: sender.granted])
    leases = answers.again(principal, uid, [x for x in standing.open if x in granted])
    again = answers.again(principal, uid, [x for x in standing.open if x not in granted])
    unknown = reports.unknown(principal, message.done)
    return ExchangeReply(
        leases=leases,
        again=again,
        ended=standing.ended,
        settled=standing.settled,
        unknown=[Unknown(lease=lease.hex) for lease in unknown],
        poll_after_ms=SOON_MS,
    )
