"""What does your research need? The form for the catalogue, and what came of one's proposals."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.models import Account
from goblin_wire.problems import Problem
from gpugoblin_site.sentences import told
from research_access import services
from research_access.forms import ProposalForm
from research_access.models import Proposal, ProposalMove, ProposalState
from research_access.pages.common import account_of, page

LISTED = 100
KINDS: dict[str, str] = {
    ProposalState.OPEN: "waiting",
    ProposalState.PLANNED: "info",
    ProposalState.BUILT: "done",
    ProposalState.DECLINED: "refused",
}


@page
@require_http_methods(["GET", "HEAD", "POST"])
def proposals(request: HttpRequest) -> HttpResponse:
    """The form, and the reader's own proposals with the answers."""
    if request.method != "POST":
        return _shown(request, ProposalForm())
    form = ProposalForm(request.POST)
    if not form.is_valid():
        return _shown(request, form, status=422)
    try:
        services.propose(account_of(request), **form.cleaned_data)
    except Problem as problem:
        form.add_error(None, told(problem))
        return _shown(request, form, status=problem.status)
    messages.success(request, _("Sent. A person reads it, and the answer comes by mail."))
    return redirect("proposals")


def _shown(request: HttpRequest, form: ProposalForm, status: int = 200) -> HttpResponse:
    facts = {"form": form, "items": _listed(account_of(request))}
    return render(request, "research_access/proposals.html", facts, status=status)


def _listed(account: Account) -> list[dict[str, Any]]:
    """The newest first, each with its state and the last answer, in two queries."""
    moves = Prefetch("moves", ProposalMove.objects.order_by("id"))
    rows = Proposal.objects.filter(account=account).order_by("-id").prefetch_related(moves)
    return [_item(row) for row in rows[:LISTED]]


def _item(row: Proposal) -> dict[str, Any]:
    last = next(reversed(row.moves.all()), None)
    return {
        "row": row,
        "state": row.get_state_display(),
        "kind": KINDS[row.state],
        "since": last.created if last else row.created,
        "answer": last.answer if last else "",
        "title": row.title(get_language() or "") if row.state != ProposalState.DECLINED else "",
    }
