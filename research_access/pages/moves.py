"""What the buttons on the pages of a request do."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from goblin_wire.problems import Conflict, Problem
from goblin_wire.states import RequestState
from gpugoblin_site.sentences import told
from research_access import services
from research_access.forms import MessageForm, RequestForm
from research_access.pages.common import account_of, attempt, own_request, posted
from research_access.pages.requests import keep, timeline_page


@never_cache
def autosave(request: HttpRequest, key: UUID) -> HttpResponse:
    """Keep the draft while it is being typed; answers with the line that says so.

    Always with status 200: htmx shows nothing of other answers, and would put the page of log-in
    into the form.
    """
    if "HX-Request" in request.headers and not request.user.is_authenticated:
        facts = {"problem": logged_out(), "version": request.POST.get("version", "")}
        return render(request, "research_access/saved.html", facts)
    return _autosave(request, key)


def logged_out() -> str:
    return _(
        "Not saved: you are logged out. Log in in another window, then go on typing here or press"
        " “Save draft”."
    )


@posted("access-request")
def _autosave(request: HttpRequest, key: UUID) -> HttpResponse:
    row = own_request(request, key)
    form = RequestForm(request.POST, partial=True)
    form.is_valid()
    problem = keep(row, request, form)
    facts = {
        "row": row,
        "problem": told(problem) if problem else "",
        "is_conflict": isinstance(problem, Conflict),
        "version": form.data.get("version", "") if problem else row.version,
        "wrong": [form[name].label for name in form.errors],
        "now": timezone.now(),
    }
    return render(request, "research_access/saved.html", facts)


@posted("access-request")
def say(request: HttpRequest, key: UUID) -> HttpResponse:
    """A message to the reviewers, or the answer to their question."""
    row = own_request(request, key)
    form = MessageForm(request.POST, answer=row.state == RequestState.INFO_ASKED)
    if not form.is_valid():
        return timeline_page(request, row, form=form, status=422)
    try:
        services.reply(row, account_of(request), form.cleaned_data["text"])
    except Problem as problem:
        form.add_error(None, told(problem))
        row.refresh_from_db()
        return timeline_page(request, row, form=form, status=problem.status)
    return redirect("access-request", key)


@posted("access-request")
def withdraw(request: HttpRequest, key: UUID) -> HttpResponse:
    """Take a request back, or throw a draft away."""
    row = own_request(request, key)
    attempt(request, lambda: services.withdraw(row, account_of(request)), _("Withdrawn."))
    return redirect("access-request", key)


@posted("access-request")
def again(request: HttpRequest, key: UUID) -> HttpResponse:
    """A new draft with the old answers."""
    row = own_request(request, key)
    account = account_of(request)
    attempt(request, lambda: services.apply_again(row, account))
    found = services.open_request(account)
    return redirect("access-request", found.key if found else key)
