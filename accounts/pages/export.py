"""The page on which a person gets a copy of what the site holds about them."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts.export import export
from accounts.holdings import HOLDINGS
from accounts.limits import Limit
from accounts.pages.common import account_of, wait_sentence
from goblin_wire.problems import RateLimited

EXPORTS = Limit("exports of an account", 6, timedelta(hours=1))


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def export_page(request: HttpRequest) -> HttpResponseBase:
    """Say what the file holds; by POST, give it."""
    if request.method != "POST":
        return _page(request)
    account = account_of(request)
    try:
        EXPORTS.count(account.key.hex)
    except RateLimited as problem:
        return _page(request, wait_sentence(problem), problem.status)
    name = f"gpugoblin-{timezone.localdate():%Y-%m-%d}.zip"
    return FileResponse(export(account), as_attachment=True, filename=name)


def _page(request: HttpRequest, problem: str = "", status: int = 200) -> HttpResponse:
    facts = {"holdings": HOLDINGS, "problem": problem}
    return render(request, "accounts/export.html", facts, status=status)
