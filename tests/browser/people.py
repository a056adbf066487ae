"""Browsers of people who have logged in, made without the pages of the log-in."""

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from django.test import Client

from accounts import factors
from accounts.models import Account

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
"""Of the second factor of everybody who has one here."""


def client_of(account: Account, *, proven: bool = True) -> Client:
    """Django's test client, logged in as this person; staff has shown the second factor too."""
    client = Client()
    client.force_login(account, settings.AUTHENTICATION_BACKENDS[0])
    if account.is_staff:
        if not factors.is_set_up(account):
            factors.set_up(account, SECRET)
        if proven:
            _pass_second_factor(account, client.session)
    return client


def cookies_of(account: Account, *, proven: bool = True) -> dict[str, str]:
    """The cookies of such a browser."""
    client = client_of(account, proven=proven)
    return {name: morsel.value for name, morsel in client.cookies.items()}


def _pass_second_factor(account: Account, session: SessionBase) -> None:
    request = HttpRequest()
    request.session = session
    request.user = account
    factors.pass_with(request, account)
    session.save()
