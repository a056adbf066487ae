"""Whatever goes wrong under /api/, the answer is problem+json with a code and a sentence."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import OperationalError, ProgrammingError, connection
from django.http import Http404
from django.test import Client

from accounts import sign_in
from goblin_wire.problems import PROBLEM_JSON, PROBLEMS
from goblin_wire.protocol import MAX_JSON_BYTES

pytestmark = pytest.mark.django_db

START = "/api/v1/sign-in"
GOOD = {"protocol": 1, "scope": "volunteer", "program": "goblin-client"}


@pytest.fixture
def client() -> Client:
    return Client(raise_request_exception=False)


def problem(response: Any) -> dict[str, Any]:
    """The problem of a reply, checked for its form."""
    assert response.headers["Content-Type"] == PROBLEM_JSON, response.content[:200]
    body: dict[str, Any] = json.loads(response.content)
    assert body["status"] == response.status_code
    assert PROBLEMS[body["code"]].status == response.status_code
    assert body["type"].endswith(body["code"])
    assert body["detail"]
    assert "<html" not in response.content.decode()
    assert "Traceback" not in response.content.decode()
    return body


def post(client: Client, body: Any, path: str = START, **more: Any) -> Any:
    raw = body if isinstance(body, bytes) else json.dumps(body)
    return client.post(path, raw, content_type="application/json", **more)


def test_success_is_not_touched(client: Client) -> None:
    response = post(client, GOOD)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == "application/json"
    assert len(response.headers["X-Request-ID"]) == 32
    assert int(response.headers["Content-Length"]) == len(response.content)
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "path", ["/api/", "/api/v1/", "/api/v2/exchange", "/api/v1/sign-in/", "/api/%00"]
)
@pytest.mark.parametrize("method", ["get", "post", "delete"])
def test_unknown_addresses(client: Client, path: str, method: str) -> None:
    response = getattr(client, method)(path)
    assert problem(response)["code"] == "not_found"


@pytest.mark.parametrize("path", ["/api/v1/nowhere", START])
def test_debug_pages_stay_away(client: Client, settings: Any, path: str) -> None:
    settings.DEBUG = True
    assert problem(client.get(path))["code"] in ("not_found", "method_not_allowed")


@pytest.mark.parametrize("method", ["get", "put", "patch", "delete", "head", "options", "trace"])
def test_wrong_method(client: Client, method: str) -> None:
    response = getattr(client, method)(START)
    assert response.status_code == 405
    assert response.headers["Allow"] == "POST"
    if method != "head":
        assert problem(response)["code"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "not_json"),
        (b"{", "not_json"),
        (b"\xff\xfe", "not_json"),
        (b'{"x":' + b"[" * 100_000, "not_json"),
        (b"null", "bad_message"),
        (b"[]", "bad_message"),
        (b"{}", "bad_message"),
        (json.dumps(GOOD | {"scope": "operator"}).encode(), "bad_message"),
        (json.dumps(GOOD | {"program": "x" * 201}).encode(), "bad_message"),
        (json.dumps(GOOD | {"program": 7}).encode(), "bad_message"),
        (json.dumps(GOOD | {"lab": "../etc"}).encode(), "bad_message"),
        (json.dumps(GOOD | {"protocol": 99}).encode(), "unsupported_protocol"),
        (json.dumps(GOOD | {"scope": "lab", "lab": "0" * 32}).encode(), "unknown_lab"),
    ],
)
def test_bad_bodies(client: Client, body: bytes, code: str) -> None:
    assert problem(post(client, body))["code"] == code


def test_control_characters_and_long_poll_codes(client: Client) -> None:
    for steering in ("a\u0000b", "\u001b[2J", "\u202eevil", "a\n"):
        assert problem(post(client, GOOD | {"label": steering}))["code"] == "bad_message"
    polled = post(client, {"device_code": "\u0000"}, START + "/token")
    assert problem(polled)["code"] == "sign_in_expired"
    polled = post(client, {"device_code": "x" * 65}, START + "/token")
    assert problem(polled)["code"] == "bad_message"


@pytest.mark.parametrize(
    ("spoken", "status"), [("1", 200), ("0", 426), ("2", 426), ("x", 400), ("1" * 99, 400)]
)
def test_row_28_the_version_in_the_header(client: Client, spoken: str, status: int) -> None:
    response = post(client, GOOD, HTTP_GOBLIN_PROTOCOL=spoken)
    assert response.status_code == status
    if status == 426:
        assert f"speaks {spoken}" in problem(response)["detail"]


def test_too_large_is_refused_before_reading(client: Client) -> None:
    class Unread:
        def read(self, *_: Any) -> bytes:
            raise AssertionError("the body was read")

        readline = read

    sent: dict[str, Any] = {"CONTENT_LENGTH": str(MAX_JSON_BYTES + 1), "wsgi.input": Unread()}
    response = client.generic("POST", START, b"", **sent)
    assert problem(response)["code"] == "too_large"


@pytest.mark.parametrize("stated", ["-1", "1e3", "abc", "٣", "1" * 30, "9" * 5000])
def test_nonsense_lengths(client: Client, stated: str) -> None:
    response = client.generic("POST", START, b"{}", CONTENT_LENGTH=stated)
    assert problem(response)["code"] in ("length_required", "too_large")


def test_unknown_length(client: Client) -> None:
    response = client.generic(
        "POST", START, b"{}", CONTENT_LENGTH="", HTTP_TRANSFER_ENCODING="chunked"
    )
    assert problem(response)["code"] == "length_required"


def test_body_that_ends_early(client: Client) -> None:
    ends: dict[str, Any] = {
        "CONTENT_LENGTH": "4000",
        "wsgi.input": io.BytesIO(json.dumps(GOOD).encode()),
    }
    response = client.generic("POST", START, b"", **ends)
    assert problem(response)["code"] == "wrong_length"


def test_foreign_host_name(client: Client) -> None:
    response = post(client, GOOD, headers={"host": "evil.example"})
    assert response.status_code == 400
    problem(response)
    page = client.get("/login/", headers={"host": "evil.example"})
    assert page.status_code == 400
    assert b"evil" not in page.content


class SchemaError(ProgrammingError):
    """As Django raises it: the driver's error is the cause."""


