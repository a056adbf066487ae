"""The sign-in of a program: one code, one decision, one token."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

import goblin_wire.problems as wire
from accounts import services, sign_in
from accounts.authentication import principal_of_token
from accounts.models import Account, ApiToken, RateLimit, SignIn
from accounts.sign_in import Asker
from goblin_wire.signin import SignInCode, SignInStart, SignInToken
from goblin_wire.states import SignInState
from goblin_wire.tokens import Scope
from research_access import services as access
from research_access.management.commands.make_network_people import approved_request
from research_access.models import Lab

pytestmark = pytest.mark.django_db
AtOnce = Callable[[int, Callable[[], Any]], list[Any]]


def started(scope: Scope = Scope.VOLUNTEER, lab: str | None = None) -> SignInCode:
    message = SignInStart(
        protocol=1, scope=scope, program="goblin-client 0.1", label="desk", lab=lab
    )
    return sign_in.start(message, "192.0.2.1")


def test_the_whole_way(account: Account) -> None:
    code = started()
    assert code.url == f"http://127.0.0.1:8000/sign-in/?code={code.user_code}"
    with pytest.raises(wire.SignInPending):
        sign_in.poll(code.device_code, "192.0.2.1")
    sign_in.confirm(code.user_code, account)
    answer = sign_in.poll(code.device_code, "192.0.2.1")
    assert answer.scope is Scope.VOLUNTEER
    assert principal_of_token(answer.token, Scope.VOLUNTEER).account_id == account.pk
    assert ApiToken.objects.get().label == "desk"
    with pytest.raises(wire.SignInExpired):
        sign_in.poll(code.device_code, "192.0.2.1")
    assert ApiToken.objects.count() == 1


def test_form_of_the_code() -> None:
    letters = {c for _ in range(50) for c in started().user_code.replace("-", "")}
    assert letters <= set(sign_in.LETTERS)
    assert not letters & set("AEIOUY01")
    first, dash, second = started().user_code.partition("-")
    assert (len(first), dash, len(second)) == (4, "-", 4)


def test_neither_code_is_kept() -> None:
    code = started()
    row = str(SignIn.objects.values().get())
    assert code.device_code not in row
    assert code.user_code not in row
    assert code.user_code.replace("-", "") not in row


@pytest.mark.parametrize("change", [str.lower, lambda c: c.replace("-", " "), lambda c: f" {c} "])
def test_code_as_people_type_it(account: Account, change: Any) -> None:
    code = started()
    sign_in.confirm(change(code.user_code), account)
    assert sign_in.poll(code.device_code, "192.0.2.1").token


def test_denied(account: Account) -> None:
    code = started()
    sign_in.deny(code.user_code, account)
    with pytest.raises(wire.SignInDenied):
        sign_in.poll(code.device_code, "192.0.2.1")
    with pytest.raises(wire.SignInExpired):
        sign_in.confirm(code.user_code, account)


def test_confirmed_twice(account: Account) -> None:
    other = services.create_account("other@example.org")
    code = started()
    sign_in.confirm(code.user_code, account)
    for again in (sign_in.confirm, sign_in.deny):
        with pytest.raises(wire.SignInExpired):
            again(code.user_code, other)
    token = sign_in.poll(code.device_code, "192.0.2.1").token
    assert principal_of_token(token, Scope.VOLUNTEER).account_id == account.pk


def test_expires_after_ten_minutes(account: Account) -> None:
    pending, confirmed = started(), started()
    sign_in.confirm(confirmed.user_code, account)
    with time_machine.travel(timezone.now() + timedelta(minutes=10, seconds=1), tick=False):
        for code in (pending, confirmed):
            with pytest.raises(wire.SignInExpired):
                sign_in.poll(code.device_code, "192.0.2.1")
        with pytest.raises(wire.SignInExpired):
            sign_in.confirm(pending.user_code, account)
    assert not ApiToken.objects.exists()


def test_unknown_codes(account: Account) -> None:
    with pytest.raises(wire.SignInExpired):
        sign_in.poll("nobody has this", "192.0.2.1")
    with pytest.raises(wire.SignInExpired):
        sign_in.confirm("BBBB-BBBB", account)
    with pytest.raises(wire.SignInExpired):
        sign_in.confirm("é\0", account)


def test_suspended_between_confirmation_and_poll(account: Account) -> None:
    code = started()
    sign_in.confirm(code.user_code, account)
    services.suspend(account)
    with pytest.raises(wire.AccountSuspended):
        sign_in.poll(code.device_code, "192.0.2.1")
    assert not ApiToken.objects.exists()


def test_lab(lab: Lab) -> None:
    code = started(Scope.LAB)
    sign_in.confirm(code.user_code, lab.owner)
    answer = sign_in.poll(code.device_code, "192.0.2.1")
    assert (answer.lab, answer.lab_name) == (lab.key.hex, "Lab")
    assert principal_of_token(answer.token, Scope.LAB).lab == lab.pk


def test_lab_that_is_named(lab: Lab, account: Account) -> None:
    code = started(Scope.LAB, lab.key.hex)
    with pytest.raises(wire.NotAllowed):
        sign_in.confirm(code.user_code, account)
    sign_in.confirm(code.user_code, lab.owner)
    assert sign_in.poll(code.device_code, "192.0.2.1").lab == lab.key.hex
    with pytest.raises(wire.UnknownLab):
        started(Scope.LAB, "0" * 32)


def test_lab_must_be_chosen_among_several(lab: Lab) -> None:
    approved_request(lab.owner, Account.objects.get(is_staff=True))
    second = access.create_lab(lab.owner, "Second")
    code = started(Scope.LAB)
    with pytest.raises(wire.NotAllowed, match="Choose"):
        sign_in.confirm(code.user_code, lab.owner)
    sign_in.confirm(code.user_code, lab.owner, lab=second)
    assert sign_in.poll(code.device_code, "192.0.2.1").lab == second.key.hex


def test_lab_of_others(lab: Lab, account: Account) -> None:
    code = started(Scope.LAB)
    with pytest.raises(wire.NotAllowed):
        sign_in.confirm(code.user_code, account, lab=lab)
    assert SignIn.objects.get().state == SignInState.PENDING


def test_guesses_of_an_account_are_limited(account: Account) -> None:
    code = started()
    for number in range(10):
        with pytest.raises(wire.SignInExpired):
            sign_in.find(f"BBBB-BBB{sign_in.LETTERS[number]}", Asker(account, f"192.0.2.{number}"))
    with pytest.raises(wire.RateLimited) as refused:
        sign_in.find(code.user_code, Asker(account, "192.0.2.99"))
    assert 0 < (refused.value.retry_after or 0) <= 600
    other = services.create_account("other@example.org")
    assert sign_in.find(code.user_code, Asker(other, "192.0.2.99"))


def test_guesses_of_an_address_are_limited() -> None:
    code = started()
    for number in range(30):
        account = services.create_account(f"n{number}@example.org")
        with pytest.raises(wire.SignInExpired):
            sign_in.find("BBBB-BBBB", Asker(account, "198.51.100.7"))
    account = services.create_account("last@example.org")
    with pytest.raises(wire.RateLimited):
        sign_in.find(code.user_code, Asker(account, "198.51.100.7"))
    assert sign_in.find(code.user_code, Asker(account, "198.51.100.8"))


def test_polls_and_starts_are_limited() -> None:
    code = started()
    with pytest.raises(wire.RateLimited):  # noqa: PT012
        for _ in range(sign_in.POLLS.most + 1):
            with pytest.raises(wire.SignInPending):
                sign_in.poll(code.device_code, "192.0.2.1")
    RateLimit.objects.update(count=10_000)
    with pytest.raises(wire.RateLimited):
        started()


def test_polls_with_unknown_codes_are_limited() -> None:
    code = started()
    for number in range(60):
        with pytest.raises(wire.SignInExpired):
            sign_in.poll(f"made up {number}", "192.0.2.1")
    with pytest.raises(wire.RateLimited):
        sign_in.poll("another", "192.0.2.1")
    assert RateLimit.objects.count() == 2, "no row for each code that somebody makes up"
    with pytest.raises(wire.SignInPending):
        sign_in.poll(code.device_code, "192.0.2.2")


def test_limits_tell_no_address() -> None:
    started()
    assert "192.0.2" not in str(list(RateLimit.objects.values()))


def test_purge(account: Account) -> None:
    started()
    assert sign_in.purge() == 0
    SignIn.objects.update(expires=timezone.now() - timedelta(days=2))
    assert sign_in.purge() == 1


@pytest.mark.django_db(transaction=True)
def test_many_polls_at_once_yield_one_token(at_once: AtOnce) -> None:
    account = services.create_account("ada@example.org")
    code = started()
    sign_in.confirm(code.user_code, account)
    answers = at_once(8, lambda: sign_in.poll(code.device_code, "192.0.2.1"))
    tokens = [answer for answer in answers if isinstance(answer, SignInToken)]
    assert len(tokens) == 1
    assert sum(isinstance(answer, wire.SignInExpired) for answer in answers) == 7
    assert ApiToken.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_many_confirmations_at_once_are_one(at_once: AtOnce) -> None:
    accounts = [services.create_account(f"n{number}@example.org") for number in range(6)]
    code = started()
    left = list(accounts)
    answers = at_once(6, lambda: sign_in.confirm(code.user_code, left.pop()))
    confirmed = [answer for answer in answers if isinstance(answer, SignIn)]
    assert len(confirmed) == 1
    token = sign_in.poll(code.device_code, "192.0.2.1").token
    assert principal_of_token(token, Scope.VOLUNTEER).account_id == confirmed[0].account_id
