"""Accounts, which are pseudonymous, and persons, who are not.

`accounts_person` is the only table that owns personal data: erasing a person deletes its row, while
ledgers, receipts and histories go on pointing at the account's key.
"""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.db.models.functions import Now
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.text import fold

NAME_MOST = 200
NAME_SEARCH_MOST = 3 * NAME_MOST
"""Case-folding makes up to three letters of one."""
SHOWN_NAME_MOST = 60


class AccountState(models.TextChoices):
    ACTIVE = "active", _("active")
    SUSPENDED = "suspended", _("suspended")
    ERASED = "erased", pgettext_lazy("account", "deleted")
    """Its person asked for that; nobody comes back into it."""


class AccountManager(BaseUserManager["Account"]):
    """Accounts are made by `accounts.services.create_account`."""


def new_session_epoch() -> str:
    return secrets.token_hex(8)


class Account(AbstractBaseUser, PermissionsMixin):
    """One identity. `key` is what everything outside this app points at."""

    password = None  # type: ignore[assignment]
    id = models.BigAutoField(primary_key=True)
    key = models.UUIDField(_("key"), unique=True, default=uuid.uuid4, editable=False)
    state = models.CharField(
        _("state"), max_length=16, choices=AccountState.choices, default=AccountState.ACTIVE
    )
    is_staff = models.BooleanField(_("may enter the administration"), default=False)
    session_epoch = models.CharField(max_length=16, default=new_session_epoch, editable=False)
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    USERNAME_FIELD = "key"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects: ClassVar[AccountManager] = AccountManager()

    class Meta:
        verbose_name = _("account")
        verbose_name_plural = _("accounts")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(state__in=AccountState.values), name="account_state_known"
            ),
        ]

    def __str__(self) -> str:
        return _("account %(key)s") % {"key": self.key.hex[:12]}

    def get_short_name(self) -> str:
        """How the admin greets."""
        person: Person | None = getattr(self, "person", None)
        return str(person or self)

    @property
    def is_active(self) -> bool:  # type: ignore[override]
        return self.state == AccountState.ACTIVE

    def has_usable_password(self) -> bool:
        return False

    def check_password(self, _raw_password: str | None) -> bool:
        return False

    def get_session_auth_hash(self) -> str:
        """Sessions end when the account's epoch changes."""
        return salted_hmac("accounts.session", self.session_epoch, algorithm="sha256").hexdigest()

    def get_session_auth_fallback_hash(self) -> Iterator[str]:
        return iter(())


class Person(models.Model):
    """The human behind an account."""

    account = models.OneToOneField(Account, on_delete=models.CASCADE, related_name="person")
    email = models.EmailField(_("e-mail address"), unique=True, max_length=254)
    """As `accounts.addresses.folded` leaves it; the identity to log in with."""
    name = models.CharField(_("name"), max_length=NAME_MOST, blank=True, default="")
    """As `accounts.text.clean_name` leaves it."""
    name_search = models.CharField(max_length=NAME_SEARCH_MOST, blank=True, default="")
    """The name as `accounts.text.fold` gives it: without case and marks."""
    language = models.CharField(_("language"), max_length=8, default="en")
    time_zone = models.CharField(_("time zone"), max_length=64, default="UTC")
    shown_name = models.CharField(
        _("name on the leaderboard"), max_length=SHOWN_NAME_MOST, blank=True, default=""
    )
    """How the leaderboard calls the volunteer; blank: it does not show this person."""
    terms_version = models.CharField(_("accepted terms"), max_length=16, blank=True, default="")
    """The version of the terms that was accepted last; blank: none yet."""
    terms_accepted = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name = _("person")
        verbose_name_plural = _("persons")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(email=models.functions.Lower("email")),
                name="person_email_folded",
            ),
        ]

    def __str__(self) -> str:
        return self.email

    def save(self, **options: Any) -> None:
        """Keep the form that is searched beside the name."""
        self.name_search = fold(self.name)
        changed = options.get("update_fields")
        if changed is not None and "name" in changed:
            options["update_fields"] = {*changed, "name_search"}
        super().save(**options)
