"""Accounts in the admin. Every change goes through `accounts.services`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts import services
from accounts.admin_site import MovedByServices
from accounts.models import Account, ApiToken, Person

if TYPE_CHECKING:
    AccountAdminBase = admin.ModelAdmin[Account]
    TokenAdminBase = admin.ModelAdmin[ApiToken]
    PersonInlineBase = admin.StackedInline[Person, Account]
else:
    AccountAdminBase = TokenAdminBase = admin.ModelAdmin
    PersonInlineBase = admin.StackedInline


RIGHTS = frozenset({"is_staff", "is_superuser", "groups"})


class PersonInline(MovedByServices, PersonInlineBase):
    model = Person
    readonly_fields = ("email",)
    can_delete = False


@admin.register(Account)
class AccountAdmin(MovedByServices, AccountAdminBase):
    """Who they are is shown from the person's row; state changes by the actions."""

    list_display = ("id", "key", "person", "state", "is_staff", "created")
    list_filter = ("state", "is_staff")
    list_select_related = ("person",)
    search_fields = ("person__email", "key")
    readonly_fields = (
        "key",
        "state",
        "is_staff",
        "is_superuser",
        "groups",
        "created",
        "last_login",
    )
    fields = ("key", "state", "is_staff", "is_superuser", "groups", "created", "last_login")
    inlines = (PersonInline,)
    actions = ("suspend", "reinstate")

    def get_readonly_fields(
        self, request: HttpRequest, obj: Account | None = None
    ) -> list[str] | tuple[str, ...]:
        """Only who may do everything gives rights to others."""
        shown = super().get_readonly_fields(request, obj)
        if not request.user.is_superuser:
            return list(shown)
        return [name for name in shown if name not in RIGHTS]

    @admin.action(description="Suspend", permissions=["change"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        for account in queryset.exclude(pk=request.user.pk or 0):
            services.suspend(account)

    @admin.action(description="Reinstate", permissions=["change"])
    def reinstate(self, _request: HttpRequest, queryset: QuerySet[Account]) -> None:
        for account in queryset:
            services.reinstate(account)


@admin.register(ApiToken)
class ApiTokenAdmin(MovedByServices, TokenAdminBase):
    """Tokens can be seen and revoked; they are made for their owner only."""

    list_display = ("prefix", "scope", "account", "lab", "label", "expires", "last_used", "revoked")
    list_filter = ("scope",)
    list_select_related = ("account", "lab")
    search_fields = ("prefix", "label")
    fields = (
        "prefix",
        "scope",
        "account",
        "lab",
        "label",
        "created",
        "expires",
        "last_used",
        "revoked",
    )
    readonly_fields = fields
    actions = ("revoke",)

    @admin.action(description="Revoke", permissions=["change"])
    def revoke(self, _request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        for token in queryset:
            services.revoke_token(token)
