"""The reader's own tokens for a lab."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from goblin_wire.problems import Problem
from gpugoblin_site.sentences import told
from research_access.forms import TokenForm
from research_access.pages.common import attempt, posted
from research_access.pages.labs import lab_page, membership
from research_access.services.tokens import create_token, revoke_own_token


@posted("lab")
def create(request: HttpRequest, key: UUID) -> HttpResponse:
    """A new token, shown on the answer and never again."""
    member = membership(request, key)
    form = TokenForm(request.POST)
    if not form.is_valid():
        return lab_page(request, member, token_form=form, status=422)
    try:
        token = create_token(member.lab, member.account, form.cleaned_data["label"])
    except Problem as problem:
        form.add_error("label", told(problem))
        return lab_page(request, member, token_form=form, status=problem.status)
    return lab_page(request, member, token=token)


@posted("lab")
def revoke(request: HttpRequest, key: UUID, number: int) -> HttpResponse:
    """End one token now."""
    member = membership(request, key)
    attempt(
        request,
        lambda: revoke_own_token(member.lab, member.account, number),
        _("The token works no longer."),
    )
    return redirect("lab", key)
