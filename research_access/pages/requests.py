"""My requests: the list, the form of a draft, and the timeline of what was sent."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from goblin_wire.problems import Conflict, NotAllowed, Problem
from goblin_wire.states import RequestState
from gpugoblin_site.readable import flops
from gpugoblin_site.sentences import told
from research_access import services
from research_access.forms import MessageForm, RequestForm, answers_of
from research_access.models import AccessRequest, Kind
from research_access.pages.common import account_of, own_request, page
from research_access.pages.local_code import LOCAL
from research_access.services.requests import LINES, TEXTS
from research_access.timeline import timeline
from research_access.words import state_kind, state_words

EDITABLE = (RequestState.DRAFT, RequestState.INFO_ASKED)
LISTED = 100


@page
@require_safe
def my_requests(request: HttpRequest) -> HttpResponse:
    """All requests of the reader, the newest first."""
    rows = list(AccessRequest.objects.filter(account=account_of(request)).order_by("-id")[:LISTED])
    facts = {
        "rows": [_listed(row) for row in rows],
        "is_open": any(row.is_open for row in rows),
        "is_approved": any(row.state == RequestState.APPROVED for row in rows),
    }
    return render(request, "research_access/requests.html", facts | waiting())


def _listed(row: AccessRequest) -> dict[str, Any]:
    return {
        "row": row,
        "called": row.field or row.institution or _("No field stated yet"),
        "state": state_words(row.state),
        "kind": state_kind(row.state),
    }


def waiting() -> dict[str, Any]:
    """How long it takes, and what works meanwhile, for the pages that say so."""
    return {"wait": services.median_wait(), "local_code": LOCAL}


@page
@require_http_methods(["GET", "HEAD", "POST"])
def begin(request: HttpRequest) -> HttpResponse:
    """What is asked and who reads it; a press of the button begins the draft."""
    account = account_of(request)
    found = services.open_request(account)
    if found is not None:
        return redirect("access-request", found.key)
    if request.method == "POST":
        try:
            return redirect("access-request", services.draft(account).key)
        except Problem as problem:
            messages.error(request, told(problem))
            return redirect("access")
    return render(request, "research_access/begin.html", waiting())


@page
@require_http_methods(["GET", "HEAD", "POST"])
def one_request(request: HttpRequest, key: UUID) -> HttpResponse:
    """The form while it can be written, the timeline afterwards."""
    row = own_request(request, key)
    if request.method == "POST":
        return _posted(request, row)
    if row.state == RequestState.DRAFT or (row.state in EDITABLE and "edit" in request.GET):
        return form_page(request, row, RequestForm(initial=answers_of(row)))
    return timeline_page(request, row)


def _posted(request: HttpRequest, row: AccessRequest) -> HttpResponse:
    sending = request.POST.get("action") == "submit"
    form = RequestForm(request.POST, partial=not sending)
    fits = form.is_valid()
    problem = keep(row, request, form)
    if isinstance(problem, NotAllowed):
        # It was sent already, by another window or the same form a second time.
        return redirect("access-request", row.key)
    if problem is not None:
        return form_page(request, row, form, problem=problem)
    if not fits:
        return form_page(request, row, _again(request, form, row))
    if not sending:
        messages.success(request, _("Saved. Nothing was sent yet."))
        return redirect(f"{request.path}?edit")
    return _sent(request, row, form)


def _again(request: HttpRequest, form: RequestForm, row: AccessRequest) -> RequestForm:
    """The form with its errors and what was typed, at the version that is stored now."""
    row.refresh_from_db()
    stored = answers_of(row)
    data = request.POST.copy()
    for name in (*LINES, *TEXTS):
        # A file that came in the place of a text leaves the text as it was.
        data.setdefault(name, stored[name])
    data["version"] = str(row.version)
    form.data = data
    form.show_as_needed()
    return form


def keep(row: AccessRequest, request: HttpRequest, form: RequestForm) -> Problem | None:
    """Save what of a form is fit to be kept; the problem if nothing was."""
    try:
        saved = services.save_draft(
            row, account_of(request), version=form.cleaned_data.get("version"), **form.answers()
        )
    except Problem as problem:
        return problem
    row.version = saved.version
    return None


def _sent(request: HttpRequest, row: AccessRequest, form: RequestForm) -> HttpResponse:
    try:
        services.submit_request(row, account_of(request))
    except Conflict:
        # The same form a second time: it was sent, and the timeline says so.
        return redirect("access-request", row.key)
    except Problem as problem:
        return form_page(request, row, _again(request, form, row), problem=problem)
    messages.success(request, _("Sent. A person reads it; you get a mail when it is decided."))
    return redirect("access-request", row.key)


def form_page(
    request: HttpRequest, row: AccessRequest, form: RequestForm, *, problem: Problem | None = None
) -> HttpResponse:
    """The form; with what was typed and a sentence if it could not be kept."""
    if isinstance(problem, Conflict):
        form = _again(request, form, row)
    facts = {
        "row": row,
        "form": form,
        "problem": told(problem) if problem else "",
        "is_conflict": isinstance(problem, Conflict),
        "asked": row.state == RequestState.INFO_ASKED,
    }
    status = problem.status if problem else 422 if form.errors else 200
    return render(request, "research_access/form.html", facts | waiting(), status=status)


def timeline_page(
    request: HttpRequest, row: AccessRequest, *, form: MessageForm | None = None, status: int = 200
) -> HttpResponse:
    """What happened so far and what can be done now."""
    facts = {
        "row": row,
        "form": form or MessageForm(answer=row.state == RequestState.INFO_ASKED),
        "items": timeline(row),
        "state": state_words(row.state),
        "kind": state_kind(row.state),
        "is_asked": row.state == RequestState.INFO_ASKED,
        "is_waiting": row.state == RequestState.SUBMITTED,
        "is_approved": row.state == RequestState.APPROVED,
        "is_closed": not row.is_open and row.state != RequestState.APPROVED,
        "answers": _answers(row),
    }
    return render(request, "research_access/request.html", facts | waiting(), status=status)


def _answers(row: AccessRequest) -> list[tuple[str, str]]:
    """The reader's answers with their questions."""
    texts = ("name", "institution", "position", "web_page", "field", "purpose", "size")
    fields = RequestForm.base_fields
    told = [(str(fields[name].label), getattr(row, name)) for name in texts]
    kinds = "; ".join(str(Kind(kind).label) for kind in row.kinds)
    told.append((str(fields["kinds"].label), kinds))
    quota = flops(row.daily_flops) if row.daily_flops else _("the usual")
    told.append((_("Operations a day"), quota))
    return [(question, answer) for question, answer in told if answer]
