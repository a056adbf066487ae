"""The mails of this app. A decision's mail leaves late enough for the decision to be undone."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.urls import reverse

from goblin_wire.states import RequestState
from gpugoblin_site.mail import outbox, text
from research_access.models import (
    AccessRequest,
    Decision,
    Invitation,
    Message,
    Proposal,
    ProposalMove,
)

UNDO = timedelta(minutes=2)
AT_ONCE = timedelta(0)
MESSAGE = "access_message"


def key_of(decision: Decision) -> str:
    """Under which key the outbox knows the mail about a decision."""
    return f"decision:{decision.pk}"


def tell_decision(request: AccessRequest, decision: Decision) -> None:
    """Queue the mail about a move: at once if it is the applicant's own, else after `UNDO`."""
    own = decision.actor_id == request.account_id
    outbox.queue(
        request.account,
        _template(decision),
        _context(request, decision),
        key=key_of(decision),
        delay=AT_ONCE if own else UNDO,
    )


def preview(request: AccessRequest, decision: Decision, language: str) -> text.Text:
    """The mail about a decision that has not been made, as its reader would get it."""
    return text.render(_template(decision), _context(request, decision), language)


def _template(decision: Decision) -> str:
    return f"access_{decision.to_state}"


def _context(request: AccessRequest, decision: Decision) -> dict[str, str | int]:
    return {
        "reason": decision.reason,
        "daily_flops": decision.daily_flops or 0,
        "request_url": _url("access-request", request.key),
        "labs_url": _url("labs"),
        "again": int(decision.from_state == RequestState.INFO_ASKED),
    }


def take_back(decision: Decision) -> bool:
    """Whether the mail about a decision could be stopped."""
    return outbox.cancel(key_of(decision))


def tell_message(request: AccessRequest, message: Message) -> None:
    """Queue the mail that brings a reviewer's message."""
    outbox.queue(
        request.account,
        MESSAGE,
        _message_context(request, message.text),
        key=f"message:{message.pk}",
    )


def preview_message(request: AccessRequest, said: str, language: str) -> text.Text:
    """The mail about a message that has not been sent, as its reader would get it."""
    return text.render(MESSAGE, _message_context(request, said), language)


def _message_context(request: AccessRequest, said: str) -> dict[str, str | int]:
    return {"text": said, "request_url": _url("access-request", request.key)}


def tell_proposal(proposal: Proposal, move: ProposalMove) -> None:
    """Queue the mail with the answer to a proposal."""
    outbox.queue(
        proposal.account,
        f"proposal_{move.to_state}",
        {
            "what": proposal.what,
            "answer": move.answer,
            "proposals_url": _url("proposals"),
            "catalogue_url": _url("catalogue"),
        },
        key=f"proposal:{move.pk}",
    )


def invite(invitation: Invitation, token: str) -> None:
    """Queue the mail with the link of an invitation; its text is wiped once it has left."""
    outbox.queue(
        invitation.email,
        "lab_invitation",
        {
            "lab": invitation.lab.name,
            "url": _url("invitation", token),
            "days": round((invitation.expires - invitation.created) / timedelta(days=1)),
        },
        key=_key_of_invitation(invitation),
        expires=invitation.expires - invitation.created,
        secret=True,
    )


def take_invitation_back(invitation: Invitation) -> None:
    """Stop the mail with the link, if it has not left."""
    outbox.cancel(_key_of_invitation(invitation))


def _key_of_invitation(invitation: Invitation) -> str:
    return f"invitation:{invitation.pk}"


def _url(name: str, *arguments: object) -> str:
    return f"{settings.GOBLIN_SITE_URL}{reverse(name, args=arguments)}"
