"""Every address of the site."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from accounts import api, views
from gpugoblin_site import health, openapi


def schema(_request: HttpRequest) -> HttpResponse:
    """The OpenAPI description."""
    return HttpResponse(openapi.document(), content_type="application/vnd.oai.openapi")


urlpatterns = [
    path("", include("workunits.urls")),
    path("api/v1/sign-in", api.start_sign_in),
    path("api/v1/sign-in/token", api.poll_sign_in),
    path("api/v1/sign-out", api.sign_out),
    path("api/schema/", schema, name="schema"),
    path("", include("gpugoblin_site.pages.urls")),
    path("sign-in/", views.sign_in, name="sign-in"),
    path("login/", views.login_page, name="login"),
    path("logout/", views.logout_page, name="logout"),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path("metrics", health.prometheus),
    path("admin/", admin.site.urls),
]

handler400 = "gpugoblin_site.problems.bad_request"
handler403 = "gpugoblin_site.problems.permission_denied"
handler404 = "gpugoblin_site.problems.page_not_found"
handler500 = "gpugoblin_site.problems.server_error"
