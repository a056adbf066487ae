"""The switch of language keeps the page, and the choice."""

from __future__ import annotations

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts import services
from accounts.models import Person

pytestmark = pytest.mark.django_db


def switch(client: Client, language: str, following: str = "/data/") -> str:
    answer = client.post(reverse("language"), {"language": language, "next": following})
    assert answer.status_code == 302
    return str(answer.headers["Location"])


def test_a_visitor_keeps_page_and_choice(client: Client) -> None:
    assert switch(client, "vi", "/lend/?watts=60&hours=8") == "/lend/?watts=60&hours=8"
    assert client.cookies[settings.LANGUAGE_COOKIE_NAME]["httponly"]
    assert '<html lang="vi">' in client.get("/data/").content.decode()
    switch(client, "en")
    assert '<html lang="en">' in client.get("/data/").content.decode()


def test_an_account_keeps_it_everywhere(client: Client) -> None:
    account = services.create_account("ada@example.org")
    client.force_login(account)
    switch(client, "vi")
    assert Person.objects.get(account=account).language == "vi"
    elsewhere = Client()
    elsewhere.force_login(account)
    assert '<html lang="vi">' in elsewhere.get("/data/").content.decode()


@pytest.mark.parametrize(
    "target", ["https://evil.example/", "//evil.example", "", "javascript:x", "data", "?x"]
)
def test_it_leads_to_no_other_site(client: Client, target: str) -> None:
    assert switch(client, "vi", target) == "/"


@pytest.mark.parametrize("language", ["de", "", "../vi", "v" * 300])
def test_an_unknown_language_changes_nothing(client: Client, language: str) -> None:
    assert switch(client, language) == "/data/"
    assert settings.LANGUAGE_COOKIE_NAME not in client.cookies


def test_it_is_asked_for_by_post_from_here_only(client: Client) -> None:
    assert client.get(reverse("language")).status_code == 405
    strict = Client(enforce_csrf_checks=True)
    assert strict.post(reverse("language"), {"language": "vi"}).status_code == 403


@pytest.mark.parametrize("header", ["", "xx-yy;q=oops", "vi;q=2", "\N{SNOWMAN}", "a" * 5000, "*"])
def test_a_broken_wish_is_answered_in_one_of_both(client: Client, header: str) -> None:
    answer = client.get("/data/", HTTP_ACCEPT_LANGUAGE=header)
    assert answer.status_code == 200
    assert answer.headers["Content-Language"] in ("en", "vi")
