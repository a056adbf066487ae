"""Roles are groups: who holds one, what it may, and who gives it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group, Permission
from django.core.management import call_command

from accounts import roles, services
from accounts.models import Account
from accounts.roles import Role
from goblin_wire.problems import NotAllowed

pytestmark = pytest.mark.django_db


@pytest.fixture
def superuser() -> Account:
    return services.make_operator("super@example.org")


def may(account: Account) -> set[str]:
    return Account.objects.get(pk=account.pk).get_all_permissions()


def holder(role: Role, by: Account) -> Account:
    account = services.create_account(f"{role.value}@example.org")
    roles.set_roles(account, [role], by)
    return Account.objects.get(pk=account.pk)


def test_migrate_makes_the_groups_and_mends_them() -> None:
    group = Group.objects.get(name="reviewer")
    permissions = set(group.permissions.values_list("codename", flat=True))
    assert "review_accessrequest" in permissions
    group.permissions.clear()
    group.permissions.add(Permission.objects.get(codename="view_account"))
    Group.objects.get(name="operator").delete()
    for _ in range(2):
        call_command("migrate", verbosity=0)
        group = Group.objects.get(name="reviewer")
        assert set(group.permissions.values_list("codename", flat=True)) == permissions
        assert sorted(Group.objects.values_list("name", flat=True)) == sorted(Role)


def test_every_named_permission_exists() -> None:
    """A role that names one which a model has lost would be weaker than it says."""
    known = {
        (permission.content_type.app_label, permission.codename)
        for permission in Permission.objects.select_related("content_type")
    }
    for named in (roles.REVIEWER_MAY, roles.OPERATOR_MAY):
        for app, codenames in named.items():
            assert {(app, codename) for codename in codenames} <= known


def test_what_the_roles_may(superuser: Account) -> None:
    reviewer, operator = holder(Role.REVIEWER, superuser), holder(Role.OPERATOR, superuser)
    assert all(permission.startswith("research_access.") for permission in may(reviewer))
    assert "research_access.review_accessrequest" not in may(operator)
    assert "research_access.view_accessrequest" not in may(operator)
    assert "research_access.view_message" not in may(operator)
    assert "accounts.change_account" in may(operator)
    assert not any("authenticator" in permission for permission in may(operator))
    both = services.create_account("both@example.org")
    roles.set_roles(both, [Role.REVIEWER, Role.OPERATOR], superuser)
    assert may(both) == may(reviewer) | may(operator)
    assert roles.roles_of(both) == {Role.REVIEWER, Role.OPERATOR}


def test_roles_are_given_and_taken(superuser: Account) -> None:
    account = services.create_account("ada@example.org")
    assert not account.is_staff
    roles.set_roles(account, [Role.SUPERUSER], superuser)
    account.refresh_from_db()
    assert (account.is_staff, account.is_superuser) == (True, True)
    roles.set_roles(account, [Role.REVIEWER], superuser)
    account.refresh_from_db()
    assert (account.is_staff, account.is_superuser) == (True, False)
    roles.set_roles(account, [], superuser)
    account.refresh_from_db()
    assert (account.is_staff, account.is_superuser) == (False, False)
    assert may(account) == set()


def test_only_superusers_give_and_none_to_themselves(superuser: Account) -> None:
    reviewer, operator = holder(Role.REVIEWER, superuser), holder(Role.OPERATOR, superuser)
    for by in (reviewer, operator):
        with pytest.raises(NotAllowed, match="Only a superuser"):
            roles.set_roles(by, [Role.SUPERUSER], by)
    with pytest.raises(NotAllowed, match="their own"):
        roles.set_roles(superuser, [], superuser)


def test_the_command_of_the_first_day_keeps_other_roles(superuser: Account) -> None:
    reviewer = holder(Role.REVIEWER, superuser)
    services.make_operator("reviewer@example.org")
    assert roles.roles_of(reviewer) == {Role.REVIEWER, Role.SUPERUSER}


def test_a_suspended_account_may_nothing(superuser: Account) -> None:
    reviewer = holder(Role.REVIEWER, superuser)
    services.suspend(reviewer)
    assert may(reviewer) == set()
