"""Lab nodes: whether they can be reached, what they have in flight, what was verified for them."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.admin_search import holds_all
from gpugoblin_site import readable
from research_access.models import Lab
from workunits.admin import switches as switch_pages
from workunits.admin.base import (
    PlainList,
    Sought,
    column,
    lines,
    list_of,
    number_of,
    page_of,
    said,
    since,
    uid_of,
    yes_or_no,
)
from workunits.admin.filters import ReachableFilter
from workunits.models import Job, LabDay, LabNode, SwitchKind, Unit

DAYS = 14


REACHABLE = yes_or_no("reachable", _("reachable"))
PROBE = column("probe_code", _("what the last probe said"))
VERSION = column("version", _("version"))


@admin.register(LabNode)
class LabNodeAdmin(PlainList):
    list_display = ("name", REACHABLE, PROBE, "seen", "window", VERSION)
    list_filter = (ReachableFilter,)
    list_select_related = ("lab",)
    search_help_text = _("The name, the key or the number of a lab.")
    fields = (
        "lab_page",
        "switch",
        column("endpoint", _("address")),
        REACHABLE,
        PROBE,
        said("probe_reason", _("reason")),
        "probed",
        "seen",
        "window",
        VERSION,
        "quota",
        "days",
        "work",
    )
    readonly_fields = fields

    def get_search_results(
        self, _request: HttpRequest, queryset: Any, search_term: str
    ) -> tuple[Any, bool]:
        """Labs are few: a part of the name will do."""
        term = search_term.strip()
        if not term:
            return queryset, False
        by_id = self.found(queryset, Sought(number_of(term), uid_of(term)))
        return by_id | queryset.filter(holds_all("lab__name", term)), False

    def found(self, rows: Any, sought: Sought) -> Any:
        if sought.uid is not None:
            return rows.filter(lab__key=sought.uid)
        return super().found(rows, sought)

    @admin.display(description=_("lab"), ordering="lab__name")
    def name(self, row: LabNode) -> str:
        return str(row.lab)

    @admin.display(description=_("lab"))
    def lab_page(self, row: LabNode) -> SafeString:
        return page_of(Lab, row.lab_id, row.lab)

    @admin.display(description=_("switch"))
    def switch(self, row: LabNode) -> SafeString:
        url = switch_pages.door(SwitchKind.LAB, row.lab.key.hex)
        return format_html('<a href="{}">{}</a>', url, gettext("switch this lab off"))

    @admin.display(description=_("last seen"), ordering="last_seen")
    def seen(self, row: LabNode) -> Any:
        return since(row.last_seen)

    @admin.display(description=_("last probed"))
    def probed(self, row: LabNode) -> Any:
        return since(row.probed_at)

    @admin.display(description=_("the most that it wants in flight"))
    def window(self, row: LabNode) -> str:
        values = {
            "units": readable.number(row.window_units),
            "bytes": readable.amount_of_bytes(row.window_bytes),
        }
        return gettext("%(units)s units, %(bytes)s") % values

    @admin.display(description=_("daily quota"))
    def quota(self, row: LabNode) -> str:
        return readable.flops(row.lab.daily_flops)

    @admin.display(description=_("verified on the last days (UTC)"))
    def days(self, row: LabNode) -> Any:
        found = LabDay.objects.filter(lab=row.lab_id).order_by("-day")[:DAYS]
        told = [
            (
                date_format(each.day, "SHORT_DATE_FORMAT"),
                readable.flops(each.flops),
                readable.number(each.units),
            )
            for each in found
        ]
        return lines(told, gettext("{}: {} in {} units"))

    @admin.display(description=_("work"))
    def work(self, row: LabNode) -> SafeString:
        jobs = list_of(Job, gettext("its jobs"), lab=row.lab_id)
        return format_html(
            "{} · {}", jobs, list_of(Unit, gettext("its newest units"), lab=row.lab_id)
        )
