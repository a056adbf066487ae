"""The pages. What they show is found in the modules beside this one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe
from django.views.decorators.vary import vary_on_headers

from accounts.models import Account
from gpugoblin_site.pages.code import commands
from workunits import removal
from workunits.pages import csv_file, leaderboard
from workunits.pages import network_status as network
from workunits.pages.contribution import contribution, every_day
from workunits.pages.forms import LabelForm
from workunits.pages.job_states import lab_of
from workunits.pages.lab_jobs import job_pages
from workunits.pages.machines import Machine, find, machine_pages
from workunits.pages.refusals import refusal_pages

View = Callable[..., HttpResponse]


def _logged_in(view: View) -> View:
    """As `login_required`; a part is not answered with the log-in page, but has all loaded anew."""
    whole = login_required(view)

    @wraps(view)
    def answer(request: HttpRequest, **arguments: Any) -> HttpResponse:
        if _asks_for_part(request) and not request.user.is_authenticated:
            return HttpResponse(status=HTTPStatus.NO_CONTENT, headers={"HX-Refresh": "true"})
        return whole(request, **arguments)

    return answer


def _asks_for_part(request: HttpRequest) -> bool:
    """Whether only the part that moves is wanted again."""
    return request.headers.get("HX-Request") == "true"


@never_cache
@_logged_in
@require_safe
@vary_on_headers("HX-Request")
def machines(request: HttpRequest) -> HttpResponse:
    """The machines of whoever looks: what each does, and why."""
    page = machine_pages(_account(request)).get_page(request.GET.get("page"))
    if _asks_for_part(request):
        return render(request, "workunits/machines_part.html", {"page": page})
    return render(request, "workunits/machines.html", {"page": page, "commands": _commands()})


@never_cache
@_logged_in
@require_http_methods(["GET", "HEAD", "POST"])
@vary_on_headers("HX-Request")
def machine(request: HttpRequest, uid: UUID) -> HttpResponse:
    """One machine; by POST it gets another name."""
    found = _machine(request, uid)
    if request.method == "POST":
        form = LabelForm(request.POST)
        if form.is_valid():
            removal.rename(_account(request), uid, form.cleaned_data["label"])
            messages.success(request, _("The name was changed."))
            return redirect("machine", uid=uid)
    else:
        form = LabelForm(initial={"label": found.label})
    if _asks_for_part(request):
        return render(request, "workunits/machine_part.html", {"machine": found})
    refusals = refusal_pages(_account(request), found.id).get_page(request.GET.get("page"))
    facts = {"machine": found, "form": form, "page": refusals}
    return render(request, "workunits/machine.html", facts, status=422 if form.errors else 200)


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def remove_machine(request: HttpRequest, uid: UUID) -> HttpResponse:
    """Ask first; by POST the machine is removed."""
    if removal.was_removed(_account(request), uid):
        messages.info(request, _("This machine was removed already."))
        return redirect("machines")
    found = _machine(request, uid)
    if request.method != "POST":
        return render(request, "workunits/machine_remove.html", {"machine": found})
    removal.remove(_account(request), uid)
    text = _("%(name)s was removed. What it held goes to other machines; your credit stays.")
    messages.success(request, text % {"name": found.name})
    return redirect("machines")


@never_cache
@login_required
@require_safe
def my_contribution(request: HttpRequest) -> HttpResponse:
    """What the reader contributed, exactly."""
    shown = contribution(_account(request))
    return render(request, "workunits/contribution.html", {"contribution": shown})


@never_cache
@login_required
@require_safe
def contribution_file(request: HttpRequest) -> HttpResponse:
    """The same as a file for a spreadsheet."""
    response = csv_file.response(every_day(_account(request)))
    name = f"gpugoblin-contribution-{timezone.now():%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_safe
def leaders(request: HttpRequest) -> HttpResponse:
    """Who contributed most, of those who chose to be named."""
    name = request.GET.get("name", "")[:100].replace("\0", "")
    facts = {
        "page": leaderboard.leader_pages(name).get_page(request.GET.get("page")),
        "name": name,
        "unnamed": leaderboard.unnamed(),
        "own": request.user.pk,
    }
    return render(request, "workunits/leaderboard.html", facts)


@never_cache
@login_required
@require_safe
def lab_jobs(request: HttpRequest, key: UUID) -> HttpResponse:
    """The jobs of a lab, for its members."""
    lab = lab_of(_account(request), key)
    if lab is None:
        raise Http404
    page = job_pages(lab).get_page(request.GET.get("page"))
    return render(request, "workunits/lab_jobs.html", {"lab": lab, "page": page})


@require_safe
def network_status(request: HttpRequest) -> HttpResponse:
    """How the network is."""
    return render(request, "workunits/status.html", {"network": network.network_status()})


def _commands() -> str:
    return commands(settings.GOBLIN_SITE_URL)


def _machine(request: HttpRequest, uid: UUID) -> Machine:
    """The reader's own; another's is as unknown as none."""
    found = find(_account(request), uid)
    if found is None:
        raise Http404
    return found


def _account(request: HttpRequest) -> int:
    account = request.user
    assert isinstance(account, Account)  # noqa: S101  (login_required)
    return account.pk
