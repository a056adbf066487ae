"""Browsers of people who have logged in, made without the pages of the log-in."""

from django.test import Client

from accounts.models import Account
from tests.people import SECRET, as_operator, logged_in, with_second_factor

__all__ = ["SECRET", "client_of", "cookies_of"]


def client_of(account: Account, *, proven: bool = True) -> Client:
    """Django's test client, logged in as this person; staff has shown the second factor too."""
    if not account.is_staff:
        return logged_in(account)
    if proven:
        return as_operator(account)
    with_second_factor(account)
    return logged_in(account)


def cookies_of(account: Account, *, proven: bool = True) -> dict[str, str]:
    """The cookies of such a browser."""
    client = client_of(account, proven=proven)
    return {name: morsel.value for name, morsel in client.cookies.items()}
