"""A program gives its token up."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from accounts import services
from accounts.models import Account, ApiToken
from goblin_wire.problems import PROBLEM_JSON
from goblin_wire.tokens import Scope, new_token, split_token
from research_access.models import Lab

pytestmark = pytest.mark.django_db


def sign_out(token: str | None) -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return Client(raise_request_exception=False).post("/api/v1/sign-out", headers=headers)


def works(token: str) -> bool:
    headers = {"Authorization": f"Bearer {token}"}
    return bool(Client().get("/api/v1/volunteer/status", headers=headers).status_code == 200)


def test_the_token_ends_and_no_other(account: Account) -> None:
    mine, other = (services.issue_token(account, Scope.VOLUNTEER) for _ in range(2))
    answer = sign_out(mine)
    assert (answer.status_code, answer.json()) == (200, {})
    assert not works(mine)
    assert works(other)


def test_again_is_no_error(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER)
    sign_out(token)
    first = ApiToken.objects.get().revoked
    assert sign_out(token).status_code == 200
    assert ApiToken.objects.get().revoked == first


def test_a_labs_token_and_a_suspended_account(lab: Lab) -> None:
    token = services.issue_token(lab.owner, Scope.LAB, lab=lab)
    services.suspend(lab.owner)
    assert sign_out(token).status_code == 200
    assert ApiToken.objects.get(lab=lab).revoked is not None


def test_refusals(account: Account) -> None:
    parts = split_token(services.issue_token(account, Scope.VOLUNTEER))
    assert parts is not None
    forged = f"gbv_{parts.prefix}_{'A' * 43}"
    for token, code in (
        (None, "token_missing"),
        ("garbage", "token_invalid"),
        (new_token(Scope.VOLUNTEER), "token_invalid"),
        (forged, "token_invalid"),
    ):
        answer = sign_out(token)
        assert answer.headers["Content-Type"] == PROBLEM_JSON
        assert (answer.status_code, answer.json()["code"]) == (401, code)
    assert ApiToken.objects.get().revoked is None
