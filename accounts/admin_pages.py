"""Pages of the admin that belong to no table: each room adds its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path


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


def addresses(site: AdminSite) -> list[URLPattern]:
    """What the admin's addresses begin with."""
    return [path(page.route, site.admin_view(_guarded(page)), name=page.name) for page in _pages]


def _guarded(page: Page) -> Callable[..., HttpResponse]:
    def view(request: HttpRequest, **parts: Any) -> HttpResponse:
        if not request.user.has_perm(page.permission):
            raise PermissionDenied
        return page.view(request, **parts)

    return view
