"""What a reviewer reads about the mail of the last decision, and whether it can still be undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import Account
from goblin_wire.states import RequestState
from gpugoblin_site import readable
from gpugoblin_site.mail.models import MailState, OutboxMail
from research_access.admin.people import called
from research_access.mail import UNDO, key_of
from research_access.models import Decision
from research_access.services.decisions import DECIDING


@dataclass(frozen=True)
class Standing:
    """The notice over a decided request. `undo`: the number of the decision that can be undone."""

    kind: str
    text: str
    undo: int | None = None


def standing_of(
    decision: Decision | None, reader: Account, mails: Mapping[str, OutboxMail]
) -> Standing | None:
    """None where no reviewer's decision is the last; it must come with its actor's person. `mails`
    as `history.mails_of` gives them."""
    if decision is None or decision.to_state not in DECIDING or decision.undoes_id is not None:
        return None
    mail = mails.get(key_of(decision))
    mine = decision.actor_id == reader.pk
    told = _told(decision, mine)
    left = UNDO - (timezone.now() - decision.created)
    if mail is not None and mail.state == MailState.WAITING and left > timedelta(0):
        leaves = _("The mail leaves in %(time)s.") % {"time": readable.duration(left)}
        return Standing("waiting", f"{told} {leaves}", decision.pk if mine else None)
    kind, sentence = _mail_said(mail)
    return Standing(kind, f"{told} {sentence}".strip())


def _told(decision: Decision, mine: bool) -> str:
    state = RequestState(decision.to_state)
    if mine:
        return {
            RequestState.INFO_ASKED: _("You asked for more."),
            RequestState.APPROVED: _("You approved the request."),
            RequestState.DECLINED: _("You declined the request."),
        }.get(state, _("You revoked the approval."))
    told = {
        RequestState.INFO_ASKED: _("%(who)s asked for more."),
        RequestState.APPROVED: _("%(who)s approved the request."),
        RequestState.DECLINED: _("%(who)s declined the request."),
    }.get(state, _("%(who)s revoked the approval."))
    return told % {"who": called(decision.actor)}


def _mail_said(mail: OutboxMail | None) -> tuple[str, str]:
    if mail is None:
        return "info", ""
    if mail.state in (MailState.WAITING, MailState.SENDING):
        return "waiting", _("The mail is on its way; this can't be undone any more.")
    if mail.state == MailState.SENT:
        when = readable.ago(mail.finished or mail.due)
        return "done", _("The mail left %(when)s; this can't be undone any more.") % {"when": when}
    if mail.state == MailState.CANCELLED:
        return "info", _("No mail left.")
    reason = {"reason": mail.get_code_display()}
    return "refused", _("The mail did not arrive: %(reason)s.") % reason
