"""Django's admin behind the site's own log-in: there are no passwords."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse


class GoblinAdminSite(AdminSite):
    site_header = site_title = "GPU Goblin"
    index_title = "Operators"

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Send whoever is not yet known as an operator to the log-in page."""
        query = urlencode({"next": request.GET.get("next", reverse("admin:index"))})
        return HttpResponseRedirect(f"{reverse('login')}?{query}")
