"""What reviewers do with requests. Each decision can be taken back until its mail leaves."""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from datetime import timedelta

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Account
from goblin_wire.problems import Conflict, NotAllowed
from goblin_wire.states import RequestState
from research_access import mail
from research_access.models import AccessRequest, Decision, Lab, LabState
from research_access.services import rules
from research_access.services.moves import latest, move, record, require_current

DECIDING = frozenset(
    {
        RequestState.INFO_ASKED,
        RequestState.APPROVED,
        RequestState.DECLINED,
        RequestState.REVOKED,
    }
)
WAITS_COUNTED = 20


def ask_info(
    request: AccessRequest, reviewer: Account, reason: str, *, seen: int | None = None
) -> Decision:
    """Ask the researcher something before deciding."""
    return _review(request, RequestState.INFO_ASKED, reviewer, rules.stated(reason), seen=seen)


def approve(
    request: AccessRequest,
    reviewer: Account,
    *,
    reason: str = "",
    daily_flops: int | None = None,
    seen: int | None = None,
) -> Decision:
    """Let the researcher open labs with this quota (none: what was asked for, or the default)."""
    said = rules.stated(reason) if reason.strip() else ""
    return _review(
        request, RequestState.APPROVED, reviewer, said, daily_flops=daily_flops, seen=seen
    )


def decline(
    request: AccessRequest, reviewer: Account, reason: str, *, seen: int | None = None
) -> Decision:
    """Refuse a request, with the reason."""
    return _review(request, RequestState.DECLINED, reviewer, rules.stated(reason), seen=seen)


@transaction.atomic
def revoke(
    request: AccessRequest, reviewer: Account, reason: str, *, seen: int | None = None
) -> Decision:
    """Take an approval back; its labs are suspended, so their tokens stop at once."""
    said = rules.stated(reason)
    decision = _review(request, RequestState.REVOKED, reviewer, said, seen=seen)
    Lab.objects.filter(request=request, state=LabState.ACTIVE).update(
        state=LabState.SUSPENDED, suspended_by=decision
    )
    return decision


@transaction.atomic
def _review(
    request: AccessRequest,
    state: RequestState,
    reviewer: Account,
    reason: str,
    *,
    daily_flops: int | None = None,
    seen: int | None = None,
) -> Decision:
    """Raises `NotAllowed`, `BadMessage`, or `Conflict` if it stands otherwise than the reviewer
    saw: `seen` is the number of the last decision that the page showed."""
    rules.require_reviewer(reviewer)
    row = rules.locked(request)
    if row.account_id == reviewer.pk:
        raise NotAllowed(_("Nobody decides on a request of their own."))
    require_current(row, seen, reviewer)
    rules.require_impersonal(reason, row, reviewer)
    quota = _quota(row, daily_flops) if state is RequestState.APPROVED else None
    return move(row, state, reviewer, reason=reason, daily_flops=quota)


def _quota(row: AccessRequest, daily_flops: int | None) -> int:
    asked = daily_flops if daily_flops is not None else row.daily_flops
    quota = rules.DEFAULT_DAILY_FLOPS if asked is None else asked
    rules.require_quota(quota)
    return quota


@transaction.atomic
def undo(decision: Decision, reviewer: Account) -> Decision:
    """Take back one's own last decision before its mail leaves; this is a decision of its own.

    Raises `NotAllowed`, or `Conflict` once the mail left or something rests on the decision.
    """
    rules.require_reviewer(reviewer)
    row = rules.locked(decision.request)
    _require_undoable(row, decision, reviewer)
    if not mail.take_back(decision):
        raise Conflict(_("It is too late: the mail about this decision has left."))
    try:
        with transaction.atomic():
            undone = record(row, RequestState(decision.from_state), reviewer, undoes=decision)
    except IntegrityError:
        raise Conflict(_("It is too late: the person has begun another request.")) from None
    Lab.objects.filter(suspended_by=decision).update(state=LabState.ACTIVE, suspended_by=None)
    return undone


def _require_undoable(row: AccessRequest, decision: Decision, reviewer: Account) -> None:
    if decision.actor_id != reviewer.pk:
        raise NotAllowed(_("A decision is taken back by the reviewer who made it."))
    if decision.undoes_id is not None or decision.to_state not in DECIDING:
        raise NotAllowed(_("This can't be taken back."))
    last = latest(row)
    if last is None or last.pk != decision.pk:
        raise Conflict(_("It is too late: something happened since this decision."))
    if timezone.now() - decision.created > mail.UNDO:
        raise Conflict(_("It is too late: the mail about this decision has left."))
    if decision.to_state == RequestState.APPROVED and row.labs.exists():
        raise Conflict(_("A lab was opened already; revoke the approval instead."))


def approved_flops(requests: Iterable[AccessRequest]) -> dict[int, int]:
    """The daily quota that each request's approval set, by its number; one query."""
    approvals = Decision.objects.filter(
        request__in=list(requests),
        to_state=RequestState.APPROVED.value,
        undoes__isnull=True,
        undone_by__isnull=True,
    ).order_by("id")
    found = approvals.values_list("request_id", "daily_flops")
    return {
        number: rules.DEFAULT_DAILY_FLOPS if flops is None else flops for number, flops in found
    }


def median_wait() -> timedelta | None:
    """From sending a request to its decision, of the last 20 that were decided; None: no figure."""
    decided = Decision.objects.filter(
        to_state__in=[RequestState.APPROVED.value, RequestState.DECLINED.value],
        undoes__isnull=True,
        undone_by__isnull=True,
        request__submitted__isnull=False,
    ).order_by("-id")
    waits = decided.values_list(F("created") - F("request__submitted"), flat=True)[:WAITS_COUNTED]
    seconds = [wait.total_seconds() for wait in waits]
    return timedelta(seconds=statistics.median(seconds)) if seconds else None
