"""django-allauth's log-in without its check of MIDDLEWARE; named in INSTALLED_APPS."""

from __future__ import annotations

from allauth.account.apps import AccountConfig


class AllauthAccountConfig(AccountConfig):  # type: ignore[misc]
    default = False

    def ready(self) -> None:
        """Its own `ready` wants its middleware in MIDDLEWARE, where programs would pay for it."""
        from allauth.account import checks  # noqa: F401  (registers itself)
