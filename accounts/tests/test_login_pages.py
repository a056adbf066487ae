"""Log-in and sign-up as a person meets them: real cookies, forms, CSRF tokens and mails."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import time_machine
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts import services
from accounts.models import Account, LoginAttempt, LoginCode, Session
from accounts.terms import TERMS_VERSION
from accounts.tests.browsing import ask, fields, mailed_code, wrong_for
from gpugoblin_site.mail.models import MailCode, OutboxMail

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    return Client(enforce_csrf_checks=True)


def confirm(browser: Client, page: str, code: str, **more: str) -> Any:
    return browser.post("/login/code/", fields(page) | {"code": code} | more)


def test_one_form_signs_up(browser: Client) -> None:
    page = ask(browser, "Ada@Example.org")
    assert not Account.objects.exists(), "nobody is made before the code came back"
    assert "ada@example.org" in page
    assert 'autocomplete="one-time-code"' in page
    done = confirm(browser, page, mailed_code())
    assert done["Location"] == "/start/"
    account = Account.objects.get()
    assert account.person.email == "ada@example.org"
    assert account.person.terms_version == TERMS_VERSION
    assert account.person.terms_accepted is not None
    assert Session.objects.get().account == account
    assert browser.get("/account/").status_code == 200


def test_the_same_form_logs_in(browser: Client, account: Account) -> None:
    page = ask(browser, "ada@example.org")
    assert confirm(browser, page, mailed_code())["Location"] == "/start/"
    assert Session.objects.get().account == account


def test_terms_are_accepted_once_for_each_version(browser: Client, account: Account) -> None:
    long_ago = timezone.now() - timedelta(days=400)
    account.person.terms_version, account.person.terms_accepted = TERMS_VERSION, long_ago
    account.person.save()
    confirm(browser, ask(browser, "ada@example.org"), mailed_code())
    account.person.refresh_from_db()
    assert account.person.terms_accepted == long_ago
    account.person.terms_version = "2020-01"
    account.person.save()
    services.welcome(account)
    account.person.refresh_from_db()
    assert account.person.terms_version == TERMS_VERSION
    assert account.person.terms_accepted is not None
    assert account.person.terms_accepted > long_ago


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        ("Asia/Ho_Chi_Minh", "Asia/Ho_Chi_Minh"),
        ("Asia/Saigon", "Asia/Ho_Chi_Minh"),
        ("Mars/Olympus", "UTC"),
        ("../etc/passwd", "UTC"),
        ("", "UTC"),
    ],
)
def test_a_new_account_has_the_time_zone_of_the_browser(
    browser: Client, told: str, kept: str
) -> None:
    confirm(browser, ask(browser, "ada@example.org"), mailed_code(), time_zone=told)
    assert Account.objects.get().person.time_zone == kept


def test_an_account_made_by_a_command_takes_the_language_of_its_first_page(
    browser: Client, account: Account
) -> None:
    browser.cookies["django_language"] = "vi"
    confirm(browser, ask(browser, "ada@example.org"), mailed_code())
    account.person.refresh_from_db()
    assert account.person.language == "vi"
    services.welcome(account, language="en")
    account.person.refresh_from_db()
    assert account.person.language == "vi"


def test_what_a_person_chose_stays(browser: Client, account: Account) -> None:
    services.welcome(account, "Asia/Tokyo")
    account.person.refresh_from_db()
    account.person.time_zone, account.person.terms_version = "Europe/Paris", "2020-01"
    account.person.save()
    confirm(browser, ask(browser, "ada@example.org"), mailed_code(), time_zone="Asia/Tokyo")
    account.person.refresh_from_db()
    assert account.person.time_zone == "Europe/Paris"


def test_an_unknown_address_looks_just_like_a_known_one(account: Account) -> None:
    """Pages, cookies, mails and even the statements are the same, so their time is too."""
    seen = [look(email) for email in ("ada@example.org", "eve@example.org")]
    assert seen[0] == seen[1]


def look(email: str) -> dict[str, Any]:
    """Everything that can be seen of a log-in up to the right code."""
    browser = Client(enforce_csrf_checks=True)
    form = fields(browser.get("/login/").content.decode())
    with CaptureQueriesContext(
        connection,
    ) as queries:
        sent = browser.post("/login/", form | {"email": email})
        page = browser.get(sent["Location"]).content.decode()
        wrong = confirm(browser, page, "nonsense")
    mailed_code(email)
    letter = mail.outbox[-1]
    return {
        "answers": [sent.status_code, wrong.status_code, sorted(sent.headers)],
        "cookies": sorted(browser.cookies),
        "pages": [same(page, email), same(wrong.content.decode(), email)],
        "mail": [re.sub(r"\d", "9", str(letter.subject)), re.sub(r"\d", "9", str(letter.body))],
        "statements": [re.sub(r"'[^']*'|NULL|\d+", "?", query["sql"]) for query in queries],
    }


def same(page: str, email: str) -> str:
    """A page without what is of chance."""
    hidden = re.sub(r'(name="(?:csrfmiddlewaretoken|attempt)" value=)"[^"]*"', r"\1", page)
    return re.sub(r"attempt=[0-9a-f-]+", "", hidden).replace(email, "EMAIL")


def test_back_to_where_one_was_going(browser: Client) -> None:
    page = ask(browser, "ada@example.org", "/login/?next=/account/%3Fa%3D1%26b%3D2")
    assert confirm(browser, page, mailed_code())["Location"] == "/account/?a=1&b=2"


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "javascript:1", "nowhere", "?x", "home"]
)
def test_no_way_to_other_sites(browser: Client, target: str) -> None:
    page = ask(browser, "ada@example.org", f"/login/?next={quote(target)}")
    assert confirm(browser, page, mailed_code())["Location"] == "/start/"
    assert browser.get(f"/login/?next={quote(target)}")["Location"] == "/start/"


def test_a_code_works_once(browser: Client) -> None:
    page = ask(browser, "ada@example.org")
    code = mailed_code()
    confirm(browser, page, code)
    form = fields(browser.get("/login/?again=1").content.decode())
    browser.post("/logout/", form)
    with time_machine.travel(timezone.now() + timedelta(minutes=1), tick=False):
        form |= {"attempt": fields(page)["attempt"], "code": code}
        again = browser.post("/login/code/", form)
    assert again.status_code == 410
    assert "Ask for another code" in again.content.decode()
    assert Account.objects.count() == 1


def test_a_code_that_is_sent_twice_at_once_logs_in(browser: Client) -> None:
    page = ask(browser, "ada@example.org")
    before = browser.cookies["csrftoken"].value
    code = mailed_code()
    assert confirm(browser, page, code)["Location"] == "/start/"
    browser.cookies["csrftoken"] = before
    assert confirm(browser, page, code)["Location"] == "/start/"
    assert Account.objects.count() == 1


def test_three_wrong_codes_end_the_attempt(browser: Client) -> None:
    page = ask(browser, "ada@example.org")
    code = mailed_code()
    for left in ("2 more times", "1 more time"):
        refused = confirm(browser, page, wrong_for(code))
        assert refused.status_code == 400
        assert left in refused.content.decode()
    assert confirm(browser, page, wrong_for(code)).status_code == 410
    assert confirm(browser, page, code).status_code == 410, "the right one comes too late"
    assert not Account.objects.exists()


def test_an_empty_code_is_no_try(browser: Client) -> None:
    page = ask(browser, "ada@example.org")
    for _ in range(4):
        assert confirm(browser, page, " ").status_code == 400
    assert LoginAttempt.objects.get().wrong == 0


@pytest.mark.parametrize("typed", ["{0}", "{0}-{1}", " {0}  {1} ", "{0}{1}\u00a0", "wide"])
def test_how_a_code_may_be_typed(browser: Client, typed: str) -> None:
    page = ask(browser, "ada@example.org")
    code = mailed_code()
    if typed == "{0}":
        assert confirm(browser, page, code[:4]).status_code == 400
        return
    wide = code.translate({ord("0") + i: 0xFF10 + i for i in range(10)})
    text = wide if typed == "wide" else typed.format(*code.split())
    assert confirm(browser, page, text).status_code == 302


def test_a_code_expires_after_fifteen_minutes(browser: Client) -> None:
    page = ask(browser, "ada@example.org")
    code = mailed_code()
    with time_machine.travel(timezone.now() + timedelta(minutes=15, seconds=1), tick=False):
        assert confirm(browser, page, code).status_code == 410
    with time_machine.travel(timezone.now() + timedelta(minutes=14, seconds=50), tick=False):
        assert confirm(browser, page, code).status_code == 302


def test_the_code_of_another_browser_opens_nothing(browser: Client) -> None:
    mine = ask(browser, "ada@example.org")
    other = Client(enforce_csrf_checks=True)
    theirs = ask(other, "eve@example.org")
    foreign = mailed_code("ada@example.org")
    assert confirm(other, theirs, foreign).status_code == 400
    stolen = fields(theirs) | {"attempt": fields(mine)["attempt"], "code": foreign}
    assert other.post("/login/code/", stolen).status_code == 410
    assert not Account.objects.exists()


def test_two_tabs_with_two_addresses(browser: Client) -> None:
    first = ask(browser, "ada@example.org")
    second = ask(browser, "eve@example.org")
    assert confirm(browser, second, mailed_code("ada@example.org")).status_code == 400
    assert confirm(browser, first, mailed_code("ada@example.org")).status_code == 302
    assert Account.objects.get().person.email == "ada@example.org"
    code = mailed_code("eve@example.org")
    assert confirm(browser, second, code).status_code == 403, "the log-in made the page stale"
    attempt = fields(second)["attempt"]
    second = browser.get("/login/code/", {"attempt": attempt}).content.decode()
    assert confirm(browser, second, code).status_code == 302
    shown = browser.get("/account/").content.decode()
    assert "eve@example.org" in shown
    assert "ada@example.org" not in shown


def test_a_form_that_is_sent_twice_sends_one_mail(browser: Client) -> None:
    form = fields(browser.get("/login/").content.decode()) | {"email": "ada@example.org"}
    first, second = browser.post("/login/", form), browser.post("/login/", form)
    assert first["Location"] == second["Location"]
    assert OutboxMail.objects.count() == 1


def test_three_resends(browser: Client) -> None:
    page = ask(browser, "ada@example.org")
    codes = [mailed_code()]
    for left in (2, 1, 0):
        again = browser.post("/login/code/", fields(page) | {"resend": "1"})
        shown = browser.get(again["Location"]).content.decode()
        assert ('name="resend"' in shown) is (left > 0)
        codes.append(mailed_code())
    refused = browser.post("/login/code/", fields(page) | {"resend": "1"})
    assert refused.status_code == 410
    assert OutboxMail.objects.count() == LoginCode.objects.count() == 4
    assert LoginAttempt.objects.get().wrong == 0, "a resend is no wrong code"
    assert confirm(browser, page, codes[1]).status_code == 302, "the earlier ones stay good"


def test_a_resend_counts_from_its_own_moment(browser: Client) -> None:
    page = ask(browser, "ada@example.org")
    first = mailed_code()
    with time_machine.travel(timezone.now() + timedelta(minutes=14), tick=False):
        browser.post("/login/code/", fields(page) | {"resend": "1"})
        second = mailed_code()
    with time_machine.travel(timezone.now() + timedelta(minutes=20), tick=False):
        assert confirm(browser, page, first).status_code == 400
        assert confirm(browser, page, second).status_code == 302


def test_codes_are_kept_as_hashes_and_wiped_from_the_mail(browser: Client) -> None:
    ask(browser, "ada@example.org")
    code = mailed_code()
    tables = (LoginCode.objects, LoginAttempt.objects, OutboxMail.objects)
    kept = " ".join(str(list(table.values())) for table in tables)
    assert code not in kept
    assert code.replace(" ", "") not in kept
    assert browser.cookies["browser"].value not in kept


def test_log_in_needs_csrf(browser: Client) -> None:
    refused = browser.post("/login/", {"email": "ada@example.org"})
    assert refused.status_code == 403
    assert not OutboxMail.objects.exists()


@pytest.mark.parametrize(
    "typed", ["", "nobody", "a@b", "a@example.org\x00", "x" * 300 + "@example.org", "<b>@x.org"]
)
def test_what_is_no_address(browser: Client, typed: str) -> None:
    form = fields(browser.get("/login/").content.decode())
    refused = browser.post("/login/", form | {"email": typed})
    assert refused.status_code == 400
    assert "<b>@" not in refused.content.decode()
    assert not OutboxMail.objects.exists()


def test_a_file_instead_of_an_address(browser: Client) -> None:
    form = fields(browser.get("/login/").content.decode())
    with Path(__file__).open("rb") as file:
        assert browser.post("/login/", form | {"email": file}).status_code == 400


@pytest.mark.parametrize("attempt", ["", "x", "0" * 32, "\x00", "' OR 1=1"])
def test_attempts_that_are_none(browser: Client, attempt: str) -> None:
    form = fields(browser.get("/login/").content.decode())
    facts = form | {"attempt": attempt, "code": "1234 5678"}
    assert browser.post("/login/code/", facts).status_code == 410
    assert browser.get("/login/code/", {"attempt": attempt}).status_code == 302


def test_a_suspended_account_is_told_after_its_code(browser: Client, account: Account) -> None:
    services.suspend(account)
    page = ask(browser, "ada@example.org")
    refused = confirm(browser, page, mailed_code())
    assert refused.status_code == 410
    assert "suspended" in refused.content.decode()
    assert not Session.objects.filter(account=account).exists()


def test_while_mail_cannot_leave_a_sentence_says_so(browser: Client) -> None:
    page = ask(browser, "ada@example.org")
    assert "cannot be reached" not in page
    OutboxMail.objects.update(code=MailCode.UNREACHABLE)
    late = browser.get("/login/code/").content.decode()
    assert "nothing is lost" in late
    in_vietnamese = browser.get("/login/code/", headers={"accept-language": "vi"})
    assert "không mất gì" in in_vietnamese.content.decode()
    assert confirm(browser, late, mailed_code()).status_code == 302


def test_log_out(browser: Client, account: Account) -> None:
    confirm(browser, ask(browser, "ada@example.org"), mailed_code())
    assert browser.get("/logout/").status_code == 405
    page = browser.get("/account/").content.decode()
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
    assert token is not None
    browser.post("/logout/", {"csrfmiddlewaretoken": token[1]})
    assert browser.get("/account/").status_code == 302
    assert not Session.objects.filter(account=account).exists()


def test_who_is_logged_in_is_sent_on(browser: Client) -> None:
    confirm(browser, ask(browser, "ada@example.org"), mailed_code())
    assert browser.get("/login/?next=/account/")["Location"] == "/account/"
    assert browser.get("/login/?next=https://evil.example")["Location"] == "/start/"
    assert browser.get("/login/code/")["Location"] == "/login/"


def test_a_visitor_leaves_no_session_behind(browser: Client) -> None:
    ask(browser, "ada@example.org")
    assert not Session.objects.exists()
    assert browser.cookies["browser"]["httponly"]
    assert browser.cookies["browser"]["samesite"] == "Lax"


@pytest.mark.parametrize("path", ["/login/", "/account/", "/account/export/", "/sign-in/"])
def test_programs_may_ask_for_the_head_of_a_page(browser: Client, path: str) -> None:
    confirm(browser, ask(browser, "ada@example.org"), mailed_code())
    for client in (Client(), browser):
        whole, head = client.get(path), client.head(path)
        assert head.status_code == whole.status_code
        assert head.headers.get("Content-Type") == whole.headers.get("Content-Type")
        assert not head.content


def test_the_language_of_a_new_account_is_the_pages(browser: Client) -> None:
    browser.defaults["HTTP_ACCEPT_LANGUAGE"] = "vi"
    page = ask(browser, "ada@example.org")
    confirm(browser, page, mailed_code())
    assert OutboxMail.objects.get().language == "vi"
    assert Account.objects.get().person.language == "vi"
