"""Machines: who returns wrong results, what they hold, and why results were refused."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import Case, F, FloatField, QuerySet, Value, When
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gpugoblin_site import readable
from workunits.admin import switches as switch_pages
from workunits.admin.base import (
    NOTHING,
    PlainList,
    Sought,
    account_link,
    column,
    lines,
    list_of,
    page_of,
    short,
    since,
)
from workunits.admin.filters import LEAST_RESULTS, AccountFilter, RefusedFilter
from workunits.models import Device, Host, Lease, SwitchKind, Unit
from workunits.pages import words

SHOWN = 50
"""Leases and refusals on a machine's page."""

RATE = Case(
    When(
        accepted__gte=LEAST_RESULTS - F("rejected"),
        then=F("rejected") * 1.0 / (F("accepted") + F("rejected")),
    ),
    default=Value(-1.0),
    output_field=FloatField(),
)
"""Refused results among all that were judged; -1 where there are too few to compare."""


VERSION = column("version", _("client version"))
ACCEPTED = column("accepted", _("results accepted"))
REJECTED = column("rejected", _("results refused"))
FAILED = column("failed_in_row", _("in a row without a result"))


@admin.register(Host)
class HostAdmin(PlainList):
    """All machines; those with refusals by their rate.

    The filter by refusals walks over machines that have any, which an index holds. To sort all
    machines by rate walks over all of them: a fifth of a second for 100,000.
    """

    list_display = (
        "name",
        "owner",
        VERSION,
        "rate",
        REJECTED,
        ACCEPTED,
        "seen",
    )
    list_filter = (RefusedFilter, AccountFilter)
    search_help_text = _("The id of a machine, in full.")
    fields = (
        column("uid", _("id")),
        "owner",
        "switch",
        VERSION,
        "made",
        "seen",
        ACCEPTED,
        REJECTED,
        "rate",
        FAILED,
        "devices",
        "in_hand",
        "refusals",
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Host]:
        rows: QuerySet[Host] = Host.objects.annotate(refusal_rate=RATE)
        return rows.order_by(*self.get_ordering(request))

    def get_ordering(self, request: HttpRequest) -> tuple[str, ...]:
        """The worst first where rates are compared."""
        by_rate = request.GET.get(str(RefusedFilter.parameter_name)) == "rate"
        return ("-refusal_rate", "-pk") if by_rate else ("-pk",)

    def found(self, rows: QuerySet[Any], sought: Sought) -> QuerySet[Any]:
        if sought.uid is not None:
            return rows.filter(uid=sought.uid)
        return super().found(rows, sought)

    @admin.display(description=_("machine"), ordering="uid")
    def name(self, row: Host) -> str:
        return short(row.uid)

    @admin.display(description=_("account"), ordering="account_id")
    def owner(self, row: Host) -> SafeString:
        return account_link(row.account_id)

    @admin.display(description=_("refused"), ordering="refusal_rate")
    def rate(self, row: Any) -> str:
        if row.refusal_rate < 0:
            return NOTHING
        return f"{readable.number(100 * row.refusal_rate, 1)}{readable.SPACE}%"

    @admin.display(description=_("last seen"), ordering="last_seen")
    def seen(self, row: Host) -> Any:
        return since(row.last_seen)

    @admin.display(description=_("known for"))
    def made(self, row: Host) -> Any:
        return since(row.created)

    @admin.display(description=_("switch"))
    def switch(self, row: Host) -> SafeString:
        url = switch_pages.door(SwitchKind.HOST, row.pk)
        others = list_of(Host, gettext("all machines of the account"), account=row.account_id)
        return format_html(
            '<a href="{}">{}</a> · {}', url, gettext("switch this machine off"), others
        )

    @admin.display(description=_("devices"))
    def devices(self, row: Host) -> Any:
        found = Device.objects.filter(host=row).order_by("name")
        told = [
            (
                each.name,
                each.device_class or NOTHING,
                readable.flops(each.flops_per_s) + "/s",
                readable.amount_of_bytes(each.memory),
                since(each.last_seen),
            )
            for each in found
        ]
        return lines(told, "{}: {}, {}, {}, {}")

    @admin.display(description=_("units in hand"))
    def in_hand(self, row: Host) -> Any:
        rows = in_flight(row)
        return lines(
            [
                (page_of(Unit, each.unit_id, each.unit_id), each.device, since(each.created))
                for each in rows
            ],
            gettext("unit {} on {}, {}"),
        )

    @admin.display(description=_("refusals, the newest first"))
    def refusals(self, row: Host) -> Any:
        told = [
            (
                page_of(Unit, each.unit_id, each.unit_id),
                f"{words.refusal(each.code)} {each.reason}".strip(),
                since(each.created),
            )
            for each in refused(row)
        ]
        return lines(told, gettext("unit {}: {} Leased {}."))


def in_flight(host: Host) -> list[Lease]:
    """Leases that the machine holds now, the newest first."""
    held = Lease.objects.filter(pk__in=_pending(host), account_id=host.account_id).order_by(
        "-created"
    )
    return list(held[:SHOWN])


def _pending(host: Host) -> list[Any]:
    from workunits.models import PendingLease

    rows = PendingLease.objects.filter(account_id=host.account_id, host_id=host.pk, live=True)
    return list(rows.values_list("lease_id", flat=True)[: 2 * SHOWN])


def refused(host: Host) -> list[Lease]:
    """Leases of the machine that were refused, the newest first; an index has them by account."""
    rows = Lease.objects.filter(account_id=host.account_id, host_id=host.pk, state="rejected")
    return list(rows.exclude(code="ok").order_by("-created")[:SHOWN])
