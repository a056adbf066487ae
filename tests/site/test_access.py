"""Every address that asks for a token refuses all tokens but the right one, in one form."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import yaml
from django.test import Client

from accounts import services
from accounts.models import Account, ApiToken
from goblin_wire.problems import PROBLEM_JSON
from goblin_wire.tokens import Scope, new_token
from gpugoblin_site import openapi
from research_access.management.commands.make_network_people import make_people
from research_access.models import Lab

pytestmark = pytest.mark.django_db

DOCUMENT: dict[str, Any] = yaml.safe_load(openapi.document())
GUARDED = [
    (path, method, next(iter(operation["security"][0])).removesuffix("Token"))
    for path, methods in DOCUMENT["paths"].items()
    for method, operation in methods.items()
    if operation.get("security") and operation["security"][0]
]
Make = Callable[[Scope], str]


def fresh(scope: Scope) -> str:
    """A valid token of new people."""
    people = make_people(1)
    return str(people["lab"]["token"] if scope is Scope.LAB else people["volunteers"][0]["token"])


def other(scope: Scope) -> str:
    return fresh(Scope.VOLUNTEER if scope is Scope.LAB else Scope.LAB)


def expired(scope: Scope) -> str:
    token = fresh(scope)
    for row in ApiToken.objects.all():
        row.expires -= timedelta(days=400)
        row.save()
    return token


def revoked(scope: Scope) -> str:
    token = fresh(scope)
    for row in ApiToken.objects.all():
        services.revoke_token(row)
    return token


def suspended(scope: Scope) -> str:
    token = fresh(scope)
    for account in Account.objects.all():
        services.suspend(account)
    return token


def of_a_suspended_lab(scope: Scope) -> str:
    token = fresh(scope)
    Lab.objects.update(state="suspended")
    return token


REFUSED: list[tuple[Make, int, str]] = [
    (lambda _: "", 401, "token_missing"),
    (lambda _: "garbage", 401, "token_invalid"),
    (new_token, 401, "token_invalid"),
    (other, 403, "wrong_scope"),
    (expired, 401, "token_expired"),
    (revoked, 401, "token_expired"),
    (suspended, 403, "account_suspended"),
]


def ask(path: str, method: str, token: str) -> Any:
    address = path.replace("{job}", "0" * 32)
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    client = Client(raise_request_exception=False)
    return client.generic(
        method.upper(), address, b"{}", content_type="application/json", headers=headers
    )


def test_something_is_guarded() -> None:
    assert ("/api/v1/exchange", "post", "volunteer") in GUARDED
    assert ("/api/v1/lab/events", "post", "lab") in GUARDED


@pytest.mark.parametrize(("path", "method", "scope"), GUARDED)
def test_refusals(path: str, method: str, scope: str) -> None:
    for make, status, code in REFUSED:
        response = ask(path, method, make(Scope(scope)))
        assert response.headers["Content-Type"] == PROBLEM_JSON
        assert (response.status_code, response.json()["code"]) == (status, code)
        assert ("WWW-Authenticate" in response.headers) == (status == 401)


@pytest.mark.parametrize(("path", "method", "scope"), GUARDED)
def test_the_right_token_comes_through(path: str, method: str, scope: str) -> None:
    response = ask(path, method, fresh(Scope(scope)))
    assert response.status_code not in (401, 403, 500)


@pytest.mark.parametrize(
    ("path", "method"), [(path, method) for path, method, scope in GUARDED if scope == "lab"]
)
def test_tokens_of_a_suspended_lab(path: str, method: str) -> None:
    response = ask(path, method, of_a_suspended_lab(Scope.LAB))
    assert (response.status_code, response.json()["code"]) == (403, "not_allowed")
