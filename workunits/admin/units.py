"""Units: found quickly among millions, and each with its story."""

from __future__ import annotations

from typing import Any

from django.contrib import admin, messages
from django.db.models import Max, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from goblin_wire.states import UnitState
from research_access.models import Lab
from workunits import sweeps
from workunits.admin.base import PlainList, Sought, column, number_of, page_of, short
from workunits.admin.filters import UNIT_STATES, JobFilter, LabFilter, UnitStateFilter
from workunits.admin.story import story
from workunits.models import Job, Unit
from workunits.pages import words

LOOKED_AT = 100_000
"""The list shows, and filters, so many units: the newest of all, of the job or of the lab."""
JOBS_LOOKED_AT = 20


@admin.register(Unit)
class UnitAdmin(PlainList):
    """Quarantined units wherever they are; of the others the newest."""

    list_display = (
        column("id", _("number")),
        "job_page",
        column("position", _("place in the job")),
        "state_words",
        column("code", _("code")),
        column("issued", _("leases so far")),
        column("wanted", _("leases wanted")),
    )
    list_filter = (UnitStateFilter, LabFilter, JobFilter)
    list_select_related = ("job",)
    search_help_text = _("The number or the id of a unit, in full.")
    actions = ("release",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Unit]:
        """Never so many that a filter would walk over all units."""
        rows: QuerySet[Unit] = super().get_queryset(request)
        match = request.resolver_match
        is_list = match is not None and str(match.url_name).endswith("_changelist")
        return _bounded(rows, request) if is_list and not request.GET.get("q") else rows

    def found(self, rows: QuerySet[Any], sought: Sought) -> QuerySet[Any]:
        if sought.uid is not None:
            # By the labs, of which an index knows each one's units.
            return rows.filter(lab__in=Lab.objects.values("pk"), uid=sought.uid)
        return super().found(rows, sought)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        _form_url: str = "",
        _extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The unit's story."""
        rows = self.get_queryset(request).select_related("job", "lab")
        unit = rows.filter(pk=number_of(object_id) or 0).first()
        if unit is None or not self.has_view_permission(request, unit):
            raise Http404
        facts = {
            "unit": unit,
            "state": UNIT_STATES.get(unit.state, unit.state),
            "policy": words.POLICIES.get(unit.policy, unit.policy),
            "lab_page": page_of(Lab, unit.lab_id, unit.lab),
            "job_page": page_of(Job, unit.job_id, short(unit.job.uid)),
            "moments": story(unit),
        }
        title = gettext("Unit %(id)d") % {"id": unit.pk}
        return self.page(request, "unit.html", title, **facts)

    @admin.display(description=_("job"))
    def job_page(self, row: Unit) -> SafeString:
        return page_of(Job, row.job_id, short(row.job.uid))

    @admin.display(description=_("state"))
    def state_words(self, row: Unit) -> words.Text:
        return UNIT_STATES.get(row.state, row.state)

    @admin.action(description=_("Give out again what was put aside"), permissions=["release"])
    def release(self, request: HttpRequest, units: QuerySet[Unit]) -> None:
        """Let quarantined units go out again."""
        chosen = units.filter(state=UnitState.QUARANTINED).values_list("pk", flat=True)
        for unit in list(chosen):
            sweeps.release(unit)
        told = gettext("Those of the chosen units that were put aside are given out again.")
        messages.success(request, told)

    def has_release_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("workunits.change_unit")


def _bounded(rows: QuerySet[Unit], request: HttpRequest) -> QuerySet[Unit]:
    if request.GET.get("state") == UnitState.QUARANTINED:
        return rows.exclude(code__in=["ok", "job_cancelled"])
    newest = _newest(request)
    return rows.filter(pk__lte=newest, pk__gt=newest - LOOKED_AT)


def _newest(request: HttpRequest) -> int:
    """The number of the newest unit of what is chosen."""
    job, lab = (number_of(request.GET.get(name, "")) for name in ("job", "lab"))
    if job is not None:
        return _newest_of([job])
    if lab is not None:
        jobs = Job.objects.filter(lab_id=lab).order_by("-pk").values_list("pk", flat=True)
        return _newest_of(list(jobs[:JOBS_LOOKED_AT]))
    return Unit.objects.aggregate(newest=Max("pk"))["newest"] or 0


def _newest_of(jobs: list[int]) -> int:
    last = (
        Unit.objects.filter(job_id=job).order_by("-position").values_list("pk", flat=True).first()
        for job in jobs
    )
    return next((pk for pk in last if pk is not None), 0)
