"""Who may do what in the admin: three roles, each a group whose permissions are set here.

A reviewer decides on requests for access and sees nobody else's machines; an operator keeps the
network running and reads no request; a superuser does both and gives roles to others. The groups
are made after every `migrate`, so a permission that a version adds or drops reaches them.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Any

from django.apps import apps as installed
from django.apps.registry import Apps
from django.contrib.auth.management import create_permissions
from django.contrib.auth.models import Group
from django.db import DEFAULT_DB_ALIAS, transaction
from django.db.models import Q
from django.utils.translation import pgettext_lazy

from accounts.models import Account
from accounts.rooms import OURS
from goblin_wire.problems import NotAllowed


class Role(StrEnum):
    """The names of the groups."""

    REVIEWER = "reviewer"
    OPERATOR = "operator"
    SUPERUSER = "superuser"


ROLE_NAMES = {
    Role.REVIEWER: pgettext_lazy("role", "reviewer"),
    Role.OPERATOR: pgettext_lazy("role", "operator"),
    Role.SUPERUSER: pgettext_lazy("role", "superuser"),
}
ROLE_WORDS = {
    Role.REVIEWER: pgettext_lazy("role", "reviewer: decides on requests for access"),
    Role.OPERATOR: pgettext_lazy("role", "operator: keeps the network running"),
    Role.SUPERUSER: pgettext_lazy("role", "superuser: both, and gives roles"),
}
REVIEWER_MAY = {
    "research_access": (
        "review_accessrequest",
        "view_accessrequest",
        "view_decision",
        "view_message",
        "view_proposal",
        "change_proposal",
        "view_proposalmove",
        "view_lab",
        "change_lab",
        "view_labmember",
        "view_savedreply",
        "add_savedreply",
        "change_savedreply",
        "delete_savedreply",
    ),
}
OPERATOR_MAY = {
    "accounts": (
        "view_account",
        "change_account",
        "view_person",
        "view_apitoken",
        "change_apitoken",
    ),
    "research_access": ("view_lab", "view_labmember"),
}
OPERATOR_RUNS = ("workunits", "gpugoblin_site")
"""Of these an operator has every permission: what may be done to a row, its admin page bounds."""


def _wanted(role: Role) -> Q:
    if role is Role.SUPERUSER:
        return Q(content_type__app_label__in=OURS)
    named = REVIEWER_MAY if role is Role.REVIEWER else OPERATOR_MAY
    found = Q(pk__in=())
    for app, codenames in named.items():
        found |= Q(content_type__app_label=app, codename__in=codenames)
    return found if role is Role.REVIEWER else found | Q(content_type__app_label__in=OPERATOR_RUNS)


def make_groups(
    *, apps: Apps = installed, using: str = DEFAULT_DB_ALIAS, verbosity: int = 0, **_signal: Any
) -> None:
    """Make the groups and set their permissions; again, it changes nothing. For `post_migrate`."""
    try:
        group_model = apps.get_model("auth", "Group")
        permission_model = apps.get_model("auth", "Permission")
    except LookupError:
        return
    for label in OURS:
        # Those of the apps that come after this one in the list have not been made yet.
        create_permissions(
            installed.get_app_config(label), verbosity=verbosity, using=using, apps=apps
        )
    for role in Role:
        group, _made = group_model.objects.using(using).get_or_create(name=role.value)
        group.permissions.set(permission_model.objects.using(using).filter(_wanted(role)))


def roles_of(account: Account) -> frozenset[Role]:
    """The roles of an account."""
    names = {group.name for group in account.groups.all()}
    return frozenset(role for role in Role if role.value in names)


@transaction.atomic
def set_roles(account: Account, roles: Iterable[Role], by: Account) -> None:
    """Give an account these roles and no other.

    Raises `NotAllowed` for whoever is no superuser, and for one's own account: a network whose last
    superuser has stepped down by mistake has nobody who could give the role back.
    """
    if not by.is_superuser:
        raise NotAllowed("Only a superuser gives and takes roles.")
    if by.pk == account.pk:
        raise NotAllowed("Nobody changes their own roles.")
    _set(account, frozenset(roles))


@transaction.atomic
def make_superuser(account: Account) -> None:
    """For the command of the first day, which asks nobody."""
    _set(account, roles_of(account) | {Role.SUPERUSER})


def _set(account: Account, roles: frozenset[Role]) -> None:
    locked = Account.objects.select_for_update().get(pk=account.pk)
    locked.is_staff = account.is_staff = bool(roles)
    locked.is_superuser = account.is_superuser = Role.SUPERUSER in roles
    locked.save(update_fields=["is_staff", "is_superuser"])
    locked.groups.set(Group.objects.filter(name__in=[role.value for role in roles]))
