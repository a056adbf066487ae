"""Who may speak to the API with which token."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.test import RequestFactory
from django.utils import timezone

import goblin_wire.problems as wire
from accounts import authentication, services
from accounts.authentication import principal
from accounts.models import Account, ApiToken
from goblin_wire.tokens import Scope, new_token, split_token
from gpugoblin_site.database.prepared import fetch_one
from research_access import services as access
from research_access.models import Lab, LabMember, LabState

pytestmark = pytest.mark.django_db


def asked(token: str | None, scope: Scope = Scope.VOLUNTEER) -> Any:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return principal(RequestFactory().post("/api/v1/exchange", headers=headers), scope)


def test_volunteer(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER, label="desk")
    found = asked(token)
    assert (found.account_id, found.account_key) == (account.pk, account.key)
    assert found.lab_id is None
    with pytest.raises(wire.WrongScope):
        _ = found.lab


def test_lab(lab: Lab) -> None:
    token = services.issue_token(lab.owner, Scope.LAB, lab=lab)
    found = asked(token, Scope.LAB)
    assert (found.lab, found.lab_key) == (lab.pk, lab.key)


def test_one_query(account: Account, monkeypatch: Any, django_assert_num_queries: Any) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER)
    asked(token)
    sent: list[str] = []

    def counted(sql: str, parameters: Any) -> Any:
        sent.append(sql)
        return fetch_one(sql, parameters)

    monkeypatch.setattr(authentication, "fetch_one", counted)
    with django_assert_num_queries(0):
        asked(token)
    assert len(sent) == 1


def test_last_use_is_written_once_an_hour(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER)
    asked(token)
    row = ApiToken.objects.get()
    assert row.last_used is not None
    asked(token)
    assert ApiToken.objects.get().last_used == row.last_used
    old = timezone.now() - timedelta(minutes=61)
    ApiToken.objects.update(last_used=old)
    asked(token)
    assert ApiToken.objects.get().last_used != old


@pytest.mark.parametrize("header", [None, "", "Bearer", "Bearer ", "Basic abc", "Goblin abc"])
def test_no_token(header: str | None) -> None:
    headers = {} if header is None else {"Authorization": header}
    with pytest.raises(wire.TokenMissing):
        principal(RequestFactory().get("/", headers=headers), Scope.VOLUNTEER)


@pytest.mark.parametrize(
    "token",
    ["x", "gbv_0123", new_token(Scope.VOLUNTEER), new_token(Scope.LAB), "é" * 80, "a\0b"],
    ids=["short", "no secret", "volunteer's", "lab's", "not ASCII", "zero byte"],
)
def test_unknown_token(token: str) -> None:
    with pytest.raises(wire.TokenInvalid):
        asked(token)


def test_secret_of_another_token(account: Account) -> None:
    first = services.issue_token(account, Scope.VOLUNTEER)
    second = services.issue_token(account, Scope.VOLUNTEER)
    parts, others = split_token(first), split_token(second)
    assert parts is not None
    assert others is not None
    with pytest.raises(wire.TokenInvalid):
        asked(f"gbv_{parts.prefix}_{others.secret}")


def test_relabelled_scope(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER)
    with pytest.raises(wire.TokenInvalid):
        asked(token.replace("gbv_", "gbl_"), Scope.LAB)


def test_wrong_scope(account: Account, lab: Lab) -> None:
    with pytest.raises(wire.WrongScope, match="kind lab"):
        asked(services.issue_token(account, Scope.VOLUNTEER), Scope.LAB)
    with pytest.raises(wire.WrongScope, match="kind volunteer"):
        asked(services.issue_token(lab.owner, Scope.LAB, lab=lab))


def test_expired(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER, lifetime=timedelta(seconds=-1))
    with pytest.raises(wire.TokenExpired):
        asked(token)


def test_revoked(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER)
    row = ApiToken.objects.get()
    services.revoke_token(row)
    first = row.revoked
    services.revoke_token(row)
    assert row.revoked == first
    with pytest.raises(wire.TokenExpired):
        asked(token)


def test_suspended_account(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER)
    services.suspend(account)
    with pytest.raises(wire.AccountSuspended):
        asked(token)
    with pytest.raises(wire.AccountSuspended):
        services.issue_token(account, Scope.VOLUNTEER)
    services.reinstate(account)
    assert asked(token).account_id == account.pk


def test_suspended_lab_and_former_member(lab: Lab, account: Account) -> None:
    access.add_member(lab, account, by=lab.owner)
    token = services.issue_token(account, Scope.LAB, lab=lab)
    assert asked(token, Scope.LAB).lab == lab.pk
    Lab.objects.update(state=LabState.SUSPENDED)
    with pytest.raises(wire.NotAllowed):
        asked(token, Scope.LAB)
    Lab.objects.update(state=LabState.ACTIVE)
    LabMember.objects.filter(account=account).delete()
    with pytest.raises(wire.NotAllowed):
        asked(token, Scope.LAB)


def test_token_of_a_foreign_lab(lab: Lab, account: Account) -> None:
    with pytest.raises(wire.NotAllowed):
        services.issue_token(account, Scope.LAB, lab=lab)
    with pytest.raises(wire.NotAllowed):
        services.issue_token(account, Scope.LAB)
    with pytest.raises(wire.NotAllowed):
        services.issue_token(lab.owner, Scope.VOLUNTEER, lab=lab)


def test_only_hashes_are_kept(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER)
    parts = split_token(token)
    assert parts is not None
    row = ApiToken.objects.values().get()
    assert parts.secret not in str(row)
    assert row["expires"] > timezone.now()
