"""Django's admin behind the site's own log-in: there are no passwords."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse


class MovedByServices:
    """For admin classes: nothing is added or deleted here; services do what is to be done."""

    def has_add_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        return False

    def has_delete_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        return False


class ShownOnly(MovedByServices):
    """For inlines that nobody edits."""

    can_delete = False
    extra = 0

    def has_change_permission(self, *_args: Any, **_kwargs: Any) -> bool:
        return False


class GoblinAdminSite(AdminSite):
    site_header = site_title = "GPU Goblin"
    index_title = "Operators"

    def login(
        self, request: HttpRequest, _extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Send whoever is not yet known as an operator to the log-in page."""
        query = urlencode({"next": request.GET.get("next", reverse("admin:index"))})
        return HttpResponseRedirect(f"{reverse('login')}?{query}")
