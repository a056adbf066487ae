"""Strangers who ask for somebody's codes do not keep out a browser that has been in before."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts import known_browsers, login, services
from accounts.known_browsers import COOKIE, MOST, number_of, with_mark, without_mark
from accounts.login import LoginRefused, Visitor
from accounts.models import Account, RateLimit
from accounts.tests.browsing import ask, fields, mailed_code
from goblin_wire.problems import RateLimited
from gpugoblin_site.mail.models import OutboxMail

pytestmark = pytest.mark.django_db
ADA = "ada@example.org"
AGAIN = "/login/?again=1"
NETWORKS = [f"192.0.2.{number}" for number in range(1, 6)]


def strangers_ask(email: str) -> None:
    """From five networks, until nobody unknown gets a code of this address."""
    asked = 0
    for network in NETWORKS:
        for number in range(10):
            try:
                login.begin(email, Visitor(f"{network} {number}", network, "en"))
                asked += 1
            except RateLimited:
                pass
    assert asked == login.MAILS.most


def log_in(browser: Client, email: str = ADA) -> None:
    page = ask(browser, email, AGAIN)
    done = browser.post("/login/code/", fields(page) | {"code": mailed_code(email)})
    assert done.status_code == 302, done.content.decode()


@pytest.fixture
def owner() -> Client:
    """A browser that has logged in to the address, long enough ago."""
    browser = Client(REMOTE_ADDR="198.51.100.7")
    with time_machine.travel(timezone.now() - timedelta(days=20)):
        log_in(browser)
    RateLimit.objects.all().delete()
    return browser


def test_the_owner_gets_in_while_strangers_ask(owner: Client) -> None:
    strangers_ask(ADA)
    refused = Client(REMOTE_ADDR="198.51.100.7").post("/login/", {"email": ADA})
    assert refused.status_code == 429
    log_in(owner)


def test_strangers_of_the_same_network_do_not_matter_either(owner: Client) -> None:
    for number in range(login.MAILS_OF_NETWORK.most):
        login.MAILS_OF_NETWORK.count("198.51.100.7")
        if number < login.WRONG_OF_NETWORK.most:
            login.WRONG_OF_NETWORK.count("198.51.100.7")
    assert Client(REMOTE_ADDR="198.51.100.7").post("/login/", {"email": ADA}).status_code == 429
    log_in(owner)


def test_a_known_browser_has_its_own_limit(owner: Client) -> None:
    marks = owner.cookies[COOKIE].value
    for number in range(10):
        login.begin(ADA, Visitor(f"{number}", "198.51.100.7", "en", marks))
    with pytest.raises(RateLimited):
        login.begin(ADA, Visitor("another network", "203.0.113.9", "en", marks))
    login.begin(ADA, Visitor("unknown", "203.0.113.9", "en"))


def test_so_do_all_of_them() -> None:
    for number in range(60):
        marks = with_mark("", ADA)
        login.begin(ADA, Visitor(f"{number}", "203.0.113.9", "en", marks))
    with pytest.raises(RateLimited):
        login.begin(ADA, Visitor("one more", "203.0.113.9", "en", with_mark("", ADA)))


def test_resends_are_counted_there_too() -> None:
    marks = with_mark("", ADA)
    for number in range(5):
        visitor = Visitor(f"{number}", "203.0.113.9", "en", marks)
        login.resend(login.begin(ADA, visitor).pk, visitor)
    with pytest.raises(RateLimited):
        login.begin(ADA, Visitor("one more", "203.0.113.9", "en", marks))


# --- what attackers try --------------------------------------------------------------------------
def test_a_mark_is_good_for_its_own_address(account: Account) -> None:
    """Eve's browser is known to Eve's address; that opens nothing of Ada's, account or not."""
    marks = with_mark("", "eve@example.org")
    pages = []
    for victim in (account.person.email, "nobody@example.org"):
        strangers_ask(victim)
        eve = Client(REMOTE_ADDR="203.0.113.9", headers={"accept-language": "vi"})
        eve.cookies[COOKIE] = marks
        refused = eve.post("/login/", {"email": victim})
        assert refused.status_code == 429
        text = refused.content.decode().replace(victim, "address")
        pages.append(re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", text))
    assert pages[0] == pages[1]
    assert eve.post("/login/", {"email": "eve@example.org"}).status_code == 302


def forgeries() -> list[str]:
    real = with_mark("", "eve@example.org")
    number, day, proof = real.split(".")
    return [
        real,
        f"{number}.{int(day) + 1}.{proof}",
        f"{number}.{day}.{'0' * 64}",
        f"x{number}.{day}.{proof}",
        f"{number}.{day}",
        f"{number}.{'9' * 5000}.{proof}",
        f"{number}.²³.{proof}",
        "!" * 9000,
        "..",
        "é.1.é",
        ADA,
    ]


@pytest.mark.parametrize("cookie", forgeries(), ids=range(11))
def test_forged_marks_are_none(cookie: str) -> None:
    assert number_of(cookie, ADA) == ""
    browser = Client()
    browser.cookies[COOKIE] = cookie.encode("ascii", "replace").decode()
    assert browser.post("/login/", {"email": ADA}).status_code == 302
    assert number_of(with_mark(cookie, ADA), ADA)


def test_guesses_of_a_known_browser_end_as_those_of_others() -> None:
    visitor = Visitor("hers", "198.51.100.7", "en", with_mark("", ADA))
    attempt = login.begin(ADA, visitor)
    for left in (2, 1, 0):
        with pytest.raises(LoginRefused) as refused:
            login.confirm(attempt.pk, "nonsense", visitor)
        assert refused.value.left == left


# --- the cookie ----------------------------------------------------------------------------------
def test_it_tells_nothing_and_is_guarded(owner: Client) -> None:
    cookie = owner.cookies[COOKIE]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"
    assert cookie["max-age"] == known_browsers.LASTS_DAYS * 24 * 3600
    assert "ada" not in cookie.value
    assert "example" not in cookie.value
    assert not OutboxMail.objects.filter(body__contains=cookie.value).exists()


def test_it_ends_after_half_a_year(owner: Client) -> None:
    marks = owner.cookies[COOKIE].value
    assert number_of(marks, ADA)
    with time_machine.travel(timezone.now() + timedelta(days=known_browsers.LASTS_DAYS)):
        assert not number_of(marks, ADA)


def test_a_browser_keeps_its_number_and_few_addresses() -> None:
    marks = ""
    for number in range(MOST + 2):
        marks = with_mark(marks, f"{number}@example.org")
    assert [bool(number_of(marks, f"{each}@example.org")) for each in range(MOST + 2)] == [
        *[False] * 2,
        *[True] * MOST,
    ]
    known = number_of(marks, "3@example.org")
    assert number_of(with_mark(marks, "3@example.org"), "3@example.org") == known
    assert len(with_mark(marks, "3@example.org").split("!")) == MOST
    assert not number_of(without_mark(marks, "3@example.org"), "3@example.org")


def test_the_deletion_of_the_account_takes_it_away() -> None:
    browser = Client()
    log_in(browser)
    services.create_account("eve@example.org")
    log_in(browser, "eve@example.org")
    done = browser.post("/account/delete/", {"email": "eve@example.org"})
    assert done.status_code == 200
    marks = browser.cookies[COOKIE].value
    assert number_of(marks, ADA)
    assert not number_of(marks, "eve@example.org")
    log_in(browser)
    browser.post("/account/delete/", {"email": ADA})
    assert browser.cookies[COOKIE].value == ""
