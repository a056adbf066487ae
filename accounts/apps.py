"""The app of accounts."""

from __future__ import annotations

from django.apps import AppConfig
from django.db.models.signals import post_migrate
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
    verbose_name = _("Accounts")

    def ready(self) -> None:
        from accounts import (
            browsers,  # noqa: F401  (registers itself)
            roles,
        )

        # The groups of the roles are made after every `migrate`.
        post_migrate.connect(roles.make_groups, sender=self)
