"""The one call of a volunteer's client: reports in, leases out.

Two transactions: reports are on disk before the answer leaves; claims are not, since a claim that
is lost in a crash is just made again. A message that was answered before gets the same answer.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import transaction

from accounts.authentication import Principal
from goblin_wire.exchange import ExchangeReply, ExchangeRequest, Unknown, Want
from goblin_wire.protocol import require_protocol
from workunits import answers, hosts, limits, notices, reports
from workunits.answers import Standing
from workunits.capabilities import lease_message
from workunits.claims import Claim, Grant
from workunits.hosts import Sender
from workunits.leasetime import pause_seconds
from workunits.notices import Notice
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

    Raises `UnsupportedProtocol`, `CopiedHost` or `NotAllowed`; nothing was taken then.
    """
    require_protocol(message.protocol)
    uid = UUID(hex=message.host)
    sender = hosts.find(principal, uid)
    if hosts.is_retry(sender, message):
        return _replay(principal, uid, sender, message)
    copies, unknown = reports.take(principal, sender.id, message.done, message.returned)
    with transaction.atomic():
        sender = hosts.lock(principal.account_id, sender.id)
        if hosts.is_retry(sender, message):
            return _replay(principal, uid, sender, message)
        hosts.note_devices(sender, message.want)
        answer = _decide(principal, sender, message)
        answered = [*(g.lease_id for g in answer.grants), *answer.again, *answer.standing.told]
        answers.write(principal, sender, message, answer.grants, answer.standing, answered)
    return _reply(principal, uid, sender, answer, unknown, reported=bool(copies))


def _decide(principal: Principal, sender: Sender, message: ExchangeRequest) -> Answer:
    is_new = sender.account_proven < limits.NEW_ACCOUNT_UNITS
    standing = answers.standing(principal, sender.id, message, whole_account=is_new)
    listed = {UUID(hex=each.lease) for each in message.holding}
    again = [lease for lease in standing.open if lease not in listed]
    pause = _pause(sender)
    allowance = 0 if pause else _allowance(sender, standing)
    claim = Claim(principal.account_id, allowance)
    claim.take(message.want)
    notice = notices.NONE
    if claim.short and not claim.grants:
        notice = _why(standing, claim, pause, allowance)
    limited = claim.allowance <= 0 or bool(claim.refusal)
    return Answer(standing, claim.grants, again, claim.short, notice, pause, limited)


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


def _why(standing: Standing, claim: Claim, pause: float, allowance: int) -> Notice:
    if pause:
        return notices.slowed_down(pause)
    if claim.refusal:
        return notices.LAB_LIMITS[claim.refusal]
    if allowance:
        return notices.no_work(claim.short)
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
        _wait(reply, principal, sender, answer.short)


def _wait(reply: ExchangeReply, principal: Principal, sender: Sender, short: list[Want]) -> None:
    reply.wait_url = f"{settings.GOBLIN_WAIT_URL}/wait"
    reply.ticket = seal(
        ClientTicket(
            principal.account_id,
            sender.id,
            max(want.memory for want in short),
            max(want.catalogue for want in short),
            lifetime_end(),
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
