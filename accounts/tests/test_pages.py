"""Log-in and confirmation as a person meets them: real cookies, forms and CSRF tokens."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from accounts import services, sign_in
from accounts.authentication import principal_of_token
from accounts.models import Account, ApiToken, LoginLink, SignIn
from goblin_wire.signin import SignInCode, SignInStart
from goblin_wire.states import SignInState
from goblin_wire.tokens import Scope
from research_access.models import Lab

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    return Client(enforce_csrf_checks=True)


def started(scope: Scope = Scope.VOLUNTEER) -> SignInCode:
    message = SignInStart(protocol=1, scope=scope, program="goblin <b>client</b>", label="desk")
    return sign_in.start(message, "192.0.2.1")


def form_of(text: str) -> dict[str, str]:
    """The CSRF token and the hidden fields of the page's form in <main>."""
    main = text[text.index("<main>") :]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', main))


def logged_in(browser: Client, account: Account) -> Client:
    secret = services.new_login_link(account)
    page = browser.get("/login/", {"token": secret}).content.decode()
    assert browser.post("/login/", form_of(page)).status_code == 302
    return browser


def test_link_logs_in_once_and_comes_back(browser: Client, account: Account) -> None:
    code = started()
    away = browser.get(f"/sign-in/?code={code.user_code}")
    assert away.status_code == 302
    assert away["Location"].startswith("/login/?next=")
    assert b"one-time link" in browser.get(away["Location"]).content
    assert not Session.objects.exists()
    link = call_command("login_link", "ADA@example.org")
    token = link.partition("token=")[2]
    page = browser.get("/login/", {"token": token}).content.decode()
    assert LoginLink.objects.get().used is None, "a GET uses nothing up"
    back = browser.post("/login/", form_of(page))
    assert back["Location"] == f"/sign-in/?code={code.user_code}"
    assert browser.get(back["Location"]).status_code == 200
    again = browser.post("/login/", form_of(page) | fresh_csrf(browser))
    assert again.status_code == 410
    assert b"expired or was used" in again.content


def fresh_csrf(browser: Client) -> dict[str, str]:
    page = browser.get("/login/", {"token": "x"}).content.decode()
    return {"csrfmiddlewaretoken": form_of(page)["csrfmiddlewaretoken"]}


def test_link_is_hashed_and_expires(browser: Client, account: Account) -> None:
    secret = services.new_login_link(account)
    assert secret not in str(LoginLink.objects.values().get())
    assert LoginLink.objects.get().expires < timezone.now() + timedelta(minutes=16)
    LoginLink.objects.update(expires=timezone.now())
    page = browser.get("/login/", {"token": secret}).content.decode()
    assert browser.post("/login/", form_of(page)).status_code == 410


def test_login_needs_csrf(browser: Client, account: Account) -> None:
    refused = browser.post("/login/", {"token": services.new_login_link(account)})
    assert refused.status_code == 403
    assert b"reload" in refused.content
    assert not Session.objects.exists()


@pytest.mark.parametrize("target", ["https://evil.example/", "//evil.example", "javascript:1"])
def test_no_way_to_other_sites(browser: Client, account: Account, target: str) -> None:
    browser.get("/login/", {"next": target})
    page = browser.get("/login/", {"token": services.new_login_link(account)}).content.decode()
    assert browser.post("/login/", form_of(page))["Location"] == "/sign-in/"


def test_confirmation_shows_all_and_escapes(browser: Client, account: Account) -> None:
    code = started()
    text = logged_in(browser, account).get(f"/sign-in/?code={code.user_code}").content.decode()
    assert "goblin &lt;b&gt;client" in text
    assert "desk" in text
    assert "volunteer" in text
    assert code.user_code in text


def test_get_confirms_nothing(browser: Client, account: Account) -> None:
    code = started()
    logged_in(browser, account).get(f"/sign-in/?code={code.user_code}&decision=confirm")
    assert SignIn.objects.get().state == SignInState.PENDING


@pytest.mark.parametrize(
    ("decision", "state"), [("confirm", "confirmed"), ("deny", "denied"), ("", "denied")]
)
def test_decision(browser: Client, account: Account, decision: str, state: str) -> None:
    code = started()
    page = logged_in(browser, account).get(f"/sign-in/?code={code.user_code}").content.decode()
    answer = browser.post("/sign-in/", form_of(page) | {"decision": decision})
    assert answer.status_code == 200
    assert SignIn.objects.get().state == state
    again = browser.post("/sign-in/", form_of(page) | {"decision": "confirm"})
    assert again.status_code == 410
    assert SignIn.objects.get().state == state


