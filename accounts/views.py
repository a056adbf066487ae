"""The plain pages of log-in and of the confirmation of a program."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import services
from accounts import sign_in as sign_ins
from accounts.limits import client_address
from accounts.models import Account, SignIn
from accounts.sign_in import Asker
from goblin_wire.problems import Problem
from research_access.models import Lab

NEXT = "next"
NEXT_S = 3600
BACKEND = "accounts.backends.SessionBackend"


@never_cache
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this site is, and where to go from here."""
    return render(request, "home.html", {"site": settings.GOBLIN_SITE_URL})


@never_cache
@require_http_methods(["GET", "POST"])
def login_page(request: HttpRequest) -> HttpResponse:
    """A one-time link logs in by POST only: programs that look at links in mails use up nothing."""
    if request.method == "POST":
        return _log_in(request)
    page = render(request, "login.html", {"token": request.GET.get("token", "")})
    following = _safe(request, request.GET.get("next", ""))
    if following:
        # A cookie and no session: visitors who are not logged in leave no row behind.
        page.set_signed_cookie(
            NEXT,
            following,
            max_age=NEXT_S,
            secure=settings.SESSION_COOKIE_SECURE,
            httponly=True,
            samesite="Lax",
        )
    return page


def _log_in(request: HttpRequest) -> HttpResponse:
    try:
        account = services.use_login_link(request.POST.get("token", ""))
    except Problem as problem:
        return render(request, "login.html", {"problem": problem.detail}, status=problem.status)
    login(request, account, backend=BACKEND)
    following = str(request.get_signed_cookie(NEXT, "", max_age=NEXT_S))
    answer = HttpResponseRedirect(_safe(request, following) or reverse("sign-in"))
    answer.delete_cookie(NEXT, samesite="Lax")
    return answer


def _safe(request: HttpRequest, target: str) -> str:
    allowed = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if allowed else ""


@require_POST
def logout_page(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("login")


@never_cache
@login_required
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """Show what asks for a token; decide by POST."""
    try:
        if request.method == "POST":
            return _decide(request)
        return _show(request, request.GET.get("code", ""))
    except Problem as problem:
        return _page(request, {"problem": problem.detail}, problem.status)


def _show(request: HttpRequest, code: str) -> HttpResponse:
    if not code.strip():
        return _page(request, {})
    found = sign_ins.find(code, _asker(request))
    labs = sign_ins.labs_for(found, _account(request)) if found.scope == "lab" else []
    return _page(request, {"sign_in": found, "code": code, "labs": labs})


def _decide(request: HttpRequest) -> HttpResponse:
    code = request.POST.get("code", "")
    sign_ins.find(code, _asker(request))
    if request.POST.get("decision") == "confirm":
        done = sign_ins.confirm(code, _account(request), lab=_posted_lab(request))
    else:
        done = sign_ins.deny(code, _account(request))
    return _page(request, {"done": done})


def _posted_lab(request: HttpRequest) -> Lab | None:
    key = request.POST.get("lab", "")
    return Lab.objects.filter(pk=int(key)).first() if key.isascii() and key.isdigit() else None


def _account(request: HttpRequest) -> Account:
    account = request.user
    assert isinstance(account, Account)  # noqa: S101  (login_required)
    return account


def _asker(request: HttpRequest) -> Asker:
    return Asker(_account(request), client_address(request))


def _page(request: HttpRequest, facts: dict[str, Any], status: int = 200) -> HttpResponse:
    shown: SignIn | None = facts.get("sign_in")
    return render(
        request, "sign_in.html", facts | {"is_lab": shown and shown.scope == "lab"}, status=status
    )
