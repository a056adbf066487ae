"""What the pages of this app share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache

from accounts.models import Account
from goblin_wire.problems import Problem
from research_access.models import AccessRequest

View = Callable[..., HttpResponse]


def page(view: View) -> View:
    """A page of somebody who is logged in, never kept by a cache."""
    return never_cache(login_required(view))


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
        messages.error(request, problem.detail)
        return False
    if success:
        messages.success(request, success)
    return True