def test_confirmation_needs_csrf_and_log_in(browser: Client, account: Account) -> None:
    code = started()
    body = {"code": code.user_code, "decision": "confirm"}
    assert logged_in(browser, account).post("/sign-in/", body).status_code == 403
    assert Client().post("/sign-in/", body).status_code == 302
    assert SignIn.objects.get().state == SignInState.PENDING


def test_guesses_end(browser: Client, account: Account) -> None:
    logged_in(browser, account)
    code = started()
    for _ in range(10):
        assert browser.get("/sign-in/?code=BBBBBBBB").status_code == 410
    assert browser.get(f"/sign-in/?code={code.user_code}").status_code == 429


def test_lab_is_chosen_on_the_page(browser: Client, lab: Lab) -> None:
    code = started(Scope.LAB)
    page = logged_in(browser, lab.owner).get(f"/sign-in/?code={code.user_code}").content.decode()
    assert f'<option value="{lab.pk}">Lab</option>' in page
    wrong = browser.post("/sign-in/", form_of(page) | {"decision": "confirm", "lab": "999999"})
    assert wrong.status_code == 200, "one lab only: no choice is needed"
    assert sign_in.poll(code.device_code, "192.0.2.1").lab == lab.key.hex


def test_no_lab(browser: Client, account: Account) -> None:
    code = started(Scope.LAB)
    page = logged_in(browser, account).get(f"/sign-in/?code={code.user_code}").content.decode()
    assert 'value="confirm"' not in page
    refused = browser.post("/sign-in/", form_of(page) | {"decision": "confirm"})
    assert refused.status_code == 403
    assert not ApiToken.objects.exists()


def test_suspension_ends_the_session(browser: Client, account: Account) -> None:
    logged_in(browser, account)
    assert browser.get("/sign-in/").status_code == 200
    services.suspend(account)
    assert browser.get("/sign-in/").status_code == 302


def test_new_epoch_ends_the_session(browser: Client, account: Account) -> None:
    logged_in(browser, account)
    Account.objects.filter(pk=account.pk).update(session_epoch="another")
    assert browser.get("/sign-in/").status_code == 302


def test_log_out(browser: Client, account: Account) -> None:
    logged_in(browser, account)
    assert browser.get("/logout/").status_code == 405
    page = browser.get("/sign-in/").content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token is not None
    browser.post("/logout/", {"csrfmiddlewaretoken": token[1]})
    assert browser.get("/sign-in/").status_code == 302


def test_commands(account: Account) -> None:
    with pytest.raises(CommandError, match="no account"):
        call_command("login_link", "nobody@example.org")
    with pytest.raises(CommandError, match="not an e-mail"):
        call_command("make_operator", "nobody")
    call_command("make_operator", "ADA@example.org")
    account.refresh_from_db()
    assert account.is_staff
    assert account.is_superuser
    services.suspend(account)
    with pytest.raises(CommandError, match="suspended"):
        call_command("login_link", "ada@example.org")


def test_admin_sends_to_our_log_in(browser: Client) -> None:
    away = browser.get("/admin/")
    assert away.status_code == 302
    away = browser.get(away["Location"])
    assert away["Location"].startswith("/login/?next=%2Fadmin%2F")


def test_the_first_page_leads_on(browser: Client, account: Account) -> None:
    page = browser.get("/").content.decode()
    assert "goblin-client join --site http" in page
    assert 'href="/sign-in/"' in page
    assert "/admin/" not in page
    account.is_staff = True
    account.save()
    assert 'href="/admin/"' in logged_in(browser, account).get("/").content.decode()


def test_the_admin_greets_with_the_address(browser: Client, account: Account) -> None:
    account.is_staff = True
    account.save()
    page = logged_in(browser, account).get("/admin/").content.decode()
    assert "ada@example.org" in page
    assert str(account.key) not in page
    assert Account(key=account.key).get_short_name() == str(account)


def test_an_operator_makes_an_account_by_a_command() -> None:
    said = call_command("make_account", "grace@example.org", name="Grace")
    assert "login_link grace@example.org" in said
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
