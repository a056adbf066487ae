"""Accounts and tokens in the admin: what each role may do there."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from accounts import roles, services
from accounts.models import Account, ApiToken
from accounts.roles import Role
from goblin_wire.tokens import Scope
from tests.browser.people import client_of

pytestmark = pytest.mark.django_db

ACCOUNTS = "/admin/accounts/account/"
TOKENS = "/admin/accounts/apitoken/"
EMPTY_INLINE = {"person-TOTAL_FORMS": "0", "person-INITIAL_FORMS": "0"}


@pytest.fixture
def superuser() -> Account:
    return services.make_operator("super@example.org")


def holder(role: Role, by: Account) -> Account:
    account = services.create_account(f"{role.value}@example.org")
    roles.set_roles(account, [role], by)
    return Account.objects.get(pk=account.pk)


def act(client: Client, where: str, action: str, row: int) -> str:
    body = {"action": action, "_selected_action": str(row)}
    return client.post(where, body, follow=True).content.decode()


@pytest.mark.parametrize("address", [f"{ACCOUNTS}?state__exact=%00", f"{TOKENS}?scope__exact=%00"])
def test_a_zero_byte_in_an_address_is_refused(superuser: Account, address: str) -> None:
    answer = client_of(superuser).get(address)
    assert answer.status_code == 400
    assert "Nothing was changed" in answer.content.decode()


def test_operators_suspend_and_revoke(superuser: Account, account: Account) -> None:
    operator = holder(Role.OPERATOR, superuser)
    desk = client_of(operator)
    services.issue_token(account, Scope.VOLUNTEER, label="desk")
    token = ApiToken.objects.get()
    act(desk, TOKENS, "revoke", token.pk)
    token.refresh_from_db()
    assert token.revoked is not None
    assert token.secret_hash not in desk.get(f"{TOKENS}{token.pk}/change/").content.decode()
    for chosen, state in ((account, "suspended"), (operator, "active"), (superuser, "active")):
        act(desk, ACCOUNTS, "suspend", chosen.pk)
        assert Account.objects.get(pk=chosen.pk).state == state
    act(desk, ACCOUNTS, "reinstate", account.pk)
    assert Account.objects.get(pk=account.pk).state == "active"


def test_reviewers_see_no_accounts_and_no_tokens(superuser: Account, account: Account) -> None:
    desk = client_of(holder(Role.REVIEWER, superuser))
    for where in (ACCOUNTS, TOKENS, f"{ACCOUNTS}{account.pk}/change/"):
        assert desk.get(where).status_code == 403
    act(desk, ACCOUNTS, "suspend", account.pk)
    assert Account.objects.get(pk=account.pk).state == "active"
    assert "/admin/accounts/" not in desk.get("/admin/").content.decode()


def test_superusers_give_roles(superuser: Account, account: Account) -> None:
    desk = client_of(superuser)
    path = f"{ACCOUNTS}{account.pk}/change/"
    assert 'value="reviewer"' in desk.get(path).content.decode()
    desk.post(path, {"roles": ["reviewer", "operator"], **EMPTY_INLINE})
    assert roles.roles_of(account) == {Role.REVIEWER, Role.OPERATOR}
    desk.post(path, {"roles": ["king"], **EMPTY_INLINE})
    assert roles.roles_of(account) == {Role.REVIEWER, Role.OPERATOR}
    desk.post(path, EMPTY_INLINE)
    assert roles.roles_of(account) == set()


def test_nobody_else_gives_roles(superuser: Account, account: Account) -> None:
    operator = holder(Role.OPERATOR, superuser)
    for who, whom in ((operator, operator), (operator, account), (superuser, superuser)):
        before = roles.roles_of(whom)
        desk = client_of(who)
        path = f"{ACCOUNTS}{whom.pk}/change/"
        assert 'name="roles"' not in desk.get(path).content.decode()
        sent = {"roles": ["superuser"], "is_superuser": "on", "groups": ["1"], **EMPTY_INLINE}
        desk.post(path, sent)
        assert roles.roles_of(whom) == before
        assert Account.objects.get(pk=whom.pk).is_superuser == (whom == superuser)


def test_search_is_blind_to_marks(superuser: Account) -> None:
    services.create_account("son@example.org", name="Đặng Thái Sơn")
    found = client_of(superuser).get(ACCOUNTS, {"q": "dang thai"}).content.decode()
    assert "son@example.org" in found
    assert "super@example.org" not in found.partition("<main")[2]


def test_a_list_of_accounts_costs_the_same_whatever_its_length(superuser: Account) -> None:
    desk = client_of(superuser)
    numbers = []
    for number in (1, 20):
        for i in range(number):
            account = services.create_account(f"n{number}-{i}@example.org")
            roles.set_roles(account, [Role.REVIEWER], superuser)
        with CaptureQueriesContext(connection) as asked:
            assert "reviewer" in desk.get(ACCOUNTS).content.decode()
        numbers.append(len(asked))
    assert numbers[0] == numbers[1] <= 12


def test_nothing_is_added_or_deleted(superuser: Account, account: Account) -> None:
    desk = client_of(superuser)
    for path in (f"{ACCOUNTS}add/", f"{ACCOUNTS}{account.pk}/delete/", f"{TOKENS}add/"):
        assert desk.get(path).status_code == 403


def test_only_our_own_rows_are_there(superuser: Account) -> None:
    """What libraries keep (groups, addresses, second factors) is moved by our services only."""
    desk = client_of(superuser)
    for path in ("auth/group/", "account/emailaddress/", "mfa/authenticator/"):
        assert desk.get(f"/admin/{path}").status_code == 404
    for path in ("password_change/", "password_change/done/"):
        assert desk.get(f"/admin/{path}").status_code == 404


def test_who_is_no_staff_is_sent_away(account: Account) -> None:
    away = client_of(account).get(ACCOUNTS)
    assert away.status_code == 302
    assert "/login/" in away["Location"]
