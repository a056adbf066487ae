"""Labs in the admin: who is in them, what they may lease, and whether they may."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.safestring import mark_safe
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.admin_search import FoldedSearch
from accounts.admin_site import MovedByServices
from goblin_wire.problems import Problem
from gpugoblin_site import readable
from gpugoblin_site.sentences import told
from research_access import services
from research_access.admin.people import called, reviewer_of
from research_access.models import Lab
from research_access.services.rules import MAX_DAILY_FLOPS, REVIEW_PERMISSION

if TYPE_CHECKING:
    LabAdminBase = admin.ModelAdmin[Lab]
    QuotaFormBase = forms.ModelForm[Lab]
else:
    LabAdminBase = admin.ModelAdmin
    QuotaFormBase = forms.ModelForm


class QuotaForm(QuotaFormBase):
    """The one thing that is edited by hand."""

    daily_flops = forms.IntegerField(
        min_value=0,
        max_value=MAX_DAILY_FLOPS,
        label=gettext_lazy("Operations a day"),
        help_text=gettext_lazy("Floating-point operations that may be leased in 24 hours."),
    )


@admin.register(Lab)
class LabAdmin(FoldedSearch, MovedByServices, LabAdminBase):
    """Labs; the quota can be set here, whatever was approved."""

    form = QuotaForm
    list_display = ("label", "person", "state", "quota", "created")
    list_filter = ("state",)
    list_select_related = ("owner__person",)
    list_per_page = 50
    show_full_result_count = False
    ordering = ("-id",)
    search_fields = ("name", "key")
    folded_fields = ("name",)
    fields = ("uid", "person", "people", "request", "state", "daily_flops", "created")
    readonly_fields = ("uid", "person", "people", "request", "state", "created")
    actions = ("suspend", "reinstate")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Lab]:
        return super().get_queryset(request).select_related("owner__person", "request")

    def has_change_permission(self, request: HttpRequest, _obj: Lab | None = None) -> bool:
        return request.user.has_perm(REVIEW_PERMISSION)

    @admin.display(description=gettext_lazy("lab"), ordering="name")
    def label(self, lab: Lab) -> str:
        return lab.name

    @admin.display(description=gettext_lazy("key"))
    def uid(self, lab: Lab) -> str:
        return str(lab.key)

    @admin.display(description=gettext_lazy("owner"))
    def person(self, lab: Lab) -> str:
        return called(lab.owner)

    @admin.display(description=gettext_lazy("quota a day"), ordering="daily_flops")
    def quota(self, lab: Lab) -> str:
        return readable.flops(lab.daily_flops)

    @admin.display(description=gettext_lazy("members"))
    def people(self, lab: Lab) -> str:
        members = lab.members.select_related("account__person").order_by("id")
        told = ((called(member.account), member.get_role_display()) for member in members)
        return format_html_join(mark_safe("<br>"), '<bdi translate="no">{}</bdi>, {}', told)

    def save_model(self, request: HttpRequest, obj: Lab, _form: Any, _change: bool) -> None:
        """Only the quota can have changed."""
        services.set_quota(obj, reviewer_of(request), obj.daily_flops)

    @admin.action(description=gettext_lazy("Suspend"), permissions=["change"])
    def suspend(self, request: HttpRequest, queryset: QuerySet[Lab]) -> None:
        for lab in queryset:
            services.suspend_lab(lab, reviewer_of(request))
            messages.success(request, _("%(lab)s is suspended.") % {"lab": lab})

    @admin.action(description=gettext_lazy("Reinstate"), permissions=["change"])
    def reinstate(self, request: HttpRequest, queryset: QuerySet[Lab]) -> None:
        """One whose approval was revoked stays suspended."""
        for lab in queryset:
            try:
                services.reinstate_lab(lab, reviewer_of(request))
            except Problem as problem:
                messages.error(request, f"{lab}: {told(problem)}")
            else:
                messages.success(request, _("%(lab)s works again.") % {"lab": lab})
