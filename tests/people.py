"""Browsers of people, for the tests of every room: logged in as the site itself would do it."""

from __future__ import annotations

from allauth.account.internal.flows.login import record_authentication
from django.conf import settings
from django.http import HttpRequest
from django.test import Client

from accounts import factors
from accounts.models import Account

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
"""The secret of the second factor of everybody who is logged in by `as_operator`."""


def logged_in(account: Account, client: Client | None = None) -> Client:
    """A browser in which the person has just typed the code of a mail."""
    browser = client or Client()
    browser.force_login(account, settings.AUTHENTICATION_BACKENDS[0])
    _note(browser, account, "code")
    return browser


def as_operator(account: Account, client: Client | None = None) -> Client:
    """The same with a second factor, which is set up if there is none: the admin opens."""
    with_second_factor(account)
    browser = logged_in(account, client)
    _note(browser, account, factors.METHOD)
    return browser


def with_second_factor(account: Account) -> None:
    """Set one up where there is none."""
    if not factors.is_set_up(account):
        factors.set_up(account, SECRET)


def _note(browser: Client, account: Account, method: str) -> None:
    request = HttpRequest()
    request.session = browser.session
    request.user = account
    record_authentication(request, account, method)
    request.session.save()
