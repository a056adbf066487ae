"""Sessions only: nobody logs in with a password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.http import HttpRequest

from accounts.models import Account


class SessionBackend(ModelBackend):
    """Finds the account of a session, with Django's permissions; suspended accounts have none."""

    def authenticate(self, _request: HttpRequest | None, **_credentials: Any) -> None:  # type: ignore[override]
        return None

    def get_user(self, user_id: int) -> Account | None:
        account = Account.objects.filter(pk=user_id).select_related("person").first()
        return account if account is not None and account.is_active else None