def old_schema(*_: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT missing FROM accounts_person")


def raising(error: Exception) -> Any:
    def work(*_: Any) -> None:
        raise error

    return work


@pytest.mark.parametrize(
    ("work", "code"),
    [
        (raising(RuntimeError("secret <b>detail</b>")), "internal"),
        (raising(Http404()), "not_found"),
        (raising(PermissionDenied()), "not_allowed"),
        (raising(SuspiciousOperation("odd")), "bad_message"),
        (raising(OperationalError("server closed the connection")), "unavailable"),
        (old_schema, "unavailable"),
    ],
)
@pytest.mark.parametrize("debug", [False, True])
def test_failures_in_a_view(
    client: Client, monkeypatch: Any, settings: Any, work: Any, code: str, debug: bool
) -> None:
    settings.DEBUG = debug
    monkeypatch.setattr(sign_in, "start", work)
    response = post(client, GOOD)
    body = problem(response)
    assert body["code"] == code
    assert "secret" not in response.content.decode()
    if code == "unavailable":
        assert int(response.headers["Retry-After"]) >= 1


def test_failure_before_the_view(client: Client, monkeypatch: Any) -> None:
    """What breaks in the middleware or in finding the address has the same form."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("gpugoblin_site.page_middleware.PageMiddleware.process_view", broken)
    assert problem(post(client, GOOD))["code"] == "internal"


def test_tokens_at_once(client: Client) -> None:
    from gpugoblin_site.urls import urlpatterns

    assert urlpatterns
    response = post(client, {}, "/api/v1/exchange")
    if response.status_code != 404:
        assert problem(response)["code"] == "token_missing"
        assert response.headers["WWW-Authenticate"] == "Bearer"


@pytest.fixture(autouse=True)
def _fresh_connection() -> Iterator[None]:
    yield
    connection.needs_rollback = False


def test_pages_stay_pages(client: Client) -> None:
    response = client.get("/nowhere/")
    assert response.status_code == 404
    assert response.headers["Content-Type"].startswith("text/html")
    assert b"There is no page" in response.content
