"""What the pages of this app share."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import get_language, ngettext

from accounts import known_browsers
from accounts.limits import client_address
from accounts.login import Visitor
from accounts.models import Account
from goblin_wire.problems import RateLimited

View = Callable[..., HttpResponse]

BROWSER = "browser"
_BROWSER_S = 30 * 24 * 3600
_KNOWN_S = known_browsers.LASTS_DAYS * 24 * 3600
_BROWSER_BYTES = 24
_BROWSER_MOST = 64


def posted(view: View) -> View:
    """Something that a button of the account page does; whoever comes to its address otherwise, as
    after a log-in on the way, is led to that page."""

    @wraps(view)
    def answer(request: HttpRequest, **parts: Any) -> HttpResponse:
        return view(request, **parts) if request.method == "POST" else redirect("account")

    return login_required(answer)


def account_of(request: HttpRequest) -> Account:
    """Who is logged in, where `login_required` has seen to it that somebody is."""
    account = request.user
    assert isinstance(account, Account)  # noqa: S101
    return account


def safe(request: HttpRequest, target: str) -> str:
    """The address of a page of this site, or nothing."""
    # Without its slash it would be taken for the name of a page, or go on from where one is.
    allowed = target.startswith("/") and url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if allowed else ""


def visitor_of(request: HttpRequest) -> Visitor:
    """Who types; a browser that has no cookie yet gets a value for one (see `remember`)."""
    known = request.COOKIES.get(BROWSER, "")
    browser = known if 0 < len(known) <= _BROWSER_MOST else secrets.token_urlsafe(_BROWSER_BYTES)
    language = get_language() or settings.LANGUAGE_CODE
    marks = request.COOKIES.get(known_browsers.COOKIE, "")
    return Visitor(browser, client_address(request), language, marks)


def remember(response: HttpResponse, visitor: Visitor) -> HttpResponse:
    """Let the browser show again that it is the same: a cookie, so visitors need no session."""
    return _kept(response, BROWSER, visitor.browser, _BROWSER_S)


def make_known(response: HttpResponse, visitor: Visitor, email: str) -> HttpResponse:
    """Let the browser show later that it has logged in to this address."""
    marks = known_browsers.with_mark(visitor.marks, email)
    return _kept(response, known_browsers.COOKIE, marks, _KNOWN_S)


def forget(request: HttpRequest, response: HttpResponse, email: str) -> HttpResponse:
    """Let the browser show no longer that it has logged in to this address."""
    marks = known_browsers.without_mark(visitor_of(request).marks, email)
    if marks:
        return _kept(response, known_browsers.COOKIE, marks, _KNOWN_S)
    response.delete_cookie(known_browsers.COOKIE, samesite="Lax")
    return response


def _kept(response: HttpResponse, name: str, value: str, seconds: int) -> HttpResponse:
    response.set_cookie(
        name,
        value,
        max_age=seconds,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
    return response


def wait_sentence(problem: RateLimited) -> str:
    """What a person reads who asked too often."""
    minutes = max(1, math.ceil((problem.retry_after or 60) / 60))
    return ngettext(
        "Too many attempts. Try again in %(minutes)d minute.",
        "Too many attempts. Try again in %(minutes)d minutes.",
        minutes,
    ) % {"minutes": minutes}
