"""The public pages: whole in both languages, nothing of others in them, true of the program."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import Resolver404, resolve, reverse
from django.utils import timezone

from accounts import login, services
from accounts.models import Account
from accounts.tests.browsing import mailed_code
from gpugoblin_site.mail import housekeeping
from gpugoblin_site.pages import code
from workunits.models import Hour, Measured

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[2]
PUBLIC = [
    *("home", "how", "catalogue", "your-data", "cost", "contact", "lend", "help"),
    *("terms", "privacy"),
]
SENTENCE = {"en": "Do not send confidential data.", "vi": "Đừng gửi dữ liệu mật."}


def text_of(client: Client, name: str, language: str = "en", query: str = "") -> str:
    answer = client.get(reverse(name) + query, HTTP_ACCEPT_LANGUAGE=language)
    assert answer.status_code == 200
    return str(answer.content.decode())


@pytest.mark.parametrize("language", ["en", "vi"])
@pytest.mark.parametrize("name", PUBLIC)
def test_a_page_is_whole(client: Client, name: str, language: str) -> None:
    told = text_of(client, name, language)
    assert f'<html lang="{language}">' in told
    assert told.count("<h1") == 1
    assert "<main" in told
    assert not re.search(r"\bstyle=|<style|<script(?! src=)|\bon\w+=", told)
    assert "%(" not in told
    assert "{{" not in told


@pytest.mark.parametrize("name", PUBLIC)
def test_every_link_inside_leads_somewhere(client: Client, name: str) -> None:
    for target in set(re.findall(r'(?:href|action|src)="(/[^"]*)"', text_of(client, name))):
        path, _, part = target.partition("#")
        if path.startswith(settings.STATIC_URL):
            assert finders.find(path.removeprefix(settings.STATIC_URL))
            continue
        try:
            found = resolve(path)
        except Resolver404:
            pytest.fail(f"{name} links to {target}, where nothing is")
        if part:
            assert f'id="{part}"' in text_of(client, str(found.url_name))


def test_a_part_that_a_page_names_is_on_it(client: Client) -> None:
    for name in PUBLIC:
        told = text_of(client, name)
        for part in re.findall(r'href="#([^"]+)"', told):
            assert f'id="{part}"' in told


def test_nothing_of_others_is_loaded_or_asked(client: Client) -> None:
    """No address of anybody else in a page but for links to read, and a policy that says so."""
    for name in PUBLIC:
        answer = client.get(reverse(name))
        told = answer.content.decode()
        assert not re.search(r'(?:src|action|srcset)="(?:https?:)?//', told)
        policy = answer.headers["Content-Security-Policy"]
        assert "unsafe" not in policy
        assert "http:" not in policy
        assert "https:" not in policy


def test_the_cookies_are_those_that_the_privacy_page_names(client: Client) -> None:
    for name in PUBLIC:
        client.get(reverse(name))
    client.post(reverse("language"), {"language": "vi"})
    asked = client.post(reverse("login"), {"email": "ada@example.org"})
    assert "browser" in client.cookies
    attempt = asked["Location"].partition("attempt=")[2]
    client.post(reverse("login-code"), {"attempt": attempt, "code": mailed_code()})
    assert "known" in client.cookies
    assert settings.SESSION_COOKIE_NAME in client.cookies
    client.get(reverse("start"))
    told = text_of(client, "privacy")
    named = set(re.findall(r"<code>(\w+)</code>", told))
    assert set(client.cookies) <= named
    assert settings.SESSION_COOKIE_NAME in named
    assert settings.LANGUAGE_COOKIE_NAME in named


def test_a_visitor_gets_no_session(client: Client) -> None:
    for name in PUBLIC:
        client.get(reverse(name))
    assert settings.SESSION_COOKIE_NAME not in client.cookies


@pytest.mark.parametrize("name", ["home", "your-data", "how"])
@pytest.mark.parametrize("language", ["en", "vi"])
def test_the_warning_cannot_be_missed(client: Client, name: str, language: str) -> None:
    told = text_of(client, name, language)
    box = re.search(r'<aside class="notice loud".*?</aside>', told, re.S)
    assert box is not None
    assert SENTENCE[language] in box[0]


def measured(**changed: Any) -> None:
    facts: dict[str, Any] = {
        "at": timezone.now(), "machines": 37, "devices": 40, "labs": 4, "open_leases": 1204,
        "reported": 0, "waiting": 0, "verified": 9, "verified_flops": 1.0, "quarantined": 0,
        "disputed": 0, "verify_results": 0, "leases_looked_at": 0, "refusals": {}, "versions": {},
    }  # fmt: skip
    Measured.objects.update_or_create(id=1, defaults=facts | changed)


def test_an_empty_network_says_so(client: Client) -> None:
    assert "No machine is connected" in text_of(client, "home")
    measured(machines=0, open_leases=0)
    assert "No machine is connected" in text_of(client, "home")
    measured(at=timezone.now() - timedelta(hours=1))
    assert "No machine is connected" in text_of(client, "home")


def test_what_is_computed_now_is_the_databases(client: Client) -> None:
    measured()
    this_hour = timezone.now().replace(minute=0, second=0, microsecond=0)
    for hours, flops in ((1, 10**15), (2, 2 * 10**15), (30, 10**18)):
        Hour.objects.create(hour=this_hour - timedelta(hours=hours), flops=flops, units=1)
    told = text_of(client, "home")
    figures = re.search(r'<dl class="figures">.*?</dl>', told, re.S)
    assert figures is not None
    shown = re.findall(r"<dd>([^<]*)", figures[0].replace("\N{NO-BREAK SPACE}", " "))
    assert shown == ["37", "4", "1,204", "3.00 PFLOP"]


def test_the_home_page_costs_few_queries(
    client: Client, django_assert_max_num_queries: Any
) -> None:
    measured()
    with django_assert_max_num_queries(3):
        client.get(reverse("home"))


# --- what pages say about the program is what the program does -----------------------------------
def test_what_the_check_costs_and_hides_is_what_the_documents_say(client: Client) -> None:
    told = " ".join(text_of(client, "how").split())
    page = (ROOT / "docs" / "verification.md").read_text()
    cost = re.search(r"costs about ([\d, and]+) % of the product at 1024, 2048, 4096", page)
    assert cost is not None
    assert f"about {cost[1]} % of the product" in told
    hidden = re.search(r"^\| 2048 \| ([\d.e-]+) \|", page, re.M)
    assert hidden is not None
    assert f"about {float(hidden[1]) * 100:.2f} % of a typical entry" in told
    assert "probability `2^-8` per row" in page
    assert "1 in 256 per row" in told


def test_times_on_the_privacy_page_are_those_of_the_program(client: Client) -> None:
    told = text_of(client, "privacy")
    assert timedelta(seconds=settings.SESSION_COOKIE_AGE) == timedelta(days=14)
    assert timedelta(days=365) == services.TOKEN_LIFETIME
    assert "Sessions 14 days, tokens a year" in told
    assert (
        timedelta(days=30),
        timedelta(days=90),
    ) == (housekeeping.DONE_KEPT, housekeeping.TROUBLE_KEPT)
    assert "30 days; 90 if they could not be delivered" in told
    # With the last code and the hour between two purges it is a day.
    assert login.KEPT < timedelta(days=1) <= login.KEPT + timedelta(hours=4)
    assert "An address whose code was never typed: one day." in told


def test_times_of_the_lab_node_are_as_the_page_says(client: Client) -> None:
    from goblin_labnode.config import Retention

    told = text_of(client, "your-data")
    kept = Retention()
    assert (kept.results_days, kept.arrays_days) == (30, 7)
    assert "keeps a result for 30 days" in told
    assert "removed after seven days" in told


def test_codes_are_as_the_help_says(client: Client) -> None:
    told = text_of(client, "help")
    assert timedelta(minutes=15) == login.LIFETIME
    assert "works for 15 minutes" in told
    assert login.RESENDS == 3
    assert "up to three times" in told


def test_limits_of_the_client_are_as_the_page_says(client: Client) -> None:
    from goblin_client.__main__ import parser

    told = text_of(client, "lend")
    arguments = parser().parse_args(["run"])
    assert arguments.threads == 1
    assert "<code>--threads</code> (1)" in told
    assert arguments.memory is None  # half of the machine's: client/tests/test_commands.py
    assert "<code>--cache</code> on disk (10 GiB)" in told
    run = next(iter(parser()._subparsers._group_actions)).choices["run"]  # type: ignore[union-attr, call-overload, index]
    assert "default: 10G" in run.format_help()


def test_the_three_commands_are_commands(client: Client) -> None:
    """The packages to install are in the repository, and the client understands what follows."""
    from goblin_client.__main__ import parser

    install, join, run = code.commands("https://goblin.example").split("\n")
    for folder in re.findall(r'"?\./(\w+)', install):
        assert (ROOT / folder / "pyproject.toml").exists()
    assert (ROOT / "constraints.txt").exists()
    assert parser().parse_args(join.split()[1:]).site == "https://goblin.example"
    assert parser().parse_args(run.split()[1:]).command == "run"
    assert parser().parse_args(["pause", "--for", "8h"]).duration == 8 * 3600
    for page in ("home", "lend"):
        assert "goblin/bin/goblin-client run" in text_of(client, page)


def test_the_programs_of_both_languages_differ_in_comments_only() -> None:
    import ast

    english, vietnamese = (code.twelve_lines(language) for language in ("en", "vi"))
    assert ast.dump(ast.parse(english)) == ast.dump(ast.parse(vietnamese))
    assert len(english.splitlines()) == 12
    assert english != vietnamese


def test_the_licence_is_the_one_in_the_repository(client: Client) -> None:
    first = (ROOT / "LICENSE").read_text().splitlines()[0].removeprefix("# ")
    assert first == "PolyForm Noncommercial License 1.0.0"
    assert first in text_of(client, "cost")


def test_electricity_is_the_product_of_the_readers_figures(client: Client) -> None:
    told = text_of(client, "lend", query="?watts=60&hours=8&price=0.3")
    assert "<strong>14.4 kWh</strong>, that is <strong>4.32</strong>" in told
    told = text_of(client, "lend", "vi", query="?watts=100&hours=24&price=2500")
    assert "<strong>72,0 kWh</strong>, tức <strong>180.000,00</strong>" in told
    assert "<strong>14.4 kWh</strong>." in text_of(client, "lend", query="?watts=60&hours=8")


@pytest.mark.parametrize(
    "query", ["?watts=", "?watts=x&hours=8", "?watts=60&hours=25", "?watts=nan&hours=1"]
)
def test_figures_that_make_no_sense_are_told(client: Client, query: str) -> None:
    told = text_of(client, "lend", query=query)
    assert 'role="alert"' in told
    assert "In 30 days" not in told


def test_no_account_has_a_password() -> None:
    assert not any(field.name == "password" for field in Account._meta.get_fields())
    assert not services.create_account("ada@example.org").has_usable_password()
