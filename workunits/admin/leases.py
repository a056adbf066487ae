"""Leases, what accounts have to show, the ledger, and signed verdicts."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from gpugoblin_site import readable
from workunits.admin.base import PlainList, Sought, account_link, page_of, since
from workunits.admin.filters import LEASE_STATES, LabFilter, LeaseStateFilter, UnitFilter
from workunits.models import CreditEntry, Lease, Standing, Unit, VerdictBatch
from workunits.pages import words

LOOKED_AT = 50_000
"""The list filters so many leases, the newest; those of one unit are all there."""


class OfAccounts(PlainList):
    """Rows that belong to an account."""

    @admin.display(description=_("account"))
    def owner(self, row: Any) -> SafeString:
        return account_link(row.account_id)

    @admin.display(description=_("arithmetic"))
    def arithmetic(self, row: Any) -> str:
        return readable.flops(row.flops)


@admin.register(Lease)
class LeaseAdmin(OfAccounts):
    list_display = ("short_id", "unit_page", "owner", "copy", "state_words", "code", "made")
    list_filter = (LeaseStateFilter, UnitFilter)
    search_help_text = _("The id of a lease, in full.")
    fields = (
        "id",
        "unit_page",
        "owner",
        "host_id",
        "copy",
        "device",
        "device_class",
        "state_words",
        "code",
        "reason",
        "made",
    )
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> QuerySet[Lease]:
        """Never so many that a filter would walk over all leases."""
        rows: QuerySet[Lease] = super().get_queryset(request)
        if not request.GET.get("state") or request.GET.get("unit") or request.GET.get("q"):
            return rows
        newest = Lease.objects.order_by("-pk").values_list("pk", flat=True)
        first = newest[LOOKED_AT : LOOKED_AT + 1].first()
        return rows if first is None else rows.filter(pk__gt=first)

    def found(self, rows: QuerySet[Any], sought: Sought) -> QuerySet[Any]:
        return rows.none() if sought.uid is None else rows.filter(pk=sought.uid)

    @admin.display(description=_("lease"), ordering="pk")
    def short_id(self, row: Lease) -> str:
        return row.pk.hex[-8:]

    @admin.display(description=_("unit"))
    def unit_page(self, row: Lease) -> SafeString:
        return page_of(Unit, row.unit_id, row.unit_id)

    @admin.display(description=_("state"))
    def state_words(self, row: Lease) -> words.Text:
        return LEASE_STATES.get(row.state, row.state)

    @admin.display(description=_("leased"), ordering="pk")
    def made(self, row: Lease) -> Any:
        return since(row.created)


@admin.register(Standing)
class StandingAdmin(OfAccounts):
    list_display = ("account_id", "owner", "accepted", "rejected", "arithmetic", "failed_in_row")
    search_help_text = _("The number of an account.")


@admin.register(CreditEntry)
class CreditEntryAdmin(OfAccounts):
    list_display = ("id", "owner", "lab_id", "lease_id", "kind", "arithmetic", "made")
    search_help_text = _("The id of a lease, in full, or the number of an entry.")

    def found(self, rows: QuerySet[Any], sought: Sought) -> QuerySet[Any]:
        if sought.uid is not None:
            return rows.filter(lease_id=sought.uid)
        return super().found(rows, sought)

    @admin.display(description=_("credited"), ordering="pk")
    def made(self, row: CreditEntry) -> Any:
        return since(row.created)


@admin.register(VerdictBatch)
class VerdictBatchAdmin(PlainList):
    list_display = ("id", "lab", "digest", "taken")
    list_filter = (LabFilter,)
    list_select_related = ("lab",)
    search_help_text = _("The number of a batch.")

    @admin.display(description=_("received"), ordering="pk")
    def taken(self, row: VerdictBatch) -> Any:
        return since(row.received)
