"""Everything about a request that the decision page shows; a bounded number of queries."""

from __future__ import annotations

from typing import Any

from django.db.models import Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from accounts.models import Account
from goblin_wire.states import RequestState
from gpugoblin_site import readable
from research_access.admin import decide, forms, viewing
from research_access.admin.flags import lasting_flags, naming, standing
from research_access.admin.history import items_of, mails_of
from research_access.admin.people import address_of, called, language_of
from research_access.admin.undoing import Standing, standing_of
from research_access.models import AccessRequest, Decision, Kind, Lab, SavedReply, Viewing
from research_access.services.rules import DEFAULT_DAILY_FLOPS, is_reviewer
from research_access.words import state_kind, state_words

PLAIN = ("name", "institution", "position", "field", "purpose", "size")
NEIGHBOURS = 10
EARLIER = 20


def facts_of(request: AccessRequest, reviewer: Account) -> dict[str, Any]:
    """For the template; the request's account must come with its person."""
    everything = _decisions_about(request.account)
    decisions = [each for each in everything if each.request_id == request.pk]
    last = decisions[-1] if decisions else None
    mails = mails_of(decisions)
    looking = viewing.others([request], reviewer).get(request.pk, [])
    earlier, neighbours, named_by = _other_requests(request)
    decided = {request.account_id: standing(everything)}
    same = {request.institution_search: named_by}
    flags = lasting_flags([request], reviewer, decided, same)
    return {
        "row": request,
        "person": called(request.account),
        "address": address_of(request.account),
        "reads": language_of(request.account),
        "state": {"kind": state_kind(request.state), "text": state_words(request.state)},
        "answers": answers_of(request),
        "flags": flags[request.pk],
        "history": items_of(request, decisions, mails),
        "earlier": earlier,
        "neighbours": neighbours,
        "labs": _labs(request.account),
        "live": _live(standing_of(last, reviewer, mails), looking, last, None),
        "panels": _panels(request, reviewer, last),
        "replies": SavedReply.objects.all(),
        "own": request.account_id == reviewer.pk,
        "may_decide": is_reviewer(reviewer),
    }


def live_of(
    request: AccessRequest, reviewer: Account, last: Decision | None, shown: int | None
) -> dict[str, Any]:
    """What changes while the page is open. `shown`: the last decision that the page knows; None
    where it did not say."""
    looking = viewing.others([request], reviewer).get(request.pk, [])
    mails = mails_of([last] if last is not None else [])
    return _live(standing_of(last, reviewer, mails), looking, last, shown)


def _live(
    notice: Standing | None, looking: list[Viewing], last: Decision | None, shown: int | None
) -> dict[str, Any]:
    undoable = notice is not None and notice.undo is not None
    newest = last.pk if last is not None else 0
    return {
        "looking": [{"name": called(row.reviewer), "since": row.since} for row in looking],
        "standing": notice,
        "moved": shown is not None and newest not in (0, shown),
        "shown": newest if shown is None else shown,
        "every": viewing.UNDO_BEAT_S if undoable else viewing.BEAT_S,
    }


def answers_of(request: AccessRequest) -> list[dict[str, Any]]:
    """The questions of the form with what was answered."""
    found = [_answer(name, getattr(request, name)) for name in PLAIN]
    found.insert(3, _answer("web_page", request.web_page) | {"link": _is_web(request.web_page)})
    kinds = ", ".join(str(Kind(kind).label) for kind in request.kinds if kind in Kind.values)
    found.insert(6, _answer("kinds", kinds))
    found.append(_answer("daily_flops", _quota(request)))
    found.append(_answer("no_confidential", _yes(request.no_confidential)))
    found.append(_answer("noncommercial", _yes(request.noncommercial)))
    return found


def _answer(name: str, value: str) -> dict[str, Any]:
    label = AccessRequest._meta.get_field(name).verbose_name  # type: ignore[union-attr]
    return {"name": name, "label": label, "value": value}


def _is_web(address: str) -> bool:
    return address.startswith(("https://", "http://"))


def _yes(value: bool | None) -> str:
    if value is None:
        return _("not answered")
    return _("confirmed") if value else _("not confirmed")


def _quota(request: AccessRequest) -> str:
    if request.daily_flops is None:
        return _("the default, %(quota)s") % {"quota": readable.flops(DEFAULT_DAILY_FLOPS)}
    return readable.flops(request.daily_flops)


def _decisions_about(account: Account) -> list[Decision]:
    """All decisions about the person's requests, with who made them, in their order."""
    rows = Decision.objects.filter(request__account=account)
    return list(rows.select_related("actor__person").order_by("id"))


def _other_requests(
    request: AccessRequest,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]], int]:
    """Other requests of the person, those of others of the same institution, each with the newest
    first, and how many accounts name the institution; one query."""
    institution = request.institution_search or None
    named_by = naming().filter(institution_search=institution).values("accounts")
    sent = AccessRequest.objects.exclude(state=RequestState.DRAFT.value).order_by("-id")
    sent = sent.annotate(named_by=Coalesce(Subquery(named_by), 1))
    earlier = sent.filter(account=request.account_id).exclude(pk=request.pk)[:EARLIER]
    named = sent.filter(institution_search=institution)
    neighbours = named.exclude(account=request.account_id)[:NEIGHBOURS]
    rows = sorted(earlier.union(neighbours, all=True), key=lambda row: -row.pk)
    own = [_short(row) for row in rows if row.account_id == request.account_id]
    others = [row for row in rows if row.account_id != request.account_id]
    return own, [_short(row) for row in others], others[0].named_by if others else 1


def _short(row: AccessRequest) -> dict[str, Any]:
    return {
        "pk": row.pk,
        "name": str(row),
        "submitted": row.submitted,
        "kind": state_kind(row.state),
        "state": state_words(row.state),
    }


def _labs(account: Account) -> list[Lab]:
    """The labs that the person is a member of."""
    return list(Lab.objects.filter(members__account=account).order_by("name")[:EARLIER])


def _panels(
    request: AccessRequest, reviewer: Account, last: Decision | None
) -> list[forms.MoveForm]:
    """A form for each move that this reviewer may make now."""
    if request.account_id == reviewer.pk or not is_reviewer(reviewer):
        return []
    seen = last.pk if last is not None else 0
    return [forms.fresh(move, seen, request) for move in decide.possible(request)]
