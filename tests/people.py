"""Browsers of people, for the tests of every room: logged in as the site itself would do it."""

from __future__ import annotations

import time

from allauth.account.internal.flows.login import (
    _AUTHENTICATION_METHODS_USER_SESSION_KEY,
    AUTHENTICATION_METHODS_SESSION_KEY,
)
from django.test import Client

from accounts import factors
from accounts.models import Account

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
"""The secret of the second factor of everybody who is logged in by `as_operator`."""


def logged_in(account: Account, client: Client | None = None) -> Client:
    """A browser in which the person has just typed the code of a mail."""
    browser = client or Client()
    browser.force_login(account)
    _note(browser, account, "code")
    return browser


def as_operator(account: Account, client: Client | None = None) -> Client:
    """The same with a second factor, which is set up if there is none: the admin opens."""
    if not factors.is_set_up(account):
        factors.set_up(account, SECRET)
    browser = logged_in(account, client)
    _note(browser, account, factors.METHOD)
    return browser


def _note(browser: Client, account: Account, method: str) -> None:
    session = browser.session
    records = session.get(AUTHENTICATION_METHODS_SESSION_KEY, [])
    session[AUTHENTICATION_METHODS_SESSION_KEY] = [*records, {"method": method, "at": time.time()}]
    session[_AUTHENTICATION_METHODS_USER_SESSION_KEY] = str(account.pk)
    session.save()
