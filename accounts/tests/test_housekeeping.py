"""Nothing is kept longer than needed."""

from __future__ import annotations

from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from accounts import housekeeping, login, services, sign_in
from accounts.models import Account, ApiToken, LoginAttempt, LoginCode, RateLimit, Session, SignIn
from goblin_wire.signin import SignInStart
from goblin_wire.tokens import Scope

pytestmark = pytest.mark.django_db


def test_an_address_that_was_never_confirmed_is_gone_within_a_day() -> None:
    visitor = login.Visitor("browser", "192.0.2.1", "en")
    attempt = login.begin("new@example.org", visitor)
    with time_machine.travel(timezone.now() + timedelta(minutes=14), tick=False):
        login.resend(attempt.pk, visitor)
    with time_machine.travel(timezone.now() + timedelta(hours=20), tick=False):
        housekeeping.purge()
        assert LoginAttempt.objects.exists()
    with time_machine.travel(timezone.now() + timedelta(hours=23), tick=False):
        housekeeping.purge()
        assert not LoginAttempt.objects.exists()


def test_purge(account: Account) -> None:
    services.issue_token(account, Scope.VOLUNTEER)
    login.operators_code(account)
    login.begin("new@example.org", login.Visitor("browser", "192.0.2.1", "en"))
    message = SignInStart(protocol=1, scope=Scope.VOLUNTEER, program="p")
    sign_in.start(message, "192.0.2.1")
    Client().force_login(account)
    assert housekeeping.purge() == 0
    with time_machine.travel(timezone.now() + timedelta(days=20), tick=False):
        assert housekeeping.purge() == 9
        assert housekeeping.purge() == 0
    assert Account.objects.get() == account, (
        "of an address that was never confirmed nothing is left"
    )
    for model in (LoginAttempt, LoginCode, Session, SignIn, RateLimit):
        assert not model.objects.exists()
    assert ApiToken.objects.exists()
