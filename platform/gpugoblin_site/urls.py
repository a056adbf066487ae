"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from gpugoblin_site import health, openapi


def schema(_request: HttpRequest) -> HttpResponse:
    """The OpenAPI description."""
    return HttpResponse(openapi.document(), content_type="application/vnd.oai.openapi")


urlpatterns = [
    path("", include("workunits.urls")),
    path("", include("research_access.urls")),
    path("", include("accounts.urls")),
    path("api/schema/", schema, name="schema"),
    path("", include("gpugoblin_site.pages.urls")),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.prometheus),
    path("admin/", admin.site.urls),
]

handler400 = "gpugoblin_site.problems.bad_request"
handler403 = "gpugoblin_site.problems.permission_denied"
handler404 = "gpugoblin_site.problems.page_not_found"
handler500 = "gpugoblin_site.problems.server_error"
