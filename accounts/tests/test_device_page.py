"""The confirmation of a program as a person meets it."""

from __future__ import annotations

import pytest
from django.test import Client

from accounts import login, services, sign_in
from accounts.models import Account, ApiToken, SignIn
from accounts.tests.browsing import ask, fields
from goblin_wire.signin import SignInCode, SignInStart
from goblin_wire.states import SignInState
from goblin_wire.tokens import Scope
from research_access.models import Lab
from tests.people import logged_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    return Client(enforce_csrf_checks=True)


def started(scope: Scope = Scope.VOLUNTEER) -> SignInCode:
    message = SignInStart(protocol=1, scope=scope, program="goblin <b>client</b>", label="desk")
    return sign_in.start(message, "192.0.2.1")


def shown(browser: Client, code: SignInCode) -> str:
    return browser.get(f"/sign-in/?code={code.user_code}").content.decode()


def test_log_in_first_then_back_to_the_code(browser: Client, account: Account) -> None:
    code = started()
    away = browser.get(f"/sign-in/?code={code.user_code}")["Location"]
    page = ask(browser, "ada@example.org", away)
    typed = fields(page) | {"code": login.operators_code(account)}
    back = browser.post("/login/code/", typed)
    assert back["Location"] == f"/sign-in/?code={code.user_code}"
    assert code.user_code in browser.get(back["Location"]).content.decode()


def test_confirmation_shows_all_and_escapes(browser: Client, account: Account) -> None:
    code = started()
    text = shown(logged_in(account, browser), code)
    assert "goblin &lt;b&gt;client" in text
    assert "desk" in text
    assert code.user_code in text


def test_get_confirms_nothing(browser: Client, account: Account) -> None:
    code = started()
    logged_in(account, browser).get(f"/sign-in/?code={code.user_code}&decision=confirm")
    assert SignIn.objects.get().state == SignInState.PENDING


@pytest.mark.parametrize(
    ("decision", "state"), [("confirm", "confirmed"), ("deny", "denied"), ("", "denied")]
)
def test_decision(browser: Client, account: Account, decision: str, state: str) -> None:
    code = started()
    page = shown(logged_in(account, browser), code)
    answer = browser.post("/sign-in/", fields(page) | {"decision": decision})
    assert answer.status_code == 200
    assert SignIn.objects.get().state == state
    again = browser.post("/sign-in/", fields(page) | {"decision": "confirm"})
    assert again.status_code == 410
    assert SignIn.objects.get().state == state


def test_confirmation_needs_csrf_and_log_in(browser: Client, account: Account) -> None:
    code = started()
    body = {"code": code.user_code, "decision": "confirm"}
    assert logged_in(account, browser).post("/sign-in/", body).status_code == 403
    assert Client().post("/sign-in/", body).status_code == 302
    assert SignIn.objects.get().state == SignInState.PENDING


def test_guesses_end(browser: Client, account: Account) -> None:
    logged_in(account, browser)
    code = started()
    for _ in range(10):
        assert browser.get("/sign-in/?code=BBBBBBBB").status_code == 410
    refused = browser.get(f"/sign-in/?code={code.user_code}")
    assert refused.status_code == 429
    assert "Try again in 10 minutes" in refused.content.decode()


@pytest.mark.parametrize("code", ["\x00", "é" * 500, "<b>", "123"])
def test_what_is_no_code(browser: Client, account: Account, code: str) -> None:
    refused = logged_in(account, browser).get("/sign-in/", {"code": code})
    assert refused.status_code == 410
    assert "<b>" not in refused.content.decode()


def test_lab_is_chosen_on_the_page(browser: Client, lab: Lab) -> None:
    code = started(Scope.LAB)
    page = shown(logged_in(lab.owner, browser), code)
    assert f'<option value="{lab.pk}">Lab</option>' in page
    wrong = browser.post("/sign-in/", fields(page) | {"decision": "confirm", "lab": "9" * 30})
    assert wrong.status_code == 200, "one lab only: no choice is needed"
    assert sign_in.poll(code.device_code, "192.0.2.1").lab == lab.key.hex


def test_no_lab(browser: Client, account: Account) -> None:
    code = started(Scope.LAB)
    page = shown(logged_in(account, browser), code)
    assert 'value="confirm"' not in page
    refused = browser.post("/sign-in/", fields(page) | {"decision": "confirm"})
    assert refused.status_code == 403
    assert not ApiToken.objects.exists()


def test_suspension_ends_the_session(browser: Client, account: Account) -> None:
    logged_in(account, browser)
    assert browser.get("/sign-in/").status_code == 200
    services.suspend(account)
    assert browser.get("/sign-in/").status_code == 302


def test_new_epoch_ends_the_session(browser: Client, account: Account) -> None:
    logged_in(account, browser)
    Account.objects.filter(pk=account.pk).update(session_epoch="another")
    assert browser.get("/sign-in/").status_code == 302
