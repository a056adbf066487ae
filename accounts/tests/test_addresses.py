"""One address is one account, however its domain is spelt; what only looks alike is another."""

from __future__ import annotations

import importlib

import pytest
from django.apps import apps
from django.core import mail
from django.test import Client

from accounts import login, services
from accounts.addresses import folded, shown
from accounts.login import Visitor
from accounts.models import Account, Person
from accounts.tests.browsing import ask, fields, mailed_code
from goblin_wire.problems import BadMessage
from gpugoblin_site.mail.models import OutboxMail

BOOKS = "a@xn--bcher-kva.example"
SPELLINGS = [
    "a@bücher.example",
    "A@BÜCHER.Example",
    "a@bu\u0308cher.example",
    "a@xn--bcher-kva.example",
    "a@XN--BCHER-KVA.EXAMPLE",
    " a@\uff42ücher.example ",
    "a@bücher\u3002example",
]
migration = importlib.import_module("accounts.migrations.0007_one_form_of_addresses")


@pytest.mark.parametrize("typed", SPELLINGS)
def test_the_spellings_of_a_domain_are_one(typed: str) -> None:
    assert folded(typed) == BOOKS


def test_what_looks_alike_is_not_merged() -> None:
    cyrillic = "ada@ex\u0430mple.org"
    assert folded(cyrillic).startswith("ada@xn--")
    assert folded(cyrillic) != folded("ada@example.org")
    assert folded("ada@straße.example") == "ada@xn--strae-oqa.example"
    assert folded("ada@straße.example") != folded("ada@strasse.example")
    assert folded("a.da@example.org") != folded("ada@example.org")


@pytest.mark.parametrize(
    "typed",
    [
        *("ada@☃.example", "ada@-ü.example", "ada@ü..example", "ada@ü", "ada@ü_b.example"),
        *("ада@example.org", "stra\u00dfe@example.org", "a@b@ü.example" * 30, "@ü.example"),
        f"ada@{'ü' * 64}.example",
        f"ada@{'.'.join(['ü' * 30] * 7)}.example",
        f"ada@{'ü' * 100_000}.example",
    ],
    ids=range(12),
)
def test_what_is_no_address(typed: str) -> None:
    with pytest.raises(BadMessage):
        folded(typed)


def test_folding_is_at_rest_and_can_be_shown() -> None:
    assert folded(BOOKS) == BOOKS
    assert shown(BOOKS) == "a@bücher.example"
    assert folded(shown(BOOKS)) == BOOKS
    for plain in ("ada@example.org", "ada@xn--nonsense\u00ad.org", "ada@xn--0.org", ""):
        assert shown(plain) == plain


# --- accounts ------------------------------------------------------------------------------------
@pytest.mark.django_db
@pytest.mark.parametrize("spellings", [SPELLINGS[:2], SPELLINGS[:4:3], SPELLINGS[3::-3]])
def test_both_spellings_log_in_to_one_account(spellings: list[str]) -> None:
    for email in spellings:
        browser = Client()
        page = ask(browser, email)
        assert "a@bücher.example" in page
        done = browser.post("/login/code/", fields(page) | {"code": mailed_code(BOOKS)})
        assert done.status_code == 302
    assert Person.objects.get().email == BOOKS
    assert {sent.to[0] for sent in mail.outbox} == {BOOKS}
    assert {row.account for row in OutboxMail.objects.order_by("id")[1:]} == {Account.objects.get()}
    assert services.account_of("a@bücher.example") == Account.objects.get()


@pytest.mark.django_db
def test_they_share_the_limits() -> None:
    for number in range(login.MAILS_HERE.most):
        email = SPELLINGS[number % len(SPELLINGS)]
        login.begin(email, Visitor(f"{number}", "192.0.2.1", "en"))
    for email in SPELLINGS:
        answer = Client(REMOTE_ADDR="192.0.2.1").post("/login/", {"email": email})
        assert answer.status_code in (400, 429)  # a form takes no full-width letters


# --- what was kept before ------------------------------------------------------------------------
def person(email: str, **names: str) -> Person:
    """As it was kept before: folded, its domain as it was typed."""
    account = services.create_account(f"before{Person.objects.count()}@example.org")
    Person.objects.filter(account=account).update(email=email, **names)
    return Person.objects.get(account=account)


@pytest.mark.django_db
def test_kept_addresses_get_the_one_form() -> None:
    rows = [person("a@bücher.example"), person("b@example.org"), person("c@☃.example")]
    migration.forward(apps, None)
    for row, email in zip(rows, (BOOKS, "b@example.org", "c@☃.example"), strict=True):
        row.refresh_from_db()
        assert row.email == email
    assert services.account_of("a@bücher.example") == rows[0].account


@pytest.mark.django_db
def test_two_accounts_of_one_address_stay_two() -> None:
    unicode, ascii_ = person("a@bücher.example"), person(BOOKS)
    migration.forward(apps, None)
    unicode.refresh_from_db()
    assert unicode.email == "a@bücher.example"
    assert services.account_of("a@bücher.example") == ascii_.account


@pytest.mark.django_db
def test_kept_names_lose_their_towers() -> None:
    tower = "Z" + "\u0316" * 50
    row = person("a@example.org", name=f"{tower} Ánh", shown_name=tower, name_search="z anh")
    other = person("b@example.org", name="Đặng Thị Quỳnh")
    migration.forward(apps, None)
    row.refresh_from_db()
    assert (row.name, row.shown_name) == (f"{tower[:6]} Ánh", tower[:6])
    other.refresh_from_db()
    assert other.name == "Đặng Thị Quỳnh"
