"""The review queue: which requests wait, for how long, and what to notice about them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts import admin_doors
from accounts.admin_site import MovedByServices
from accounts.text import fold
from goblin_wire.states import RequestState
from gpugoblin_site import readable
from research_access.admin import bulk, decide, page
from research_access.admin.filters import ALL, StateFilter
from research_access.admin.flags import flags_of
from research_access.admin.people import reviewer_of
from research_access.models import AccessRequest
from research_access.services.rules import REVIEW_PERMISSION
from research_access.words import state_kind, state_words

if TYPE_CHECKING:
    RequestAdminBase = admin.ModelAdmin[AccessRequest]
else:
    RequestAdminBase = admin.ModelAdmin

MOST_WORDS = 8


class Queue(ChangeList):
    """A page of requests with their flags."""

    def get_results(self, request: HttpRequest) -> None:
        """Lists the rows with what the table says of them, and the states with their numbers."""
        super().get_results(request)
        rows = list(self.result_list)
        flags = flags_of(rows, reviewer_of(request))
        self.result_list = rows
        self.shown = [
            {
                "row": row,
                "flags": flags[row.pk],
                "kind": state_kind(row.state),
                "state": state_words(row.state),
            }
            for row in rows
        ]
        for spec in self.filter_specs:
            if isinstance(spec, StateFilter):
                chosen = spec.chosen(request)
                self.states = spec.numbers(self, chosen)
                self.mixed = chosen == ALL


@admin.register(AccessRequest)
class AccessRequestAdmin(MovedByServices, RequestAdminBase):
    """The queue, the oldest first; a request is decided on its own page or with others at once."""

    list_display = ("__str__",)
    list_filter = (StateFilter,)
    list_select_related = ("account__person",)
    list_per_page = 50
    show_full_result_count = False
    ordering = ("submitted", "id")
    search_fields = ("search",)
    search_help_text = _("Name, institution, field or address; marks and capitals do not matter.")
    actions = ("approve_all", "ask_all", "decline_all", "revoke_all")

    def get_queryset(self, request: HttpRequest) -> QuerySet[AccessRequest]:
        """Drafts are their writers' own."""
        return super().get_queryset(request).exclude(state=RequestState.DRAFT.value)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:  # noqa: ARG002
        return Queue

    def get_search_results(
        self, _request: HttpRequest, queryset: QuerySet[AccessRequest], search_term: str
    ) -> tuple[QuerySet[AccessRequest], bool]:
        """Each word anywhere in what is searched, or in the address."""
        for word in fold(search_term).split()[:MOST_WORDS]:
            queryset = queryset.filter(
                Q(search__contains=word) | Q(account__person__email__contains=word)
            )
        return queryset, False

    def has_change_permission(
        self, request: HttpRequest, _obj: AccessRequest | None = None
    ) -> bool:
        """To change a request is to decide on it."""
        return request.user.has_perm(REVIEW_PERMISSION)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return super().changelist_view(
            request, {"title": gettext("Review queue")} | (extra_context or {})
        )

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        _form_url: str = "",
        _extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """The page to decide on."""
        return page.answer(self, request, object_id)

    def get_urls(self) -> list[URLPattern]:
        name = "research_access_accessrequest_%s"
        own = [
            path(
                "<int:number>/beat/",
                self.admin_site.admin_view(self.beat),
                name=name % "beat",
            ),
        ]
        return own + super().get_urls()

    def beat(self, request: HttpRequest, number: int) -> HttpResponse:
        """What an open page asks every few seconds."""
        return page.beat(self, request, number)

    @admin.action(description=_("Approve, with one text for all…"), permissions=["change"])
    def approve_all(
        self, request: HttpRequest, chosen: QuerySet[AccessRequest]
    ) -> HttpResponse | None:
        return bulk.ask_or_do(self, request, chosen, decide.APPROVE)

    @admin.action(description=_("Ask all the same question…"), permissions=["change"])
    def ask_all(self, request: HttpRequest, chosen: QuerySet[AccessRequest]) -> HttpResponse | None:
        return bulk.ask_or_do(self, request, chosen, decide.ASK)

    @admin.action(description=_("Decline, with one reason for all…"), permissions=["change"])
    def decline_all(
        self, request: HttpRequest, chosen: QuerySet[AccessRequest]
    ) -> HttpResponse | None:
        return bulk.ask_or_do(self, request, chosen, decide.DECLINE)

    @admin.action(description=_("Revoke, with one reason for all…"), permissions=["change"])
    def revoke_all(
        self, request: HttpRequest, chosen: QuerySet[AccessRequest]
    ) -> HttpResponse | None:
        return bulk.ask_or_do(self, request, chosen, decide.REVOKE)


def waiting(_request: HttpRequest) -> str:
    """How many requests wait, and the oldest for how long."""
    rows = AccessRequest.objects.filter(state=RequestState.SUBMITTED.value)
    number, oldest = rows.count(), rows.order_by("submitted").values_list("submitted").first()
    if oldest is None:
        return gettext("Nobody waits for a decision.")
    told = ngettext("%(number)d request waits.", "%(number)d requests wait.", number)
    age = gettext("The oldest came %(age)s.") % {"age": readable.ago(oldest[0] or timezone.now())}
    return f"{told % {'number': number}} {age}"


admin_doors.add(
    admin_doors.Door(
        "admin:research_access_accessrequest_changelist",
        _("Review queue"),
        "research_access.view_accessrequest",
        waiting,
        rank=10,
    )
)
