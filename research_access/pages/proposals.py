"""What does your research need? The form for the catalogue, and what came of one's proposals."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import Prefetch
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from accounts.models import Account
from goblin_wire.problems import Problem
from gpugoblin_site.sentences import told
from research_access import services
from research_access.forms import ProposalForm
from research_access.models import Proposal, ProposalMove, ProposalState
from research_access.pages.common import account_of, attempt, page

LISTED = 20
KINDS: dict[str, str] = {
    ProposalState.OPEN: "waiting",
    ProposalState.PLANNED: "info",
    ProposalState.BUILT: "done",
    ProposalState.DECLINED: "refused",
    ProposalState.WITHDRAWN: "info",
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
    page_of_rows = _listed(account_of(request), request.GET.get("page"))
    items = [_item(row) for row in page_of_rows]
    facts = {"form": form, "items": items, "page": page_of_rows}
    return render(request, "research_access/proposals.html", facts, status=status)


def _listed(account: Account, number: str | None) -> Page[Proposal]:
    """A page of them, the newest first, with their moves: three queries."""
    moves = Prefetch("moves", ProposalMove.objects.order_by("id"))
    rows = Proposal.objects.filter(account=account).order_by("-id").prefetch_related(moves)
    return Paginator(rows, LISTED).get_page(number)


def _item(row: Proposal) -> dict[str, Any]:
    last = next(reversed(row.moves.all()), None)
    return {
        "row": row,
        "state": row.get_state_display(),
        "kind": KINDS[row.state],
        "since": last.created if last else row.created,
        "answer": last.answer if last else "",
        "title": row.title(get_language() or "") if row.state != ProposalState.DECLINED else "",
        "is_open": row.state == ProposalState.OPEN,
    }


@page
def withdraw(request: HttpRequest, key: UUID) -> HttpResponse:
    """Take back a proposal of one's own; those of others do not exist here. Whoever comes to the
    address otherwise, as after a log-in on the way, is led to the list."""
    if request.method == "POST":
        account = account_of(request)
        row = get_object_or_404(Proposal, key=key, account=account)
        attempt(request, lambda: services.withdraw_proposal(row, account), _("Withdrawn."))
    return redirect("proposals")
