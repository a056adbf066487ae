"""Jobs: what labs have computed; disputed ones are let go on here."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import OuterRef, QuerySet, Subquery, Sum
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from gpugoblin_site import readable
from research_access.models import Lab
from workunits import jobs
from workunits.admin.base import PlainList, Sought, column, list_of, page_of, short, since
from workunits.admin.filters import JOB_STATES, JobStateFilter, LabFilter
from workunits.models import Job, JobHour, Unit
from workunits.pages import words


def _sum(column: str) -> Subquery:
    """Of the hours of a job."""
    hours = JobHour.objects.filter(job=OuterRef("pk")).order_by().values("job")
    return Subquery(hours.annotate(total=Sum(column)).values("total"))


UNITS = column("units", _("units announced"))
REGISTERED = column("registered", _("units registered"))


@admin.register(Job)
class JobAdmin(PlainList):
    """The newest first; the sums of a job's units are kept by the site, not counted here."""

    list_display = (
        "name",
        "lab_page",
        "kind_words",
        "state_words",
        UNITS,
        REGISTERED,
        "verified",
        "begun",
    )
    list_filter = (JobStateFilter, LabFilter)
    list_select_related = ("lab",)
    search_help_text = _("The id of a job, in full.")
    fields = (
        column("uid", _("id")),
        "lab_page",
        "kind_words",
        "state_words",
        column("code", _("code")),
        column("reason", _("reason")),
        UNITS,
        REGISTERED,
        "verified",
        "put_aside",
        "arithmetic",
        "begun",
        "ended",
        "unit_list",
    )
    readonly_fields = fields
    actions = ("resume",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Job]:
        """With the sums that the site keeps."""
        rows: QuerySet[Job] = super().get_queryset(request)
        return rows.annotate(verified_units=_sum("units"), units_aside=_sum("put_aside"))

    def found(self, rows: QuerySet[Any], sought: Sought) -> QuerySet[Any]:
        if sought.uid is not None:
            # By the labs, of which an index knows each one's jobs.
            return rows.filter(lab__in=Lab.objects.values("pk"), uid=sought.uid)
        return super().found(rows, sought)

    @admin.display(description=_("job"))
    def name(self, row: Job) -> str:
        return short(row.uid)

    @admin.display(description=_("lab"))
    def lab_page(self, row: Job) -> SafeString:
        return page_of(Lab, row.lab_id, row.lab)

    @admin.display(description=_("kind"))
    def kind_words(self, row: Job) -> words.Text:
        return words.kind(row.kind)

    @admin.display(description=_("state"))
    def state_words(self, row: Job) -> words.Text:
        return JOB_STATES.get(row.state, row.state)

    @admin.display(description=_("verified"))
    def verified(self, row: Any) -> str:
        return readable.number(row.verified_units or 0)

    @admin.display(description=_("units put aside for an operator"))
    def put_aside(self, row: Any) -> str:
        return readable.number(row.units_aside or 0)

    @admin.display(description=_("arithmetic"))
    def arithmetic(self, row: Job) -> str:
        return readable.flops(row.flops)

    @admin.display(description=_("begun"))
    def begun(self, row: Job) -> Any:
        return since(row.created)

    @admin.display(description=_("closed"))
    def ended(self, row: Job) -> Any:
        return since(row.closed)

    @admin.display(description=_("units"))
    def unit_list(self, row: Job) -> SafeString:
        everything = list_of(Unit, _("the newest of them"), job=row.pk)
        aside = list_of(Unit, _("those that were put aside"), job=row.pk, state="quarantined")
        return format_html("{} · {}", everything, aside)

    @admin.action(description=_("Let disputed jobs go on"), permissions=["resume"])
    def resume(self, request: HttpRequest, chosen: QuerySet[Job]) -> None:
        """Let jobs go on that were paused since volunteers computed other costs."""
        resumed = sum(jobs.resume_disputed(job) for job in chosen.values_list("pk", flat=True))
        told = ngettext(
            "%(number)d of the chosen jobs was disputed and goes on.",
            "%(number)d of the chosen jobs were disputed and go on.",
            resumed,
        )
        messages.success(request, told % {"number": resumed})

    def has_resume_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("workunits.change_job")
