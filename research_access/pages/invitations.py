"""What the link of an invitation opens."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from goblin_wire.problems import NotFound, Problem
from gpugoblin_site.sentences import told
from research_access import services
from research_access.models import LabMember
from research_access.pages.common import account_of, page


@page
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show which lab invites; a press of a button accepts or refuses. Looking uses nothing up."""
    try:
        if request.method == "POST":
            return _answered(request, token)
        facts = {"lab": services.find_invitation(token, account_of(request)).lab}
    except Problem as problem:
        joined = _joined(request) if isinstance(problem, NotFound) else None
        if joined is not None:
            return redirect("lab", joined)
        return render(
            request,
            "research_access/invitation.html",
            {"problem": told(problem)},
            status=problem.status,
        )
    return render(request, "research_access/invitation.html", facts)


def _joined(request: HttpRequest) -> UUID | None:
    """The key of the lab that the form was about, if the reader is in it already: the form was sent
    twice, and the second answer is the one that a browser shows."""
    try:
        key = UUID(request.POST.get("lab", ""))
    except ValueError:
        return None
    mine = LabMember.objects.filter(lab__key=key, account=account_of(request))
    return key if mine.exists() else None


def _answered(request: HttpRequest, token: str) -> HttpResponse:
    account = account_of(request)
    if request.POST.get("action") == "refuse":
        services.refuse_invitation(token, account)
        messages.info(request, _("You have refused the invitation."))
        return redirect("labs")
    member = services.accept_invitation(token, account)
    messages.success(request, _("You belong to the lab “{lab}” now.").format(lab=member.lab.name))
    return redirect("lab", member.lab.key)
