"""The account page: names and settings, sessions and tokens, each of which can be ended."""

from __future__ import annotations

import re
import unicodedata
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts import login, services
from accounts.authentication import principal_of_token
from accounts.browsers import recognised
from accounts.models import Account, ApiToken, Session
from accounts.sessions import hashed
from accounts.tests.browsing import ask, fields
from goblin_wire.problems import TokenExpired
from goblin_wire.tokens import Scope
from tests.people import logged_in

pytestmark = pytest.mark.django_db

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"
EDGE = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/130.0 Safari/537.36 Edg/130.0"
)
FACTS = {"name": "Ada", "shown_name": "", "language": "en", "time_zone": "UTC"}


def with_code(account: Account, user_agent: str) -> Client:
    """A browser of this kind in which a code was typed."""
    browser = Client(headers={"user-agent": user_agent})
    code = login.operators_code(account)
    page = ask(browser, account.person.email)
    browser.post("/login/code/", fields(page) | {"code": code})
    return browser


def page_of(browser: Client) -> str:
    return browser.get("/account/").content.decode()


def test_it_needs_a_log_in() -> None:
    assert Client().get("/account/")["Location"] == "/login/?next=/account/"


@pytest.mark.parametrize(
    ("typed", "kept", "searched"),
    [
        ("  Đặng  Hương ", "Đặng Hương", "dang huong"),
        (unicodedata.normalize("NFD", "Nguyễn Ánh"), "Nguyễn Ánh", "nguyen anh"),
        ("Ada\u202e\u2066x", "Adax", "adax"),
        ("👩🏽\u200d🔬", "👩🏽\u200d🔬", "👩🏽\u200d🔬"),
        ("<script>alert(1)</script>", "<script>alert(1)</script>", "<script>alert(1)</script>"),
        ("ạ" * 200, "ạ" * 200, "a" * 200),
        ("", "", ""),
    ],
)
def test_names(account: Account, typed: str, kept: str, searched: str) -> None:
    browser = logged_in(account)
    assert browser.post("/account/", FACTS | {"name": typed}).status_code == 302
    account.person.refresh_from_db()
    assert account.person.name == kept
    assert account.person.name_search == searched
    assert "<script>alert" not in page_of(browser)


def test_marks_that_come_apart_are_not_counted(account: Account) -> None:
    name = "ấ" * 60
    apart = unicodedata.normalize("NFD", name)
    facts = FACTS | {"name": apart, "shown_name": apart}
    assert logged_in(account).post("/account/", facts).status_code == 302
    account.person.refresh_from_db()
    assert (account.person.name, account.person.shown_name) == (name, name)


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "x" * 201},
        {"name": "a\x00b"},
        {"shown_name": "x" * 61},
        {"language": "xx"},
        {"language": ""},
        {"time_zone": "Mars/Olympus"},
        {"time_zone": "../../etc/passwd"},
    ],
)
def test_what_is_refused_changes_nothing(account: Account, wrong: dict[str, str]) -> None:
    browser = logged_in(account)
    assert browser.post("/account/", FACTS | wrong).status_code == 400
    account.person.refresh_from_db()
    assert account.person.name == ""
    assert account.person.time_zone == "UTC"


def test_language_and_time_zone_are_kept_and_used(account: Account) -> None:
    browser = logged_in(account)
    facts = FACTS | {"language": "vi", "time_zone": "Asia/Ho_Chi_Minh", "shown_name": "  Ada\tL "}
    browser.post("/account/", facts)
    account.person.refresh_from_db()
    assert account.person.shown_name == "Ada L"
    with time_machine.travel("2026-12-01T20:30:00Z", tick=False):
        shown = logged_in(account).get("/account/", headers={"accept-language": "en"})
    text = shown.content.decode()
    assert shown.headers["Content-Language"] == "vi"
    assert '<html lang="vi">' in text
    assert 'datetime="2026-12-02T03:30:00+07:00"' in text


def test_the_chosen_time_zone_is_selected(account: Account) -> None:
    account.person.time_zone = "America/Argentina/Buenos_Aires"
    account.person.save()
    text = page_of(logged_in(account))
    chosen = '<option value="America/Argentina/Buenos_Aires" selected>'
    assert f"{chosen}America/Argentina/Buenos Aires</option>" in text
    assert text.count(" selected>") == 2, "it and the language"
    assert re.search(r'<select translate="no"[^>]* name="time_zone"', text) or re.search(
        r'<select [^>]*name="time_zone"[^>]*translate="no"', text
    )


