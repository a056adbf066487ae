"""Filters whose lists stay short and whose answers stay quick, however many rows there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.admin import SimpleListFilter
from django.db.models import F, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from goblin_wire.states import LeaseState, UnitState
from research_access.models import Lab
from workunits.admin.base import number_of
from workunits.models import Host, JobState
from workunits.pages import words

MOST_LABS = 50
LEAST_RESULTS = 20
"""Below this a rate of refusals says nothing."""

JOB_STATES: dict[str, words.Text] = {
    JobState.OPEN: pgettext_lazy("state of a job", "open"),
    JobState.PAUSED: pgettext_lazy("state of a job", "paused"),
    JobState.FINISHED: pgettext_lazy("state of a job", "finished"),
    JobState.CANCELLED: pgettext_lazy("state of a job", "cancelled"),
}
UNIT_STATES: dict[str, words.Text] = {
    UnitState.QUARANTINED: pgettext_lazy("state of a unit", "put aside for an operator"),
    UnitState.OPEN: pgettext_lazy("state of a unit", "open"),
    UnitState.LEASED: pgettext_lazy("state of a unit", "leased"),
    UnitState.REPORTED: pgettext_lazy("state of a unit", "reported"),
    UnitState.ACCEPTED: pgettext_lazy("state of a unit", "accepted"),
    UnitState.CANCELLED: pgettext_lazy("state of a unit", "cancelled"),
}
LEASE_STATES: dict[str, words.Text] = {
    LeaseState.OPEN: pgettext_lazy("state of a lease", "open"),
    LeaseState.REPORTED: pgettext_lazy("state of a lease", "reported"),
    LeaseState.ACCEPTED: pgettext_lazy("state of a lease", "accepted"),
    LeaseState.REJECTED: pgettext_lazy("state of a lease", "rejected"),
    LeaseState.EXPIRED: pgettext_lazy("state of a lease", "expired"),
    LeaseState.RETURNED: pgettext_lazy("state of a lease", "returned"),
    LeaseState.SUPERSEDED: pgettext_lazy("state of a lease", "superseded"),
    LeaseState.LAPSED: pgettext_lazy("state of a lease", "lapsed"),
    LeaseState.ENDED: pgettext_lazy("state of a lease", "ended"),
}


class Chosen(SimpleListFilter):
    """Rows that belong to one row of another table; reached by links, so it lists only itself."""

    def lookups(self, request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        number = number_of(request.GET.get(str(self.parameter_name), ""))
        return [] if number is None else [(str(number), self.name(number))]

    def name(self, number: int) -> str:
        """What the row with this number is called."""
        return str(number)

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        number = number_of(self.value() or "")
        if number is None:
            return queryset if self.value() is None else queryset.none()
        return queryset.filter(**{f"{self.parameter_name}_id": number})


class AccountFilter(Chosen):
    title = _("account")
    parameter_name = "account"


class JobFilter(Chosen):
    title = _("job")
    parameter_name = "job"


class UnitFilter(Chosen):
    title = _("unit")
    parameter_name = "unit"


class LabFilter(Chosen):
    """The labs by name; where there are many, the chosen one only."""

    title = _("lab")
    parameter_name = "lab"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        labs = list(Lab.objects.order_by("name").values_list("pk", "name")[: MOST_LABS + 1])
        if len(labs) > MOST_LABS:
            return super().lookups(request, model_admin)
        return [(str(pk), name) for pk, name in labs]

    def name(self, number: int) -> str:
        found = Lab.objects.filter(pk=number).values_list("name", flat=True).first()
        return found or super().name(number)


class StateFilter(SimpleListFilter):
    """Rows in one state."""

    title = _("state")
    parameter_name = "state"
    states: Mapping[str, words.Text]

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, Any]]:
        return [(str(state), text) for state, text in self.states.items()]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(state=self.value())


class JobStateFilter(StateFilter):
    states = JOB_STATES


class UnitStateFilter(StateFilter):
    states = UNIT_STATES


class LeaseStateFilter(StateFilter):
    states = LEASE_STATES


class ReachableFilter(SimpleListFilter):
    """Lab nodes that volunteers can, or cannot, reach."""

    title = _("reachable")
    parameter_name = "reachable"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("1", gettext("yes")), ("0", gettext("no"))]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(reachable=self.value() == "1")


class SwitchedFilter(SimpleListFilter):
    """Moves of switches: set or lifted."""

    title = _("move")
    parameter_name = "on"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [("1", gettext("switched off")), ("0", gettext("lifted"))]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset if self.value() is None else queryset.filter(on=self.value() == "1")


class RefusedFilter(SimpleListFilter):
    """Machines with refusals: an index holds them, so their rates are compared in no time."""

    title = _("refusals")
    parameter_name = "refused"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        enough = gettext("some, of at least %(number)d results") % {"number": LEAST_RESULTS}
        return [("rate", enough), ("any", gettext("some"))]

    def queryset(self, _request: HttpRequest, queryset: QuerySet[Host]) -> QuerySet[Host]:
        if self.value() is None:
            return queryset
        refused = queryset.filter(rejected__gt=0)
        if self.value() == "rate":
            return refused.filter(accepted__gte=LEAST_RESULTS - F("rejected"))
        return refused
