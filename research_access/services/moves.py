"""One move of a request: checked against the table, recorded, told by mail."""

from __future__ import annotations

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Account, Person
from goblin_wire.problems import Conflict
from goblin_wire.states import REQUEST_MOVES, RequestState
from research_access import mail
from research_access.models import AccessRequest, Decision
from research_access.words import state_words


def move(
    request: AccessRequest,
    state: RequestState,
    actor: Account,
    *,
    reason: str = "",
    daily_flops: int | None = None,
) -> Decision:
    """Move a locked request and queue the mail that tells its applicant.

    Raises `Conflict`, which says what was decided meanwhile, for a move that the table lacks.
    """
    before = RequestState(request.state)
    if state not in REQUEST_MOVES[before]:
        raise Conflict(what_stands(request, actor))
    decision = record(request, state, actor, reason=reason, daily_flops=daily_flops)
    if before is not RequestState.DRAFT or state is not RequestState.WITHDRAWN:
        # Of a draft that was thrown away only its writer knew.
        mail.tell_decision(request, decision)
    return decision


def record(
    request: AccessRequest,
    state: RequestState,
    actor: Account,
    *,
    reason: str = "",
    daily_flops: int | None = None,
    undoes: Decision | None = None,
) -> Decision:
    """Set the state of a locked request and write it down."""
    decision = Decision(
        request=request,
        actor=actor,
        from_state=request.state,
        to_state=state.value,
        reason=reason,
        daily_flops=daily_flops,
        undoes=undoes,
        created=timezone.now(),
    )
    request.state = state.value
    request.changed = decision.created
    request.save(update_fields=["state", "changed", "submitted"])
    decision.save()
    return decision


def latest(request: AccessRequest) -> Decision | None:
    """The last decision on a request, with who made it."""
    return request.decisions.select_related("actor").order_by("-id").first()


def require_current(request: AccessRequest, seen: int | None, actor: Account) -> None:
    """Raises `Conflict` if another decision than `seen` (its number) is the last one."""
    last = latest(request) if seen is not None else None
    if last is not None and last.pk != seen:
        raise Conflict(what_stands(request, actor))


def what_stands(request: AccessRequest, reader: Account) -> str:
    """One sentence: what became of a request, and to reviewers by whom and why."""
    last = latest(request)
    state = state_words(request.state)
    if last is None or request.account_id == reader.pk:
        return _("Nothing was changed: the request is meanwhile {state}.").format(state=state)
    told = _("Nothing was changed: the request is meanwhile {state}, by {who}.").format(
        state=state, who=_who(last.actor)
    )
    return f"{told} {last.reason}".strip()


def _who(account: Account) -> str:
    person = Person.objects.filter(account=account).first()
    return (person.name or person.email) if person else str(account)
