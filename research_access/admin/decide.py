"""What a reviewer can do with a request: four decisions, and a message that decides nothing."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import Account
from goblin_wire.states import REQUEST_MOVES, RequestState
from research_access import services
from research_access.models import AccessRequest, Decision


@dataclass(frozen=True)
class Move:
    """One of them. `to` is the state that it leads to; none: the state stays."""

    code: str
    to: RequestState | None
    label: Promise
    """On the button that does it."""
    all_label: Promise
    """On the button that does it to several at once."""
    means: Promise
    """What follows from it."""
    needs_reason: bool = True
    dangerous: bool = False


@dataclass(frozen=True)
class Said:
    """What the reviewer put into the form. `seen`: the last decision that the page showed."""

    reason: str
    daily_flops: int | None
    seen: int | None


APPROVE = Move(
    "approve",
    RequestState.APPROVED,
    _("Approve"),
    _("Approve all"),
    _("The person can open labs within the quota and invite members at once."),
    needs_reason=False,
)
ASK = Move(
    "ask",
    RequestState.INFO_ASKED,
    _("Ask"),
    _("Ask all"),
    _("The person can change the answers and send it again; until then it leaves the queue."),
)
DECLINE = Move(
    "decline",
    RequestState.DECLINED,
    _("Decline"),
    _("Decline all"),
    _("The person reads the reason and may apply again with the old answers."),
    dangerous=True,
)
REVOKE = Move(
    "revoke",
    RequestState.REVOKED,
    _("Revoke the approval"),
    _("Revoke all"),
    _("The labs of this approval are suspended and their tokens stop at once."),
    dangerous=True,
)
TELL = Move(
    "tell",
    None,
    _("Send the message"),
    _("Send the message"),
    _("It stands in the history and leaves by mail at once; the request keeps its place."),
)
MOVES = {move.code: move for move in (APPROVE, ASK, DECLINE, REVOKE, TELL)}


def possible(request: AccessRequest) -> list[Move]:
    """What can be done with a request in its state, in the order of the page."""
    after = REQUEST_MOVES[RequestState(request.state)]
    found = [move for move in MOVES.values() if move.to in after]
    talking = request.state in (RequestState.SUBMITTED, RequestState.INFO_ASKED)
    return [*found, TELL] if talking else found


def make(move: Move, request: AccessRequest, reviewer: Account, said: Said) -> Decision | None:
    """Do it; None for a message. Raises the problems of `research_access.services`."""
    if move is APPROVE:
        return services.approve(
            request, reviewer, reason=said.reason, daily_flops=said.daily_flops, seen=said.seen
        )
    if move is TELL:
        services.tell(request, reviewer, said.reason)
        return None
    moves = {"ask": services.ask_info, "decline": services.decline, "revoke": services.revoke}
    return moves[move.code](request, reviewer, said.reason, seen=said.seen)
