"""What happened to a request, as its applicant reads it."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from goblin_wire.states import RequestState
from gpugoblin_site.readable import flops
from research_access.models import AccessRequest, Decision, Message
from research_access.words import state_kind

HEADLINES: dict[str, str | Promise] = {
    RequestState.SUBMITTED: gettext_lazy("The request was sent."),
    RequestState.INFO_ASKED: gettext_lazy("A question, before it is decided:"),
    RequestState.APPROVED: gettext_lazy("Approved."),
    RequestState.DECLINED: gettext_lazy("Declined, for this reason:"),
    RequestState.WITHDRAWN: gettext_lazy("Withdrawn."),
    RequestState.REVOKED: gettext_lazy("The approval was revoked, for this reason:"),
}


class Item(NamedTuple):
    """One thing that happened, for components/timeline.html."""

    when: datetime
    who: str
    text: str
    kind: str


def timeline(request: AccessRequest) -> list[Item]:
    """Messages and decisions in their order, in two queries."""
    said = [_message(request, row) for row in request.messages.order_by("id")]
    done = [_decision(request, row) for row in request.decisions.order_by("id")]
    return sorted([*said, *done], key=lambda item: item.when)


def _message(request: AccessRequest, row: Message) -> Item:
    text = row.text or _("(This message was erased.)")
    return Item(row.created, _who(request, row.author_id), text, "info")


def _decision(request: AccessRequest, row: Decision) -> Item:
    who = _who(request, row.actor_id)
    if row.undoes_id is not None:
        return Item(row.created, who, _("The last decision was taken back."), "waiting")
    return Item(row.created, who, "\n\n".join(_told(row)), state_kind(row.to_state))


def _told(row: Decision) -> list[str]:
    headline = str(HEADLINES[row.to_state])
    if row.from_state == RequestState.INFO_ASKED and row.to_state == RequestState.SUBMITTED:
        headline = _("The question was answered.")
    if row.from_state == RequestState.DRAFT and row.to_state == RequestState.WITHDRAWN:
        headline = _("The draft was thrown away.")
    parts = [headline]
    if row.to_state == RequestState.APPROVED and row.daily_flops:
        parts.append(
            _("Your labs may use up to {quota} a day together.").format(
                quota=flops(row.daily_flops)
            )
        )
    return [*parts, row.reason] if row.reason else parts


def _who(request: AccessRequest, account_id: int) -> str:
    return _("You") if account_id == request.account_id else _("A reviewer")
