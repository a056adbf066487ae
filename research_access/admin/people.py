"""How the pages of reviewers call people, and whom the admin serves."""

from __future__ import annotations

from django.http import HttpRequest
from django.utils.translation import gettext as _

from accounts.models import Account, Person


def called(account: Account) -> str:
    """The person's name, else the address, else that the account was deleted.

    Load the account with its person; otherwise each call asks the database.
    """
    person: Person | None = getattr(account, "person", None)
    if person is None:
        return _("a deleted account")
    return person.name or person.email


def address_of(account: Account) -> str:
    """The person's address; empty once the account was deleted."""
    person: Person | None = getattr(account, "person", None)
    return "" if person is None else person.email


def language_of(account: Account) -> str:
    """In which language the person reads."""
    person: Person | None = getattr(account, "person", None)
    return "en" if person is None else person.language


def reviewer_of(request: HttpRequest) -> Account:
    """The account that is logged in."""
    account = request.user
    assert isinstance(account, Account)  # noqa: S101  (the admin lets nobody else in)
    return account
