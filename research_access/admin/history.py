"""What happened to a request, in order: decisions, messages, and what became of the mails."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from goblin_wire.states import RequestState
from gpugoblin_site import readable
from gpugoblin_site.mail.models import MailState, OutboxMail
from research_access.admin.people import called
from research_access.mail import key_of
from research_access.models import AccessRequest, Decision, Message
from research_access.words import state_kind, state_words


@dataclass(frozen=True)
class Item:
    """One entry, as `components/timeline.html` takes it."""

    when: datetime
    who: str
    text: str
    kind: str


def items_of(
    request: AccessRequest, decisions: Iterable[Decision], mails: Mapping[str, OutboxMail]
) -> list[Item]:
    """The history, the oldest first. The decisions must come with their actors' persons; `mails`
    as `mails_of` gives them."""
    items = [_decided(request, each, mails.get(key_of(each))) for each in decisions]
    messages = Message.objects.filter(request=request).select_related("author__person")
    items += [_said(message) for message in messages]
    return sorted(items, key=lambda item: item.when)


def mails_of(decisions: Iterable[Decision]) -> dict[str, OutboxMail]:
    """What became of the mails about decisions, by `key_of`; texts are not read."""
    keys = [key_of(decision) for decision in decisions]
    rows = OutboxMail.objects.filter(key__in=keys).defer("subject", "body", "detail")
    return {row.key: row for row in rows}


def _said(message: Message) -> Item:
    text = message.text or _("(The text was deleted with the account.)")
    return Item(message.created, called(message.author), text, "info")


def _decided(request: AccessRequest, decision: Decision, mail: OutboxMail | None) -> Item:
    parts = [_sentence(decision), decision.reason]
    if mail is not None and decision.actor_id != request.account_id:
        parts.append(_("Mail: %(state)s") % {"state": mail.get_state_display()})
        if mail.state == MailState.CANCELLED:
            parts[-1] = _("No mail left.")
    text = "\n\n".join(part for part in parts if part)
    return Item(decision.created, called(decision.actor), text, state_kind(decision.to_state))


def _sentence(decision: Decision) -> str:
    state = RequestState(decision.to_state)
    if decision.undoes_id is not None:
        return _("Took the decision back; the request is %(state)s again.") % {
            "state": state_words(state.value)
        }
    if state is RequestState.APPROVED:
        quota = readable.flops(decision.daily_flops or 0)
        return _("Approved, with %(quota)s a day.") % {"quota": quota}
    if state is RequestState.SUBMITTED:
        again = decision.from_state == RequestState.INFO_ASKED
        return _("Answered and sent again.") if again else _("Sent.")
    return {
        RequestState.INFO_ASKED: _("Asked for more."),
        RequestState.DECLINED: _("Declined."),
        RequestState.REVOKED: _("Revoked the approval."),
        RequestState.WITHDRAWN: _("Withdrew the request."),
    }.get(state, state_words(state.value))
