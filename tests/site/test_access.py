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
DOOR = {"token_missing", "token_invalid", "token_expired", "wrong_scope", "account_suspended"}


class People:
    """The people of a small network, and tokens of theirs that work or no longer do."""

    def __init__(self) -> None:
        self.tokens = make_people(1)
        self.lab = Lab.objects.get()
        self.volunteer = Account.objects.get(tokens__scope=Scope.VOLUNTEER.value)

    def good(self, scope: Scope) -> str:
        found = self.tokens["lab"] if scope is Scope.LAB else self.tokens["volunteers"][0]
        return str(found["token"])

    def other(self, scope: Scope) -> str:
        return self.good(Scope.VOLUNTEER if scope is Scope.LAB else Scope.LAB)

    def issue(self, scope: Scope, lifetime: timedelta = services.TOKEN_LIFETIME) -> str:
        account = self.lab.owner if scope is Scope.LAB else self.volunteer
        lab = self.lab if scope is Scope.LAB else None
        return services.issue_token(account, scope, lab=lab, lifetime=lifetime)

    def expired(self, scope: Scope) -> str:
        return self.issue(scope, -timedelta(seconds=1))

    def revoked(self, scope: Scope) -> str:
        token = self.issue(scope)
        services.revoke_token(ApiToken.objects.latest("id"))
        return token

    def suspended(self, scope: Scope) -> str:
        services.suspend(self.lab.owner)
        services.suspend(self.volunteer)
        return self.good(scope)

    def unknown(self, scope: Scope) -> str:
        return new_token(scope)

    def missing(self, _scope: Scope) -> str:
        return ""

    def garbage(self, _scope: Scope) -> str:
        return "garbage"


@pytest.fixture
def people() -> People:
    return People()


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


@pytest.mark.parametrize(
    ("make", "status", "code"),
    [
        (People.missing, 401, "token_missing"),
        (People.garbage, 401, "token_invalid"),
        (People.unknown, 401, "token_invalid"),
        (People.other, 403, "wrong_scope"),
        (People.expired, 401, "token_expired"),
        (People.revoked, 401, "token_expired"),
        (People.suspended, 403, "account_suspended"),
    ],
)
def test_refusals(
    people: People, make: Callable[[People, Scope], str], status: int, code: str
) -> None:
    tokens = {scope: make(people, scope) for scope in Scope}
    for path, method, scope in GUARDED:
        response = ask(path, method, tokens[Scope(scope)])
        assert response.headers["Content-Type"] == PROBLEM_JSON, path
        assert (response.status_code, response.json()["code"]) == (status, code), path
        assert ("WWW-Authenticate" in response.headers) == (status == 401), path


def test_the_right_token_comes_through(people: People) -> None:
    for path, method, scope in GUARDED:
        response = ask(path, method, people.good(Scope(scope)))
        assert response.status_code != 500, path
        assert response.json().get("code") not in DOOR, path


def test_tokens_of_a_suspended_lab(people: People) -> None:
    Lab.objects.update(state="suspended")
    for path, method, scope in GUARDED:
        if scope == Scope.LAB:
            response = ask(path, method, people.good(Scope.LAB))
            assert (response.status_code, response.json()["code"]) == (403, "not_allowed"), path
