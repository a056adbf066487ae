"""The second factor: demanded of who may use the admin, and hard to get around."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from accounts import factors, login, services
from accounts.models import Account
from accounts.tests.browsing import ask, fields
from tests.people import SECRET, as_operator, logged_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Account:
    return services.make_operator("op@example.org")


def shown_by_the_app(secret: str = SECRET, steps: int = 0) -> str:
    return str(format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps)))


def with_mailed_code(account: Account, url: str = "/login/") -> tuple[Client, str]:
    """A browser in which the mailed code was typed, and where it was sent then."""
    browser = Client(enforce_csrf_checks=True)
    page = ask(browser, account.person.email, url)
    code = login.operators_code(account)
    return browser, browser.post("/login/code/", fields(page) | {"code": code})["Location"]


def type_code(browser: Client, url: str, code: str) -> tuple[int, str]:
    page = browser.get(url).content.decode()
    answer = browser.post(url, fields(page) | {"code": code})
    return answer.status_code, answer.headers.get("Location", "")


def test_an_operator_sets_it_up_on_the_way_into_the_admin(operator: Account) -> None:
    browser, away = with_mailed_code(operator, "/login/?next=/admin/")
    assert away == "/admin/"
    away = browser.get(away)["Location"]
    assert away == "/account/second-factor/?next=%2Fadmin%2F"
    page = browser.get(away).content.decode()
    assert "data:image/svg+xml;base64," in page
    secret = browser.session["mfa.totp.secret"]
    assert factors.readable_secret(secret) in page
    assert browser.post(away, fields(page) | {"code": "nonsense"}).status_code == 400
    assert browser.session["mfa.totp.secret"] == secret, "a wrong code asks for no new set-up"
    done = browser.post(away, fields(page) | {"code": shown_by_the_app(secret)})
    text = done.content.decode()
    assert text.count("<li><code>") == 10
    assert 'href="/admin/"' in text
    assert browser.get("/admin/").status_code == 200


def test_every_tab_shows_the_same_secret(operator: Account) -> None:
    browser = logged_in(operator)
    browser.get("/account/second-factor/")
    secret = browser.session["mfa.totp.secret"]
    browser.get("/account/second-factor/")
    done = type_code(browser, "/account/second-factor/", shown_by_the_app(secret))
    assert done[0] == 200
    assert "mfa.totp.secret" not in browser.session


def test_from_then_on_the_log_in_asks_for_it(operator: Account) -> None:
    factors.set_up(operator, SECRET)
    browser, away = with_mailed_code(operator, "/login/?next=/admin/")
    assert away == "/login/second-factor/"
    assert browser.get("/admin/").status_code == 302, "the mailed code alone opens nothing"
    assert browser.get("/account/").status_code == 302
    assert type_code(browser, away, "000000")[0] == 400
    assert type_code(browser, away, shown_by_the_app()) == (302, "/admin/")
    assert browser.get("/admin/").status_code == 200


def test_a_code_of_the_app_works_once(operator: Account) -> None:
    factors.set_up(operator, SECRET)
    code = shown_by_the_app()
    first, second = (with_mailed_code(operator)[0] for _ in range(2))
    assert type_code(first, "/login/second-factor/", code)[0] == 302
    assert type_code(second, "/login/second-factor/", code)[0] == 400


def test_clocks_may_differ_by_half_a_minute(operator: Account) -> None:
    factors.set_up(operator, SECRET)
    browser, away = with_mailed_code(operator)
    assert type_code(browser, away, shown_by_the_app(steps=-3))[0] == 400
    assert type_code(browser, away, shown_by_the_app(steps=1))[0] == 302


def test_guesses_are_limited_for_all_workers(operator: Account) -> None:
    factors.set_up(operator, SECRET)
    browser, away = with_mailed_code(operator)
    for _ in range(5):
        type_code(browser, away, "000000")
    other, away = with_mailed_code(operator)
    assert type_code(other, away, shown_by_the_app())[0] == 400


def test_what_allauth_says_is_said_in_vietnamese(operator: Account) -> None:
    operator.person.language = "vi"
    operator.person.save()
    browser = logged_in(operator)
    setting_up = "/account/second-factor/"
    assert "Mã không đúng." in answer_to(browser, setting_up, "000000")
    factors.set_up(operator, SECRET)
    told = [answer_to(browser, f"{setting_up}check/", "000000") for _ in range(6)]
    assert "Mã không đúng." in told[0]
    assert "Quá nhiều lần đăng nhập không thành công." in told[-1]


def answer_to(browser: Client, url: str, code: str) -> str:
    page = browser.get(url).content.decode()
    return browser.post(url, fields(page) | {"code": code}).content.decode()


def test_a_recovery_code_works_once(operator: Account) -> None:
    codes = factors.set_up(operator, SECRET)
    browser, away = with_mailed_code(operator)
    assert type_code(browser, away, codes[3])[0] == 302
    known = factors.of_account(operator)
    assert known is not None
    assert known.recovery_codes_left == 9
    other, away = with_mailed_code(operator)
    assert type_code(other, away, codes[3])[0] == 400


def test_a_session_without_it_is_asked(operator: Account) -> None:
    early = logged_in(operator)
    factors.set_up(operator, SECRET)
    away = early.get("/admin/?q=1")["Location"]
    assert away == "/account/second-factor/check/?next=%2Fadmin%2F%3Fq%3D1"
    assert type_code(early, away, "000000")[0] == 400
    assert type_code(early, away, shown_by_the_app()) == (302, "/admin/?q=1")
    assert early.get("/admin/").status_code == 200


def test_changing_it_needs_it_and_a_log_in_of_now(operator: Account) -> None:
    factors.set_up(operator, SECRET)
    early = logged_in(operator)
    away = early.get("/account/second-factor/")["Location"]
    assert away.startswith("/account/second-factor/check/")
    with time_machine.travel(timezone.now() - timedelta(hours=1), tick=False):
        old = as_operator(operator)
    for answer in (
        old.get("/account/second-factor/"),
        old.post("/account/second-factor/", {"change": "remove"}),
    ):
        assert answer["Location"] == "/login/?again=1&next=%2Faccount%2Fsecond-factor%2F"
    assert factors.is_set_up(operator)
    assert "Log in once more" in old.get(answer["Location"]).content.decode()


def test_once_more_asks_for_both(operator: Account) -> None:
    factors.set_up(operator, SECRET)
    browser = as_operator(operator)
    page = ask(browser, "op@example.org", "/login/?again=1&next=/account/second-factor/")
    code = login.operators_code(operator)
    away = browser.post("/login/code/", fields(page) | {"code": code})["Location"]
    assert away == "/login/second-factor/"
    done = type_code(browser, away, shown_by_the_app())
    assert done == (302, "/account/second-factor/")
    assert browser.get("/account/second-factor/").status_code == 200


def test_new_recovery_codes_end_the_old_ones(operator: Account) -> None:
    old = factors.set_up(operator, SECRET)
    browser = as_operator(operator)
    page = browser.post("/account/second-factor/", {"change": "codes"}).content.decode()
    assert page.count("<li><code>") == 10
    assert old[0] not in page


def test_removing_it_shuts_the_admin(operator: Account) -> None:
    browser = as_operator(operator)
    assert browser.get("/admin/").status_code == 200
    browser.post("/account/second-factor/", {"change": "remove"})
    assert not Authenticator.objects.exists()
    other = logged_in(operator)
    assert other.get("/admin/")["Location"].startswith("/account/second-factor/")


def test_a_lost_telephone(operator: Account) -> None:
    factors.set_up(operator, SECRET)
    call_command("make_operator", "op@example.org")
    assert factors.is_set_up(operator)
    call_command("make_operator", "op@example.org", new_second_factor=True)
    assert not factors.is_set_up(operator)


def test_secrets_are_encrypted_in_the_database(operator: Account) -> None:
    codes = factors.set_up(operator, SECRET)
    kept = str(list(Authenticator.objects.values("data")))
    assert SECRET not in kept
    assert codes[0] not in kept


def test_volunteers_may_have_one_too(account: Account) -> None:
    browser = logged_in(account)
    assert "set one up" in browser.get("/account/").content.decode()
    factors.set_up(account, SECRET)
    assert browser.get("/account/").status_code == 200
    assert with_mailed_code(account)[1] == "/login/second-factor/"


def test_the_admin_tells_others_that_they_may_not(account: Account) -> None:
    assert Client().get("/admin/", follow=True).redirect_chain[-1][0].startswith("/login/?next=")
    refused = logged_in(account).get("/admin/", follow=True)
    assert refused.status_code == 403
