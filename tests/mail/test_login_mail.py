"""Log-in by code over real SMTP: while the server is away, and when it is back."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts.models import Account
from accounts.tests.browsing import ask, code_in, fields
from gpugoblin_site.mail import delivery
from tests.mail.conftest import Post

pytestmark = pytest.mark.django_db
LATE = {"en": "nothing is lost", "vi": "không mất gì"}


def shown(browser: Client) -> str:
    return browser.get("/login/code/").content.decode()


@pytest.mark.parametrize("language", ["en", "vi"])
def test_sign_up_while_the_server_is_down(post: Post, language: str) -> None:
    post.stop()
    browser = Client(enforce_csrf_checks=True, headers={"accept-language": language})
    page = ask(browser, "ada@example.org")
    assert LATE[language] not in page, "nothing was tried yet"
    delivery.deliver_due()
    assert LATE[language] in shown(browser)
    post.start()
    with time_machine.travel(timezone.now() + timedelta(minutes=2), tick=False):
        assert delivery.deliver_due() == 1
        assert delivery.deliver_due() == 0, "none is sent twice"
        assert LATE[language] not in shown(browser)
        assert post.recipients == ["ada@example.org"], "and to nobody else"
        assert post.mails[0]["Content-Language"] == language
        code = code_in(post.mails[0].get_content())
        done = browser.post("/login/code/", fields(page) | {"code": code})
    assert done.status_code == 302
    assert Account.objects.get().person.language == language


def test_a_code_that_came_too_late_is_not_sent(post: Post) -> None:
    post.stop()
    ask(Client(enforce_csrf_checks=True), "ada@example.org")
    delivery.deliver_due()
    post.start()
    with time_machine.travel(timezone.now() + timedelta(minutes=16), tick=False):
        assert delivery.deliver_due() == 0
    assert post.mails == []


def test_an_address_that_is_refused(post: Post) -> None:
    post.refuse["rcpt"] = "550 5.1.1 no such person"
    browser = Client(enforce_csrf_checks=True)
    ask(browser, "nobody@example.org")
    delivery.deliver_due()
    assert "Is the address right?" in shown(browser)


def test_the_code_is_in_the_subject_and_nowhere_afterwards(post: Post) -> None:
    ask(Client(enforce_csrf_checks=True), "ada@example.org")
    delivery.deliver_due()
    got = post.mails[0]
    assert code_in(got["Subject"]) == code_in(got.get_content())
    assert "15 minutes" in got.get_content()
