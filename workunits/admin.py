"""Plain lists for operators: everything is shown, nothing is edited; one action releases units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest

from accounts.admin_site import ShownOnly
from goblin_wire.states import UnitState
from workunits import jobs, sweeps
from workunits.models import (
    CreditEntry,
    Host,
    Job,
    LabNode,
    Lease,
    Standing,
    Unit,
    VerdictBatch,
)

if TYPE_CHECKING:
    ListBase = admin.ModelAdmin[Any]
else:
    ListBase = admin.ModelAdmin


class PlainList(ShownOnly, ListBase):
    """Newest first, and without counting millions of rows."""

    show_full_result_count = False
    list_per_page = 50
    ordering = ("-pk",)


@admin.register(LabNode)
class LabNodeAdmin(PlainList):
    list_display = ("lab", "reachable", "probe_code", "last_seen", "window_units", "version")
    list_filter = ("reachable",)


@admin.register(Job)
class JobAdmin(PlainList):
    list_display = ("uid", "lab", "kind", "state", "code", "units", "registered", "created")
    list_filter = ("state",)
    actions = ("resume",)

    @admin.action(description="Let disputed jobs go on", permissions=["resume"])
    def resume(self, request: HttpRequest, chosen: QuerySet[Job]) -> None:
        """Let jobs go on that were paused since volunteers computed other costs."""
        resumed = sum(jobs.resume_disputed(job) for job in chosen.values_list("pk", flat=True))
        messages.success(request, f"{resumed} of the chosen jobs were disputed and go on.")

    def has_resume_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_superuser", False))


@admin.register(Unit)
class UnitAdmin(PlainList):
    list_display = ("id", "job_id", "position", "state", "code", "policy", "issued", "wanted")
    list_filter = ("state",)
    actions = ("release",)

    @admin.action(description="Release quarantined units", permissions=["release"])
    def release(self, request: HttpRequest, units: QuerySet[Unit]) -> None:
        """Let quarantined units go out again."""
        chosen = units.filter(state=UnitState.QUARANTINED).values_list("pk", flat=True)
        for unit in list(chosen):
            sweeps.release(unit)
        messages.success(request, "The quarantined ones among the chosen units go out again.")

    def has_release_permission(self, request: HttpRequest) -> bool:
        return bool(getattr(request.user, "is_superuser", False))


@admin.register(Lease)
class LeaseAdmin(PlainList):
    list_display = ("id", "unit_id", "account_id", "copy", "state", "code", "reason", "created")


@admin.register(Host)
class HostAdmin(PlainList):
    list_display = (
        "uid",
        "account_id",
        "version",
        "accepted",
        "rejected",
        "failed_in_row",
        "last_seen",
    )


@admin.register(Standing)
class StandingAdmin(PlainList):
    list_display = ("account_id", "accepted", "rejected", "flops", "failed_in_row")


@admin.register(CreditEntry)
class CreditEntryAdmin(PlainList):
    list_display = ("id", "account_id", "lab_id", "lease_id", "kind", "flops", "created")


@admin.register(VerdictBatch)
class VerdictBatchAdmin(PlainList):
    list_display = ("id", "lab", "digest", "received")
