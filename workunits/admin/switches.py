"""Switches in the admin: those that are on, one more, lifting one, and who did what when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _

from goblin_wire.problems import Conflict, Problem
from gpugoblin_site import readable
from gpugoblin_site.sentences import told
from research_access.models import Lab
from workunits import switches
from workunits.admin.base import (
    PlainList,
    account_link,
    number_of,
    operator_of,
    page_of,
    short,
    since,
)
from workunits.admin.filters import SwitchedFilter
from workunits.admin.forms import KINDS, LiftForm, SwitchForm
from workunits.models import Host, Switch, SwitchKind, SwitchMove
from workunits.models.switches import Switched

if TYPE_CHECKING:
    from workunits.switches import Subject

MOVES_SHOWN = 50
_LABELS = dict(KINDS)


def named(rows: QuerySet[Any]) -> QuerySet[Any]:
    """Switches or their moves with what their machines and labs are called."""
    found: QuerySet[Any] = rows.annotate(
        host_uid=Host.objects.filter(pk=OuterRef("target")).values("uid")[:1],
        lab_name=Lab.objects.filter(pk=OuterRef("target")).values("name")[:1],
    )
    return found


def subject_link(row: Any) -> SafeString | str:
    """What a switch is about, as a link to its page; `row` is one of `named`."""
    match row.kind:
        case SwitchKind.ACCOUNT:
            return account_link(row.target)
        case SwitchKind.HOST:
            return page_of(Host, row.target, short(row.host_uid) if row.host_uid else row.target)
        case SwitchKind.LAB:
            return page_of(Lab, row.target, row.lab_name or row.target)
    return str(row.version)


class Shown(PlainList):
    """What switches and their moves show alike."""

    search_fields: ClassVar[tuple[str, ...]] = ()

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        return named(super().get_queryset(request))

    @admin.display(description=_("what"), ordering="kind")
    def what(self, row: Switched) -> Any:
        return _LABELS[row.kind]

    @admin.display(description=_("which one"))
    def which(self, row: Switched) -> SafeString | str:
        return subject_link(row)

    @admin.display(description=_("what the people concerned read"))
    def said(self, row: Switch | SwitchMove) -> str:
        return switches.in_language(row, get_language() or "en")

    @admin.display(description=_("done by"))
    def who(self, row: Switched) -> SafeString:
        return account_link(row.by_id)


@admin.register(Switch)
class SwitchAdmin(Shown):
    """The switches that are on."""

    list_display = ("what", "which", "said", "when", "who")

    @admin.display(description=_("since"), ordering="since")
    def when(self, row: Switch) -> Any:
        return since(row.since)

    def has_add_permission(self, request: HttpRequest, *_more: Any) -> bool:
        return request.user.has_perm(switches.ON_PERMISSION)

    def add_view(
        self,
        request: HttpRequest,
        _form_url: str = "",
        _extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Switch something off."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = SwitchForm(request.POST or None, initial=request.GET.dict())
        if form.is_valid() and self._switched(request, form):
            return redirect("admin:workunits_switch_changelist")
        return self.page(request, "turn.html", gettext("Switch something off"), form=form)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        _form_url: str = "",
        _extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """One switch with its history, and lifting it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = named(Switch.objects.filter(pk=number_of(object_id) or 0)).first()
        if found is None:
            raise Http404
        form = LiftForm(request.POST or None)
        if form.is_valid() and self._lifted(request, found, form.cleaned_data["reason"]):
            return redirect("admin:workunits_switch_changelist")
        facts = {
            "switch": found,
            "what": _LABELS[found.kind],
            "which": subject_link(found),
            "may_lift": request.user.has_perm(switches.OFF_PERMISSION),
            "moves": history(found),
        }
        return self.page(request, "switch.html", gettext("A switch"), form=form, **facts)

    def _switched(self, request: HttpRequest, form: SwitchForm) -> bool:
        subject: Subject = form.cleaned_data["found"]
        try:
            switches.switch_off(subject, form.words, operator_of(request))
        except Problem as problem:
            form.add_error(None, told(problem))
            return False
        messages.success(
            request, gettext("Switched off. Machines and labs are told with their next poll.")
        )
        return True

    def _lifted(self, request: HttpRequest, switch: Switch, reason: str) -> bool:
        try:
            switches.lift(switch.pk, reason, operator_of(request))
        except Problem as problem:
            messages.error(request, told(problem))
            return isinstance(problem, Conflict)
        messages.success(request, gettext("Lifted. Work is given out again from the next poll on."))
        return True


@admin.register(SwitchMove)
class SwitchMoveAdmin(Shown):
    """Who switched what when; nobody can change it."""

    list_display = ("when", "move", "what", "which", "why", "who")
    list_display_links = None
    list_filter = (SwitchedFilter,)
    fields = readonly_fields = (*list_display, "said")

    @admin.display(description=_("move"), ordering="on")
    def move(self, row: SwitchMove) -> str:
        return gettext("switched off") if row.on else gettext("lifted")

    @admin.display(description=_("reason"))
    def why(self, row: SwitchMove) -> str:
        return row.reason

    @admin.display(description=_("when"), ordering="at")
    def when(self, row: SwitchMove) -> Any:
        return since(row.at)


def history(switched: Switched) -> list[dict[str, Any]]:
    """The moves of a switch, for the timeline; the newest first."""
    moves = SwitchMove.objects.filter(
        kind=switched.kind, target=switched.target, version=switched.version
    ).order_by("-id")[:MOVES_SHOWN]
    return [
        {
            "when": move.at,
            "who": gettext("account %(id)d") % {"id": move.by_id},
            "kind": "refused" if move.on else "done",
            "text": (gettext("Switched off: %s") if move.on else gettext("Lifted: %s"))
            % move.reason,
        }
        for move in moves
    ]


def door(kind: SwitchKind, subject: object) -> str:
    """Where a machine, account or lab is switched off."""
    query = {"kind": kind.value, "subject": str(subject)}
    return reverse("admin:workunits_switch_add", query=query)


def standing(_request: HttpRequest) -> str:
    """How many switches are on, for the admin's first page."""
    found = list(Switch.objects.order_by("since").values_list("since", flat=True))
    if not found:
        return gettext("Nothing is switched off.")
    told = ngettext("%(number)d switch is on.", "%(number)d switches are on.", len(found))
    oldest = gettext("The oldest was set %(age)s.") % {"age": readable.ago(found[0])}
    return f"{told % {'number': len(found)}} {oldest}"
