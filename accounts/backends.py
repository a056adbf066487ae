"""Sessions only: nobody logs in with a password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser, Permission
from django.db.models import Model
from django.http import HttpRequest

from accounts.models import Account


class SessionBackend(ModelBackend):
    """Finds the account of a session, with Django's permissions; suspended accounts have none."""

    def authenticate(self, _request: HttpRequest | None, **_credentials: Any) -> None:  # type: ignore[override]
        return None

    def get_all_permissions(
        self, user_obj: AbstractBaseUser | AnonymousUser, obj: Model | None = None
    ) -> set[str]:
        """Those of the person and of the roles, with one query where Django asks twice."""
        if not isinstance(user_obj, Account) or not user_obj.is_active or obj is not None:
            return set()
        if user_obj.is_superuser:
            return super().get_all_permissions(user_obj)
        if not hasattr(user_obj, "_perm_cache"):
            user_obj._perm_cache = _granted(user_obj)  # type: ignore[attr-defined]
        return user_obj._perm_cache  # type: ignore[attr-defined,no-any-return]

    def get_user(self, user_id: int) -> Account | None:
        account = Account.objects.filter(pk=user_id).select_related("person").first()
        return account if account is not None and account.is_active else None


def _granted(account: Account) -> set[str]:
    own = Permission.objects.filter(user=account)
    of_roles = Permission.objects.filter(group__user=account)
    names = ("content_type__app_label", "codename")
    rows = own.order_by().values_list(*names).union(of_roles.order_by().values_list(*names))
    return {f"{app}.{code}" for app, code in rows}
