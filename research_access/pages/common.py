"""What the pages of this app share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache

from accounts.models import Account
from goblin_wire.problems import Problem
from gpugoblin_site.sentences import told
from research_access.models import AccessRequest

View = Callable[..., HttpResponse]


def page(view: View) -> View:
    """A page of somebody who is logged in, never kept by a cache."""
    return never_cache(login_required(view))


def posted(name: str) -> Callable[[View], View]:
    """A page that does something when it is posted to; whoever comes to its address otherwise, as
    after a switch of language, is led to the page `name` of the same key."""

    def made(view: View) -> View:
        @wraps(view)
        def answer(request: HttpRequest, key: UUID, **options: Any) -> HttpResponse:
            if request.method != "POST":
                return redirect(name, key)
            return view(request, key, **options)

        return page(answer)

    return made


def account_of(request: HttpRequest) -> Account:
    account = request.user
    assert isinstance(account, Account)  # noqa: S101  (login_required)
    return account


def own_request(request: HttpRequest, key: UUID) -> AccessRequest:
    """A request of the reader's own; others do not exist for them."""
    found = AccessRequest.objects.filter(key=key, account=account_of(request)).first()
    if found is None:
        raise Http404
    return found


def attempt(request: HttpRequest, act: Callable[[], Any], success: str = "") -> bool:
    """Do something; say on the next page that it was done, or why not. Whether it was done."""
    try:
        act()
    except Problem as problem:
        messages.error(request, told(problem))
        return False
    if success:
        messages.success(request, success)
    return True
