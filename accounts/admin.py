"""Accounts in the admin. Every change goes through `accounts.services`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from accounts import admin_pages, services
from accounts.admin_site import MovedByServices, ShownOnly
from accounts.models import Account, AccountState, ApiToken, Person
from accounts.roles import ROLE_NAMES, ROLE_WORDS, Role, roles_of, set_roles
from accounts.text import fold

if TYPE_CHECKING:
    AccountAdminBase = admin.ModelAdmin[Account]
    TokenAdminBase = admin.ModelAdmin[ApiToken]
    PersonInlineBase = admin.StackedInline[Person, Account]
    AccountFormBase = forms.ModelForm[Account]
else:
    AccountAdminBase = TokenAdminBase = admin.ModelAdmin
    PersonInlineBase = admin.StackedInline
    AccountFormBase = forms.ModelForm


class RolesForm(AccountFormBase):
    """The one thing about an account that is edited by hand, by superusers."""

    roles = forms.MultipleChoiceField(
        choices=[(role.value, ROLE_WORDS[role]) for role in Role],
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label=_("Roles"),
    )

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if "roles" in self.fields:
            self.initial["roles"] = [role.value for role in roles_of(self.instance)]


class PersonInline(ShownOnly, PersonInlineBase):
    model = Person
    fields = ("email", "name", "language", "time_zone", "shown_name", "terms_version")
    readonly_fields = fields


@admin.register(Account)
class AccountAdmin(MovedByServices, AccountAdminBase):
    """Who they are is shown from the person's row; state changes by the actions."""

    list_display = ("id", "person", "state", "held", "created")
    list_filter = ("state", "is_staff")
    list_select_related = ("person",)
    list_per_page = 50
    show_full_result_count = False
    ordering = ("-id",)
    search_fields = ("person__name_search", "person__email", "key")
    search_help_text = _("Name, address or key; marks and capitals do not matter.")
    readonly_fields = ("key", "state", "held", "created", "last_login", "elsewhere")
    inlines = (PersonInline,)
    actions = ("suspend", "reinstate")

    def get_fields(self, request: HttpRequest, obj: Account | None = None) -> list[Any]:
        held = "roles" if self._gives_roles(request, obj) else "held"
        return ["key", "state", held, "created", "last_login", "elsewhere"]

    def get_form(
        self, request: HttpRequest, obj: Account | None = None, change: bool = False, **more: Any
    ) -> type[forms.ModelForm[Account]]:
        """With the roles for whoever gives them."""
        if self._gives_roles(request, obj):
            more["form"] = RolesForm
        return super().get_form(request, obj, change=change, **more)

    def _gives_roles(self, request: HttpRequest, obj: Account | None) -> bool:
        """Only who may do everything gives rights to others, and none to themselves."""
        return request.user.is_superuser and (obj is None or obj.pk != request.user.pk)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Account]:
        """With the groups, which the roles are read from."""
        return super().get_queryset(request).prefetch_related("groups")

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Account], search_term: str
    ) -> tuple[QuerySet[Account], bool]:
        return super().get_search_results(request, queryset, fold(search_term))

    @admin.display(description=_("Roles"))
    def held(self, account: Account) -> str:
        return ", ".join(str(ROLE_NAMES[role]) for role in sorted(roles_of(account)))

    @admin.display(description=_("More about it"))
    def elsewhere(self, account: Account) -> SafeString:
        return admin_pages.links_of(account)

    def save_model(self, request: HttpRequest, obj: Account, form: Any, _change: bool) -> None:
        """Nothing but the roles can have changed."""
        by = request.user
        assert isinstance(by, Account)  # noqa: S101  (the admin lets nobody else in)
        if "roles" in form.changed_data:
            set_roles(obj, [Role(name) for name in form.cleaned_data["roles"]], by)

    @admin.action(description=_("Suspend"), permissions=["change"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        for account in self._others(request, queryset):
            services.suspend(account)
            messages.success(request, _("%(account)s is suspended.") % {"account": account})

    @admin.action(description=_("Reinstate"), permissions=["change"])
    def reinstate(self, request: HttpRequest, queryset: QuerySet[Account]) -> None:
        for account in self._others(request, queryset):
            services.reinstate(account)
            messages.success(request, _("%(account)s may act again.") % {"account": account})

    def _others(self, request: HttpRequest, chosen: QuerySet[Account]) -> QuerySet[Account]:
        """Without oneself, so that nobody locks themselves out; and superusers are left to
        superusers."""
        others = chosen.exclude(pk=request.user.pk or 0).exclude(state=AccountState.ERASED)
        return others if request.user.is_superuser else others.exclude(is_superuser=True)


@admin.register(ApiToken)
class ApiTokenAdmin(MovedByServices, TokenAdminBase):
    """Tokens can be seen and revoked; they are made for their owner only."""

    list_display = ("prefix", "scope", "account", "lab", "label", "expires", "last_used", "revoked")
    list_filter = ("scope",)
    list_select_related = ("account__person", "lab")
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
    list_per_page = 50
    show_full_result_count = False
    ordering = ("-id",)
    actions = ("revoke",)

    @admin.action(description=_("Revoke"), permissions=["change"])
    def revoke(self, _request: HttpRequest, queryset: QuerySet[ApiToken]) -> None:
        for token in queryset:
            services.revoke_token(token)
