"""Accounts are pseudonymous; persons are found by their e-mail address."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from accounts import services
from accounts.models import Account, Person
from goblin_wire.problems import BadMessage, Conflict

pytestmark = pytest.mark.django_db


def test_the_address_is_folded() -> None:
    account = services.create_account("  Ada@Example.ORG ", name="Ada", language="vi")
    person = Person.objects.get()
    assert (person.email, person.name, person.language) == ("ada@example.org", "Ada", "vi")
    assert services.account_of("ADA@example.org") == account
    assert services.account_of("other@example.org") is None


def test_one_account_for_each_address() -> None:
    services.create_account("ada@example.org")
    with pytest.raises(Conflict):
        services.create_account("ADA@example.org")
    assert Account.objects.count() == 1


@pytest.mark.parametrize(
    "email",
    [
        *("", "ada", "ada@", "@example.org", "a b@example.org", "a@b\n.org"),
        *("stra\u00dfe@example.org", "\u017fam@example.org"),
    ],
)
def test_not_an_address(email: str) -> None:
    with pytest.raises(BadMessage):
        services.create_account(email)


def test_the_database_refuses_unfolded_addresses() -> None:
    account = services.create_account("ada@example.org")
    with pytest.raises(IntegrityError), transaction.atomic():
        Person.objects.filter(account=account).update(email="Ada@example.org")


def test_an_account_says_nothing_about_its_person() -> None:
    account = services.create_account("ada@example.org", name="Ada")
    assert "ada" not in str(account).lower()
    assert not {f.name for f in Account._meta.concrete_fields} & {"email", "name", "password"}


def test_a_person_can_be_erased_and_the_account_stays() -> None:
    account = services.create_account("ada@example.org")
    Person.objects.all().delete()
    assert Account.objects.get().key == account.key


def test_no_passwords() -> None:
    account = services.create_account("ada@example.org")
    assert not account.has_usable_password()
    assert not account.check_password("")


def test_an_operator_may_be_made_twice() -> None:
    first = services.make_operator("ada@example.org")
    assert services.make_operator("Ada@example.org") == first
