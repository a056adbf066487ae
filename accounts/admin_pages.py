"""What rooms add to the admin: pages that belong to no table, and links on an account's page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from accounts.models import Account


@dataclass(frozen=True)
class Page:
    """`view(request, **parts of the route)`, for those who have the permission."""

    route: str
    name: str
    permission: str
    view: Callable[..., HttpResponse]


_pages: list[Page] = []


def add(page: Page) -> None:
    """Once for each name, before the site's addresses are made."""
    if all(known.name != page.name for known in _pages):
        _pages.append(page)


Links = Callable[[Account], SafeString]
_of_accounts: list[Links] = []


def add_links(links: Links) -> None:
    """Show what `links(account)` gives on the account's page."""
    if links not in _of_accounts:
        _of_accounts.append(links)


def links_of(account: Account) -> SafeString:
    """What the rooms know of an account."""
    return format_html_join(" · ", "{}", ((links(account),) for links in _of_accounts))


def addresses(site: AdminSite) -> list[URLPattern]:
    """What the admin's addresses begin with."""
    return [path(page.route, site.admin_view(_guarded(page)), name=page.name) for page in _pages]


def _guarded(page: Page) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, **parts: Any) -> HttpResponse:
        if not request.user.has_perm(page.permission):
            raise PermissionDenied
        return page.view(request, **parts)

    return view
