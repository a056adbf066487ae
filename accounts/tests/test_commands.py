"""What operators do at a terminal, on the first day and when no mail can be sent."""

from __future__ import annotations

import re

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from accounts import services
from accounts.authentication import principal_of_token
from accounts.models import Account, LoginCode, Session
from accounts.tests.browsing import ask, fields
from goblin_wire.tokens import Scope

pytestmark = pytest.mark.django_db


def printed_code(email: str) -> str:
    said = call_command("login_code", email)
    assert re.fullmatch(r"\d{4} \d{4}", said.splitlines()[0])
    assert "/login/" in said
    return str(said.splitlines()[0])


def test_a_printed_code_logs_in_once_from_any_browser(account: Account) -> None:
    code = printed_code("ADA@example.org")
    assert code.replace(" ", "") not in str(LoginCode.objects.values())
    for expected in (302, 400):
        browser = Client(enforce_csrf_checks=True)
        page = ask(browser, "ada@example.org")
        answer = browser.post("/login/code/", fields(page) | {"code": code})
        assert answer.status_code == expected
    assert Session.objects.filter(account=account).count() == 1


def test_a_printed_code_is_of_no_use_to_others(account: Account) -> None:
    code = printed_code("ada@example.org")
    browser = Client(enforce_csrf_checks=True)
    page = ask(browser, "eve@example.org")
    assert browser.post("/login/code/", fields(page) | {"code": code}).status_code == 400


def test_nobody_to_print_a_code_for(account: Account) -> None:
    with pytest.raises(CommandError, match="no account"):
        call_command("login_code", "nobody@example.org")
    with pytest.raises(CommandError, match="not an e-mail"):
        call_command("login_code", "nobody")
    services.suspend(account)
    with pytest.raises(CommandError, match="suspended"):
        call_command("login_code", "ada@example.org")


def test_make_operator(account: Account) -> None:
    with pytest.raises(CommandError, match="not an e-mail"):
        call_command("make_operator", "nobody")
    said = call_command("make_operator", "ADA@example.org")
    assert "login_code" in said
    account.refresh_from_db()
    assert account.is_staff
    assert account.is_superuser


def test_how_the_admin_calls_people(account: Account) -> None:
    assert account.get_short_name() == "ada@example.org"
    assert Account(key=account.key).get_short_name() == str(account)


def test_an_operator_makes_an_account() -> None:
    said = call_command("make_account", "grace@example.org", name="Grace")
    assert "login_code grace@example.org" in said
    account = services.account_of("grace@example.org")
    assert account is not None
    assert not account.is_staff
    assert not account.is_superuser
    with pytest.raises(CommandError):
        call_command("make_account", "Grace@example.org")
    with pytest.raises(CommandError):
        call_command("make_account", "nonsense", token="volunteer")
    token = call_command("make_account", "alan@example.org", token="volunteer")
    account = services.account_of("alan@example.org")
    assert account is not None
    assert principal_of_token(token, Scope.VOLUNTEER).account_id == account.pk
