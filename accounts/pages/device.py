"""The page on which a person lets a program sign in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from accounts import sign_in as sign_ins
from accounts.limits import client_address
from accounts.models import SignIn
from accounts.pages.common import account_of, wait_sentence
from accounts.sign_in import Asker
from goblin_wire.problems import AccountSuspended, NotAllowed, Problem, RateLimited
from goblin_wire.tokens import Scope
from research_access.models import Lab


@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Show what asks for a token (`?code=`); decide by POST."""
    try:
        if request.method == "POST":
            return _decide(request)
        return _show(request, request.GET.get("code", ""))
    except RateLimited as problem:
        return _page(request, {"problem": wait_sentence(problem)}, problem.status)
    except Problem as problem:
        return _page(request, {"problem": _sentence(problem)}, problem.status)


def _sentence(problem: Problem) -> str:
    if isinstance(problem, AccountSuspended):
        return gettext("This account is suspended; it signs no program in.")
    if isinstance(problem, NotAllowed):
        return gettext("Choose a lab of yours that the program may work for.")
    return gettext("This code is not known, has expired or was used. Start the program again.")


def _show(request: HttpRequest, code: str) -> HttpResponse:
    if not code.strip():
        return _page(request, {})
    found = sign_ins.find(code, _asker(request))
    labs = sign_ins.labs_for(found, account_of(request)) if found.scope == Scope.LAB else []
    return _page(request, {"sign_in": found, "code": code, "labs": labs})


def _decide(request: HttpRequest) -> HttpResponse:
    code = request.POST.get("code", "")
    sign_ins.find(code, _asker(request))
    if request.POST.get("decision") == "confirm":
        done = sign_ins.confirm(code, account_of(request), lab=_posted_lab(request))
    else:
        done = sign_ins.deny(code, account_of(request))
    return _page(request, {"done": done})


def _posted_lab(request: HttpRequest) -> Lab | None:
    key = request.POST.get("lab", "")[:20]
    return Lab.objects.filter(pk=int(key)).first() if key.isascii() and key.isdigit() else None


def _asker(request: HttpRequest) -> Asker:
    return Asker(account_of(request), client_address(request))


def _page(request: HttpRequest, facts: dict[str, Any], status: int = 200) -> HttpResponse:
    shown: SignIn | None = facts.get("sign_in") or facts.get("done")
    facts["is_lab"] = shown is not None and shown.scope == Scope.LAB
    return render(request, "accounts/sign_in.html", facts, status=status)
