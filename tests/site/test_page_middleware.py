"""Pages get sessions, languages and log-in; programs pay for none of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import services
from gpugoblin_site.page_middleware import Handler, PageMiddleware
from tests.people import logged_in

pytestmark = pytest.mark.django_db
PROGRAMS = ("/api/v1/exchange", "/api/v1/lab/events", "/api/schema/", "/healthz", "/metrics")


class Noting:
    """A middleware that notes which of its hooks were called."""

    noted: list[str] = []  # noqa: RUF012 - one list for all, emptied by the tests

    def __init__(self, get_response: Handler) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        self.noted.append(request.path_info)
        return self._get_response(request)

    def process_view(self, request: HttpRequest, *_facts: Any) -> None:
        self.noted.append(f"view {request.path_info}")


@pytest.fixture
def noted(settings: Any) -> list[str]:
    settings.PAGE_MIDDLEWARE = [f"{__name__}.Noting", *settings.PAGE_MIDDLEWARE]
    Noting.noted.clear()
    return Noting.noted


def test_middleware_of_pages_is_in_no_programs_way(noted: list[str], monkeypatch: Any) -> None:
    monkeypatch.setattr("gpugoblin_site.page_middleware.import_string", _loaded)
    client = Client()
    for path in PROGRAMS:
        client.post(path, data=b"{}", content_type="application/json")
    assert noted == []
    client.get("/login/")
    assert noted == ["/login/", "view /login/"]


def _loaded(name: str) -> Any:
    from django.utils.module_loading import import_string

    return Noting if name.endswith(".Noting") else import_string(name)


def test_what_a_program_passes_is_short() -> None:
    """Everything that knows sessions, languages or allauth is inside the wrapper."""
    assert settings.MIDDLEWARE[-1] == "gpugoblin_site.page_middleware.PageMiddleware"
    assert len(settings.MIDDLEWARE) == 5
    outside = " ".join(settings.MIDDLEWARE).lower()
    for word in ("session", "locale", "language", "auth", "message", "csrf", "account"):
        assert word not in outside


def test_an_exchange_asks_for_no_session_and_sets_no_cookie() -> None:
    browser = logged_in(services.create_account("ada@example.org"))
    with CaptureQueriesContext(connection) as queries:
        answer = browser.post(
            "/api/v1/exchange", json.dumps({}), headers={"accept-language": "vi"},
            content_type="application/json",
        )  # fmt: skip
    assert answer.status_code == 401
    assert not answer.cookies
    assert "Vary" not in answer.headers
    assert "Content-Language" not in answer.headers
    assert not any("accounts_session" in query["sql"] for query in queries)


@pytest.mark.parametrize(
    "broken", ["", "*", "xx", "vi;q=abc", "\x00", "ü", "en-" * 400, ",,;;q=", "zh-TW"]
)
def test_a_broken_accept_language_gives_english(broken: str) -> None:
    answer = Client().get("/login/", headers={"accept-language": broken})
    assert answer.status_code == 200
    assert answer.headers["Content-Language"] == "en"


@pytest.mark.parametrize("wanted", ["vi", "vi-VN,en;q=0.5", "fr, vi;q=0.9, en;q=0.8"])
def test_the_language_that_a_browser_asks_for(wanted: str) -> None:
    answer = Client().get("/login/", headers={"accept-language": wanted})
    assert answer.headers["Content-Language"] == "vi"
    assert '<html lang="vi">' in answer.content.decode()
    assert "Accept-Language" in answer.headers["Vary"]


def test_the_cookie_counts_more_and_the_account_most() -> None:
    browser = Client(headers={"accept-language": "en"})
    browser.cookies[settings.LANGUAGE_COOKIE_NAME] = "vi"
    assert browser.get("/login/").headers["Content-Language"] == "vi"
    logged_in(services.create_account("ada@example.org", language="en"), browser)
    assert browser.get("/account/").headers["Content-Language"] == "en"
    assert browser.get("/nowhere/").headers["Content-Language"] == "en"


def test_hooks_of_exceptions_are_asked_innermost_first() -> None:
    asked: list[str] = []

    class Hooked(Noting):
        def __init__(self, name: str) -> None:
            self.name = name

        def process_exception(self, *_facts: Any) -> None:
            asked.append(self.name)

    wrapper = PageMiddleware(lambda _request: HttpResponseBase())
    wrapper._made = [Hooked("outer"), Hooked("inner")]
    request = HttpRequest()
    request.path_info = "/login/"
    assert wrapper.process_exception(request, ValueError()) is None
    assert asked == ["inner", "outer"]
    request.path_info = "/api/v1/exchange"
    assert wrapper.process_exception(request, ValueError()) is None
    assert asked == ["inner", "outer"]
