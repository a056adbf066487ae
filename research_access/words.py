"""The states of a request and of a lab in the reader's words."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import pgettext_lazy

from goblin_wire.states import RequestState

STATES: dict[RequestState, Promise] = {
    RequestState.DRAFT: pgettext_lazy("state of a request", "a draft"),
    RequestState.SUBMITTED: pgettext_lazy("state of a request", "submitted"),
    RequestState.INFO_ASKED: pgettext_lazy("state of a request", "waiting for an answer"),
    RequestState.APPROVED: pgettext_lazy("state of a request", "approved"),
    RequestState.DECLINED: pgettext_lazy("state of a request", "declined"),
    RequestState.WITHDRAWN: pgettext_lazy("state of a request", "withdrawn"),
    RequestState.REVOKED: pgettext_lazy("state of a request", "revoked"),
}
KINDS: dict[RequestState, str] = {
    RequestState.DRAFT: "info",
    RequestState.SUBMITTED: "waiting",
    RequestState.INFO_ASKED: "waiting",
    RequestState.APPROVED: "done",
    RequestState.DECLINED: "refused",
    RequestState.WITHDRAWN: "info",
    RequestState.REVOKED: "refused",
}
"""With which sign and colour a state is shown."""


def state_words(state: str) -> str:
    """How a state reads in the language of the page."""
    return str(STATES[RequestState(state)])


def state_kind(state: str) -> str:
    """One of the kinds of notices: info, waiting, done, refused."""
    return KINDS[RequestState(state)]
