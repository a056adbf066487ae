"""Requests and labs in the admin: to read, and to move through `research_access.services`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from accounts.admin_site import MovedByServices, ShownOnly
from accounts.models import Account
from goblin_wire.problems import Problem
from research_access import services
from research_access.models import AccessRequest, Decision, Lab, LabMember

if TYPE_CHECKING:
    RequestAdminBase = admin.ModelAdmin[AccessRequest]
    LabAdminBase = admin.ModelAdmin[Lab]
    DecisionInlineBase = admin.TabularInline[Decision, AccessRequest]
    MemberInlineBase = admin.TabularInline[LabMember, Lab]
else:
    RequestAdminBase = LabAdminBase = admin.ModelAdmin
    DecisionInlineBase = MemberInlineBase = admin.TabularInline

Move = Callable[[Any, Account, str], Any]


class DecisionInline(ShownOnly, DecisionInlineBase):
    model = Decision
    fields = ("created", "actor", "from_state", "to_state", "reason", "daily_flops")
    readonly_fields = fields
    ordering = ("id",)


class MemberInline(ShownOnly, MemberInlineBase):
    model = LabMember
    fields = ("account", "role", "created")
    readonly_fields = fields


def _reviewer(request: HttpRequest) -> Account:
    account = request.user
    assert isinstance(account, Account)  # noqa: S101  (the admin lets nobody else in)
    return account


def _with_reason(
    model_admin: admin.ModelAdmin[Any],
    request: HttpRequest,
    chosen: QuerySet[Any],
    action: str,
    move: Move,
) -> HttpResponse | None:
    """Ask for the reason on a page of its own, then move each row; say what was refused."""
    if "reason" not in request.POST:
        facts = model_admin.admin_site.each_context(request) | {
            "action": action,
            "chosen": chosen,
            "checkbox": ACTION_CHECKBOX_NAME,
            "title": "Why?",
            "opts": model_admin.opts,
        }
        return render(request, "admin/reason.html", facts)
    for row in chosen:
        _try(request, row, lambda row: move(row, _reviewer(request), request.POST["reason"]))
    return None


def _try(request: HttpRequest, row: Model, move: Callable[[Any], Any]) -> None:
    try:
        move(row)
    except Problem as problem:
        messages.error(request, f"{row}: {problem.detail}")
    else:
        messages.success(request, f"{row}: done.")


@admin.register(AccessRequest)
class AccessRequestAdmin(MovedByServices, RequestAdminBase):
    """The queue, the oldest first; nothing is edited here, requests are decided."""

    list_display = ("title", "institution", "account", "state", "submitted", "daily_flops")
    list_filter = ("state",)
    list_select_related = ("account",)
    ordering = ("submitted", "id")
    search_fields = ("title", "institution", "key")
    fields = (
        "key",
        "title",
        "institution",
        "account",
        "state",
        "purpose",
        "daily_flops",
        "created",
        "submitted",
        "changed",
    )
    readonly_fields = fields
    inlines = (DecisionInline,)
    actions = ("approve", "ask_info", "decline", "revoke")

    @admin.action(description="Approve…", permissions=["change"])
    def approve(
        self, request: HttpRequest, queryset: QuerySet[AccessRequest]
    ) -> HttpResponse | None:
        def move(row: AccessRequest, reviewer: Account, reason: str) -> None:
            services.approve(row, reviewer, reason=reason)

        return _with_reason(self, request, queryset, "approve", move)

    @admin.action(description="Ask for more…", permissions=["change"])
    def ask_info(
        self, request: HttpRequest, queryset: QuerySet[AccessRequest]
    ) -> HttpResponse | None:
        return _with_reason(self, request, queryset, "ask_info", services.ask_info)

    @admin.action(description="Decline…", permissions=["change"])
    def decline(
        self, request: HttpRequest, queryset: QuerySet[AccessRequest]
    ) -> HttpResponse | None:
        return _with_reason(self, request, queryset, "decline", services.decline)

    @admin.action(description="Revoke the approval…", permissions=["change"])
    def revoke(
        self, request: HttpRequest, queryset: QuerySet[AccessRequest]
    ) -> HttpResponse | None:
        return _with_reason(self, request, queryset, "revoke", services.revoke)


@admin.register(Lab)
class LabAdmin(MovedByServices, LabAdminBase):
    """Labs; the quota can be set here."""

    list_display = ("name", "owner", "state", "daily_flops", "created")
    list_filter = ("state",)
    list_select_related = ("owner",)
    search_fields = ("name", "key")
    fields = ("key", "name", "owner", "request", "state", "daily_flops", "created")
    readonly_fields = ("key", "name", "owner", "request", "state", "created")
    inlines = (MemberInline,)
    actions = ("suspend", "reinstate")

    def save_model(self, request: HttpRequest, obj: Lab, _form: Any, _change: bool) -> None:
        """Only the quota can have changed."""
        _try(request, obj, lambda lab: services.set_quota(lab, _reviewer(request), lab.daily_flops))

    @admin.action(description="Suspend", permissions=["change"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Lab]) -> None:
        for lab in queryset:
            _try(request, lab, lambda row: services.suspend_lab(row, _reviewer(request)))

    @admin.action(description="Reinstate", permissions=["change"])
    def reinstate(self, request: HttpRequest, queryset: QuerySet[Lab]) -> None:
        for lab in queryset:
            _try(request, lab, lambda row: services.reinstate_lab(row, _reviewer(request)))
