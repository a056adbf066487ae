"""What the link of an invitation opens."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from goblin_wire.problems import Problem
from research_access import services
from research_access.pages.common import account_of, page, told


@page
@require_http_methods(["GET", "HEAD", "POST"])
def invitation(request: HttpRequest, token: str) -> HttpResponse:
    """Show which lab invites; a press of a button accepts or refuses. Looking uses nothing up."""
    try:
        if request.method == "POST":
            return _answered(request, token)
        facts = {"lab": services.find_invitation(token, account_of(request)).lab}
    except Problem as problem:
        return render(
            request,
            "research_access/invitation.html",
            {"problem": told(problem)},
            status=problem.status,
        )
    return render(request, "research_access/invitation.html", facts)


def _answered(request: HttpRequest, token: str) -> HttpResponse:
    account = account_of(request)
    if request.POST.get("action") == "refuse":
        services.refuse_invitation(token, account)
        messages.info(request, _("You have refused the invitation."))
        return redirect("labs")
    member = services.accept_invitation(token, account)
    messages.success(request, _("You belong to the lab “{lab}” now.").format(lab=member.lab.name))
    return redirect("lab", member.lab.key)
