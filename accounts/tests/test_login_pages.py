"""Log-in and sign-up as a person meets them: real cookies, forms, CSRF tokens and mails."""

from __future__ import annotations

import re

import pytest
from django.core import mail
from django.test import Client

from accounts.models import Account, Session
from accounts.terms import TERMS_VERSION
from gpugoblin_site.mail import delivery

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    return Client(enforce_csrf_checks=True)


def fields(text: str) -> dict[str, str]:
    """The hidden fields of the first form in <main>."""
    main = text[text.index("<main") :]
    form = main[main.index("<form") : main.index("</form>")]
    return dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))


def ask(browser: Client, email: str, url: str = "/login/") -> str:
    """Type an address; the page that asks for the code."""
    page = browser.get(url).content.decode()
    sent = browser.post(url, fields(page) | {"email": email})
    assert sent.status_code == 302, sent.content.decode()
    return browser.get(sent["Location"]).content.decode()


def mailed_code() -> str:
    """The code of the mail that was sent last."""
    delivery.deliver_due()
    found = re.search(r"\b(\d{4} \d{4})\b", str(mail.outbox[-1].body))
    assert found is not None
    return found[1]


def test_one_form_signs_up(browser: Client) -> None:
    page = ask(browser, "Ada@Example.org")
    assert not Account.objects.exists(), "nobody is made before the code came back"
    assert "ada@example.org" in page
    done = browser.post("/login/code/", fields(page) | {"code": mailed_code()})
    assert done["Location"] == "/start/"
    account = Account.objects.get()
    assert account.person.email == "ada@example.org"
    assert account.person.terms_version == TERMS_VERSION
    assert account.person.terms_accepted is not None
    assert Session.objects.get(account=account)
    assert browser.get("/account/").status_code == 200
