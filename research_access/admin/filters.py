"""Which requests the queue shows."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from goblin_wire.states import RequestState
from research_access.models import AccessRequest
from research_access.words import state_words

ALL = "all"
SHOWN = tuple(state.value for state in RequestState if state is not RequestState.DRAFT)


class StateFilter(SimpleListFilter):
    """Those that wait for a reviewer, unless another state is chosen or something is searched."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, _request: HttpRequest, _model_admin: Any) -> list[tuple[str, str]]:
        return [(state, state_words(state)) for state in SHOWN]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[AccessRequest]
    ) -> QuerySet[AccessRequest]:
        chosen = self.chosen(request)
        return queryset if chosen == ALL else queryset.filter(state=chosen)

    def chosen(self, request: HttpRequest) -> str:
        """The state that is shown, or `all`."""
        if self.value() in (*SHOWN, ALL):
            return str(self.value())
        return ALL if request.GET.get(SEARCH_VAR) else RequestState.SUBMITTED.value

    def numbers(self, changelist: ChangeList, chosen: str) -> list[dict[str, Any]]:
        """Each state with how many requests are in it, by one query."""
        rows = changelist.root_queryset.order_by().values_list("state").annotate(Count("pk"))
        found = dict(rows)
        found[ALL] = sum(found.values())
        return [
            {
                "selected": state == chosen,
                "query_string": changelist.get_query_string({self.parameter_name: state}),
                "display": _("all") if state == ALL else state_words(state),
                "number": found.get(state, 0),
            }
            for state in (*SHOWN, ALL)
        ]