def test_sessions_are_shown_and_ended(account: Account) -> None:
    here = logged_in(account)
    there = with_code(account, EDGE)
    text = page_of(here)
    assert "Edge, Windows" in text
    key = hashed(there.session.session_key or "")
    assert f"/account/sessions/{key}/end/" in text
    assert f"/account/sessions/{hashed(here.session.session_key or '')}/end/" not in text
    assert here.post(f"/account/sessions/{key}/end/").status_code == 302
    assert there.get("/account/").status_code == 302
    assert here.get("/account/").status_code == 200


@pytest.mark.parametrize(
    ("user_agent", "shown"),
    [
        (FIREFOX, "Firefox, Linux"),
        (EDGE, "Edge, Windows"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_0) Version/17.0 Safari/604.1", "Safari, iPhone"),
        ("curl/8", ""),
        ("Windows <b>", "Windows"),
    ],
)
def test_what_a_session_is_recognised_by(user_agent: str, shown: str) -> None:
    assert recognised(user_agent) == shown


def test_nobody_ends_the_sessions_of_others(account: Account) -> None:
    mine = logged_in(account)
    theirs = logged_in(services.create_account("eve@example.org"))
    key = hashed(mine.session.session_key or "")
    theirs.post(f"/account/sessions/{key}/end/")
    assert mine.get("/account/").status_code == 200


def test_log_out_everywhere(account: Account) -> None:
    here, there = logged_in(account), logged_in(account)
    assert here.post("/account/sessions/end/")["Location"] == "/login/"
    assert here.get("/account/").status_code == there.get("/account/").status_code == 302
    assert not Session.objects.filter(account=account).exists()


def test_last_use_is_noted_now_and_then(account: Account) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        browser = logged_in(account)
        first = Session.objects.get().last_used
        clock.shift(timedelta(minutes=5))
        page_of(browser)
        assert Session.objects.get().last_used == first
        clock.shift(timedelta(minutes=6))
        page_of(browser)
        assert Session.objects.get().last_used == first + timedelta(minutes=11)


def test_the_table_of_sessions_opens_none(account: Account) -> None:
    browser = logged_in(account)
    kept = Session.objects.get().session_key
    assert kept != browser.session.session_key
    thief = Client()
    thief.cookies["sessionid"] = kept
    assert thief.get("/account/").status_code == 302


def test_tokens_are_shown_and_revoked(account: Account) -> None:
    token = services.issue_token(account, Scope.VOLUNTEER, label="<desk>")
    row = ApiToken.objects.get()
    browser = logged_in(account)
    text = page_of(browser)
    assert row.prefix in text
    assert "&lt;desk&gt;" in text
    assert browser.get(f"/account/tokens/{row.pk}/revoke/")["Location"] == "/account/"
    stranger = logged_in(services.create_account("eve@example.org"))
    assert stranger.post(f"/account/tokens/{row.pk}/revoke/").status_code == 404
    assert principal_of_token(token, Scope.VOLUNTEER).account_id == account.pk
    browser.post(f"/account/tokens/{row.pk}/revoke/")
    with pytest.raises(TokenExpired):
        principal_of_token(token, Scope.VOLUNTEER)
    assert row.prefix not in page_of(browser)


def test_the_number_of_queries_does_not_grow(
    account: Account, django_assert_max_num_queries: object
) -> None:
    for number in range(30):
        services.issue_token(account, Scope.VOLUNTEER, label=f"machine {number}")
        logged_in(account)
    browser = logged_in(account)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        assert page_of(browser).count("/revoke/") == 30


@pytest.mark.parametrize("field", ["name", "shown_name"])
def test_a_tower_of_marks_is_a_sentence(field: str, account: Account) -> None:
    """Fifty marks on one letter would be drawn over the neighbours, on the leaderboard too."""
    answer = logged_in(account).post("/account/", FACTS | {field: "Z" + "\u0316" * 50})
    assert answer.status_code == 400
    assert "more than 5 marks" in answer.content.decode()
    account.person.refresh_from_db()
    assert getattr(account.person, field) == ""
