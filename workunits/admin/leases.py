"""Leases, what accounts have to show, the ledger, and signed verdicts."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from gpugoblin_site import readable
from research_access.models import Lab
from workunits.admin.base import PlainList, Sought, account_link, column, page_of, since
from workunits.admin.filters import LEASE_STATES, LabFilter, LeaseStateFilter, UnitFilter
from workunits.models import CreditEntry, Host, Lease, Standing, Unit, VerdictBatch
from workunits.pages import words

LOOKED_AT = 50_000
"""The list filters so many leases, the newest; those of one unit are all there."""


NUMBER = column("id", _("number"))
COPY = column("copy", _("copy"))
CODE = column("code", _("code"))
ACCEPTED = column("accepted", _("results accepted"))
REJECTED = column("rejected", _("results refused"))
PROVEN = column("proven", _("accepted since the last refused one"))
FAILED = column("failed_in_row", _("in a row without a result"))


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
    list_display = ("short_id", "unit_page", "owner", COPY, "state_words", CODE, "made")
    list_filter = (LeaseStateFilter, UnitFilter)
    search_help_text = _("The id of a lease, in full.")
    fields = (
        column("id", _("id")),
        "unit_page",
        "owner",
        "machine",
        COPY,
        column("device", _("device")),
        column("device_class", _("class of device")),
        "state_words",
        CODE,
        column("reason", _("reason")),
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

    @admin.display(description=_("machine"))
    def machine(self, row: Lease) -> SafeString:
        return page_of(Host, row.host_id, row.host_id)

    @admin.display(description=_("state"))
    def state_words(self, row: Lease) -> words.Text:
        return LEASE_STATES.get(row.state, row.state)

    @admin.display(description=_("leased"), ordering="pk")
    def made(self, row: Lease) -> Any:
        return since(row.created)


@admin.register(Standing)
class StandingAdmin(OfAccounts):
    list_display = ("owner", ACCEPTED, REJECTED, PROVEN, "arithmetic", FAILED)
    list_display_links = None
    fields = readonly_fields = list_display
    search_help_text = _("The number of an account.")


@admin.register(CreditEntry)
class CreditEntryAdmin(OfAccounts):
    list_display = (NUMBER, "owner", "lab_page", "lease_page", "arithmetic", "made")
    fields = readonly_fields = list_display
    search_help_text = _("The id of a lease, in full, or the number of an entry.")

    def found(self, rows: QuerySet[Any], sought: Sought) -> QuerySet[Any]:
        if sought.uid is not None:
            return rows.filter(lease_id=sought.uid)
        return super().found(rows, sought)

    @admin.display(description=_("lab"))
    def lab_page(self, row: CreditEntry) -> SafeString:
        return page_of(Lab, row.lab_id, row.lab_id)

    @admin.display(description=_("lease"))
    def lease_page(self, row: CreditEntry) -> SafeString:
        return page_of(Lease, row.lease_id, row.lease_id.hex[-8:])

    @admin.display(description=_("credited"), ordering="pk")
    def made(self, row: CreditEntry) -> Any:
        return since(row.created)


@admin.register(VerdictBatch)
class VerdictBatchAdmin(PlainList):
    list_display = (NUMBER, "lab_page", "digest_words", "taken")
    fields = readonly_fields = (
        NUMBER,
        "lab_page",
        column("digest", _("digest")),
        column("signature", _("signature")),
        column("public_key", _("public key")),
        "taken",
    )
    list_filter = (LabFilter,)
    list_select_related = ("lab",)
    search_help_text = _("The number of a batch.")

    @admin.display(description=_("lab"))
    def lab_page(self, row: VerdictBatch) -> SafeString:
        return page_of(Lab, row.lab_id, row.lab)

    @admin.display(description=_("digest"))
    def digest_words(self, row: VerdictBatch) -> str:
        return row.digest[:16]

    @admin.display(description=_("received"), ordering="pk")
    def taken(self, row: VerdictBatch) -> Any:
        return since(row.received)
