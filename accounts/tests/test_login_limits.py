"""Limits of log-ins: per address, generous per network, the same for all worker processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core import mail
from django.db import connection
from django.test import Client

from accounts import known_browsers, login, services
from accounts.login import LoginRefused, Refusal, Visitor
from accounts.models import Account, LoginAttempt, LoginCode
from accounts.tests.browsing import code_in, mailed_code, wrong_for
from goblin_wire.problems import RateLimited
from gpugoblin_site.mail import delivery
from gpugoblin_site.mail.models import OutboxMail

pytestmark = pytest.mark.django_db
AtOnce = Callable[[int, Callable[[], Any]], list[Any]]
ROOT = Path(__file__).resolve().parents[2]

CAMPUS = "192.0.2.1"
ELSEWHERE = "198.51.100.1"
_WORKER = """
import json, sys
import django
django.setup()
from accounts import login
from goblin_wire.problems import RateLimited
def passed(marks):
    done = 0
    for number in range(int(sys.argv[1])):
        visitor = login.Visitor(f"{sys.argv[2]} {marks} {number}", "192.0.2.1", "en", marks)
        try:
            login.begin("ada@example.org", visitor)
            done += 1
        except RateLimited:
            pass
    return done
print(json.dumps([passed(""), passed(sys.argv[3])]))
"""


def visitor(browser: str = "a", address: str = CAMPUS) -> Visitor:
    return Visitor(browser, address, "en")


def test_a_campus_signs_up() -> None:
    """Sixty people behind one address within a few minutes, each with a wrong code first."""
    students = {f"student{number}@example.org": Client(REMOTE_ADDR=CAMPUS) for number in range(60)}
    pages = {}
    for email, browser in students.items():
        pages[email] = browser.post("/login/", {"email": email})["Location"]
    delivery.deliver_due()
    codes = {sent.to[0]: code_in(str(sent.body)) for sent in mail.outbox}
    for email, browser in students.items():
        typed = {"attempt": pages[email].partition("attempt=")[2]}
        refused = browser.post("/login/code/", typed | {"code": wrong_for(codes[email])})
        assert refused.status_code == 400
        assert browser.post("/login/code/", typed | {"code": codes[email]}).status_code == 302
    assert Account.objects.count() == 60


def test_one_address_is_not_flooded() -> None:
    for number in range(10):
        login.begin("ada@example.org", visitor(f"{number}"))
    with pytest.raises(RateLimited):
        login.begin("ADA@example.org ", visitor("another"))
    login.begin("eve@example.org", visitor("another"))
    assert login.begin("ada@example.org", visitor("hers", ELSEWHERE)), "the person still gets in"


def test_nor_from_many_networks() -> None:
    for number in range(30):
        login.begin("ada@example.org", visitor(f"{number}", f"192.0.2.{number}"))
    with pytest.raises(RateLimited):
        login.begin("ada@example.org", visitor("another", ELSEWHERE))


def test_resends_count_too() -> None:
    for number in range(3):
        attempt = login.begin("ada@example.org", visitor(f"{number}"))
        for _ in range(2):
            login.resend(attempt.pk, visitor(f"{number}"))
    login.resend(attempt.pk, visitor("2"))
    with pytest.raises(RateLimited):
        login.begin("ada@example.org", visitor("another"))


def test_what_a_person_sees_of_a_limit(account: Account) -> None:
    """Known or not, the same sentence in the language of the page."""
    for email in ("ada@example.org", "eve@example.org"):
        for number in range(10):
            login.begin(email, visitor(f"{email} {number}", "127.0.0.1"))
        browser = Client(headers={"accept-language": "vi"})
        refused = browser.post("/login/", {"email": email})
        assert refused.status_code == 429
        assert "Hãy thử lại sau 60 phút" in refused.content.decode()
        assert f'value="{email}"' in refused.content.decode(), "what was typed is kept"


def test_guesses_of_a_network_end() -> None:
    login.WRONG_OF_NETWORK.count(CAMPUS)
    for _ in range(299):
        login.WRONG_OF_NETWORK.count(CAMPUS)
    attempt = login.begin("ada@example.org", visitor())
    with pytest.raises(RateLimited):
        login.confirm(attempt.pk, "0000 0000", visitor())
    other = login.begin("ada@example.org", visitor("b", ELSEWHERE))
    with pytest.raises(LoginRefused):
        login.confirm(other.pk, "nonsense", visitor("b", ELSEWHERE))


@pytest.mark.django_db(transaction=True)
def test_two_worker_processes_share_the_limits() -> None:
    marks = known_browsers.with_mark("", "ada@example.org")
    with worker("one", marks) as one, worker("two", marks) as two:
        passed = [json.loads(process.communicate(timeout=180)[0]) for process in (one, two)]
    strangers, known = (sum(numbers) for numbers in zip(*passed, strict=True))
    assert (strangers, known) == (10, 10), passed
    assert LoginAttempt.objects.count() == 20


def worker(name: str, marks: str) -> subprocess.Popen[str]:
    """A process of its own that asks for eight codes for one address as somebody unknown, then for
    eight as the browser with these marks."""
    known = connection.get_connection_params()
    user, password = known["user"], quote(known.get("password") or "")
    place = f"{known['host']}:{known['port']}/{known['dbname']}"
    environment = os.environ | {
        "DATABASE_URL": f"postgres://{user}:{password}@{place}",
        "PYTHONPATH": f"{ROOT}:{ROOT / 'platform'}",
    }
    command = [sys.executable, "-c", _WORKER, "8", name, marks]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.django_db(transaction=True)
def test_parallel_guesses_are_three_and_no_more(at_once: AtOnce) -> None:
    attempt = login.begin("ada@example.org", visitor())

    def guess() -> Any:
        try:
            return login.confirm(attempt.pk, "nonsense", visitor())
        except LoginRefused as refused:
            return (refused.refusal, refused.left)

    answers = at_once(6, guess)
    assert answers.count((Refusal.WRONG, 2)) == answers.count((Refusal.WRONG, 1)) == 1
    assert sorted({answer[0] for answer in answers}) == [Refusal.ENDED, Refusal.WRONG]
    assert LoginAttempt.objects.get().wrong == 3


@pytest.mark.django_db(transaction=True)
def test_a_form_that_is_sent_many_times_at_once_sends_one_mail(at_once: AtOnce) -> None:
    answers = at_once(6, lambda: login.begin("ada@example.org", visitor()).pk)
    assert len(set(answers)) == 1
    assert LoginCode.objects.count() == OutboxMail.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_a_code_that_comes_many_times_at_once_works_once(at_once: AtOnce) -> None:
    account = services.create_account("ada@example.org")
    code = login.operators_code(account)
    attempts = [login.begin("ada@example.org", visitor(f"{n}")) for n in range(4)]
    left = iter(enumerate(attempts))

    def use() -> Any:
        number, attempt = next(left)
        return login.confirm(attempt.pk, code, visitor(f"{number}"))

    answers = at_once(4, use)
    assert sum(isinstance(answer, tuple) for answer in answers) == 1
    assert sum(isinstance(answer, LoginRefused) for answer in answers) == 3
    assert LoginCode.objects.filter(used__isnull=False).count() == 1


@pytest.mark.django_db(transaction=True)
def test_two_tabs_of_a_new_person_make_one_account(at_once: AtOnce) -> None:
    codes = []
    for number in range(2):
        attempt = login.begin("ada@example.org", visitor(f"{number}"))
        codes.append((attempt.pk, mailed_code(), visitor(f"{number}")))
    left = iter(codes)
    answers = at_once(2, lambda: login.confirm(*next(left)))
    assert len({answer[0].pk for answer in answers}) == 1
    assert Account.objects.count() == 1
