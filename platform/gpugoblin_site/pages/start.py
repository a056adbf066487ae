"""The first steps after log-in: two ways, and how far this account has come on each."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from accounts.models import Account
from goblin_wire.states import RequestState
from gpugoblin_site.pages import code
from research_access.models import AccessRequest, LabMember
from workunits.models import Host, Job, LabNode, Standing

DONE, WAITING, TO_DO = "done", "waiting", "to-do"


class Step(NamedTuple):
    """One line of a checklist; the address leads to where it is done."""

    state: str
    text: str | Promise
    url: str = ""
    action: str | Promise = ""


@never_cache
@login_required
@require_safe
def first_steps(request: HttpRequest) -> HttpResponse:
    """What to do next, for whichever of the two somebody came."""
    assert isinstance(request.user, Account)  # noqa: S101  (login_required)
    found = _found(request.user)
    return render(
        request,
        "pages/start.html",
        {
            "volunteer": volunteer_steps(found),
            "researcher": researcher_steps(found),
            "machine": found["machine"],
            "node": found["node"],
            "lab": found["lab"],
            "commands": code.commands(settings.GOBLIN_SITE_URL),
            "lab_commands": code.lab_commands(settings.GOBLIN_SITE_URL),
        },
    )


def _found(account: Account) -> dict[str, Any]:
    """What this account has done so far, in one query."""
    key = OuterRef("pk")
    labs = LabMember.objects.filter(account=OuterRef(OuterRef("pk"))).values("lab")
    requests = AccessRequest.objects.filter(account=key)
    deciding = [RequestState.SUBMITTED.value, RequestState.INFO_ASKED.value]
    found = (
        Account.objects.filter(pk=account.pk)
        .annotate(
            machine=Exists(Host.objects.filter(account=key, removed=None)),
            verified=Exists(Standing.objects.filter(account=key, accepted__gt=0)),
            deciding=Exists(requests.filter(state__in=deciding)),
            approved=Exists(requests.filter(state=RequestState.APPROVED.value)),
            lab=Exists(LabMember.objects.filter(account=key)),
            node=Exists(LabNode.objects.filter(lab__in=labs)),
            job=Exists(Job.objects.filter(lab__in=labs)),
        )
        .values("machine", "verified", "deciding", "approved", "lab", "node", "job")
        .get()
    )
    return dict(found)


def volunteer_steps(found: dict[str, Any]) -> list[Step]:
    """From an account to the first verified result."""
    machines = reverse("machines")
    verified = WAITING if found["machine"] else TO_DO
    return [
        Step(DONE, _("You have an account.")),
        Step(_done(found["machine"]), _("Connect a machine."), machines, _("My machines")),
        Step(
            DONE if found["verified"] else verified,
            _("A first result of yours was verified."),
            reverse("contribution"),
            _("My contribution"),
        ),
    ]


def researcher_steps(found: dict[str, Any]) -> list[Step]:
    """From an account to the first job."""
    labs = reverse("labs")
    allowed = found["approved"] or found["lab"]
    return [
        Step(DONE, _("You have an account.")),
        _request_step(found, allowed),
        Step(_done(found["lab"]), _("Have a lab, or join one."), labs, _("My labs")),
        Step(_done(found["node"]), _("Connect the lab node, which keeps the data.")),
        Step(_done(found["job"]), _("Submit a first job from Python.")),
    ]


def _request_step(found: dict[str, Any], allowed: bool) -> Step:
    if allowed:
        return Step(DONE, _("Your access was approved."), reverse("access"), _("My requests"))
    if found["deciding"]:
        text = _("Your request is being read.")
        return Step(WAITING, text, reverse("access"), _("My requests"))
    return Step(TO_DO, _("Ask for access."), reverse("access-new"), _("Ask for access"))


def _done(fact: bool) -> str:
    return DONE if fact else TO_DO
