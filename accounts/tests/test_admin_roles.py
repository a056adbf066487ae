"""Every list and page of the admin, and which role opens it: over HTTP, none left out."""

from __future__ import annotations

import pytest
from django.contrib import admin
from django.test import Client
from django.urls import NoReverseMatch, reverse

from accounts import admin_doors, roles, services
from accounts.models import Account
from accounts.roles import Role
from tests.browser.people import client_of

pytestmark = pytest.mark.django_db

BOTH = frozenset({Role.REVIEWER, Role.OPERATOR})
LISTS = {
    "research_access.accessrequest": frozenset({Role.REVIEWER}),
    "research_access.proposal": frozenset({Role.REVIEWER}),
    "research_access.savedreply": frozenset({Role.REVIEWER}),
    "research_access.lab": BOTH,
}
"""Who opens a list; what is not named here is the operators'. Superusers open all."""
DOORS = {
    "admin:research_access_proposal_changelist": frozenset({Role.REVIEWER}),
    "admin:research_access_accessrequest_changelist": frozenset({Role.REVIEWER}),
    "admin:research_access_savedreply_changelist": frozenset({Role.REVIEWER}),
}


@pytest.fixture(params=[*Role, None], ids=str)
def role(request: pytest.FixtureRequest) -> Role | None:
    found: Role | None = request.param
    return found


@pytest.fixture
def desk(role: Role | None) -> Client:
    """Of somebody who holds the role; without one, of staff who hold none."""
    superuser = services.make_operator("super@example.org")
    account = services.create_account("somebody@example.org")
    if role is not None:
        roles.set_roles(account, [role], superuser)
    else:
        Account.objects.filter(pk=account.pk).update(is_staff=True)
    return client_of(Account.objects.get(pk=account.pk))


def opens(role: Role | None, holders: frozenset[Role]) -> bool:
    return role is Role.SUPERUSER or role in holders


def test_every_list(desk: Client, role: Role | None) -> None:
    operators = frozenset({Role.OPERATOR})
    for model in admin.site._registry:
        name = model._meta.label_lower
        answer = desk.get(reverse(f"admin:{name.replace('.', '_')}_changelist"))
        expected = 200 if opens(role, LISTS.get(name, operators)) else 403
        assert answer.status_code == expected, name


def test_nothing_is_added_by_hand_but_what_is_meant_to_be(desk: Client, role: Role | None) -> None:
    for model in admin.site._registry:
        name = model._meta.label_lower
        try:
            address = reverse(f"admin:{name.replace('.', '_')}_add")
        except NoReverseMatch:
            continue
        added = {"research_access.savedreply": frozenset({Role.REVIEWER})}
        added["workunits.switch"] = frozenset({Role.OPERATOR})
        added["workunits.incident"] = frozenset({Role.OPERATOR})
        allowed = name in added and opens(role, added[name])
        assert desk.get(address).status_code == (200 if allowed else 403), name


def test_doors(desk: Client, role: Role | None) -> None:
    operators = frozenset({Role.OPERATOR})
    page = desk.get("/admin/").content.decode()
    for door in admin_doors._doors:
        allowed = opens(role, DOORS.get(door.url, operators))
        address = reverse(door.url)
        assert (f'href="{address}"' in page.partition("<main")[2]) == allowed, door.url
        assert desk.get(address).status_code == (200 if allowed else 403), door.url


def test_each_role_has_a_page_to_begin_with(desk: Client, role: Role | None) -> None:
    answer = desk.get("/admin/")
    assert answer.status_code == 200
    assert ("Your role opens no list here." in answer.content.decode()) == (role is None)
