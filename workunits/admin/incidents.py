"""Incidents in the admin: those that were told, one more, correcting and ending one."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext
from django.utils.translation import gettext_lazy as _

from goblin_wire.problems import Problem
from gpugoblin_site.sentences import told
from workunits import incidents
from workunits.admin.base import (
    PlainList,
    account_link,
    number_of,
    operator_of,
    page_of,
    since,
)
from workunits.admin.forms import IncidentForm, as_typed
from workunits.models import Incident, IncidentVersion

LIST = "admin:workunits_incident_changelist"


class Shown(PlainList):
    """What incidents and their versions show alike."""

    search_fields: ClassVar[tuple[str, ...]] = ()

    @admin.display(description=_("began"), ordering="began")
    def from_when(self, row: Incident | IncidentVersion) -> str:
        return date_format(timezone.localtime(row.began), "DATETIME_FORMAT")

    @admin.display(description=_("ended"), ordering="ended")
    def until(self, row: Incident | IncidentVersion) -> str:
        if row.ended is None:
            return gettext("it lasts")
        return date_format(timezone.localtime(row.ended), "DATETIME_FORMAT")

    @admin.display(description=_("what everybody reads"))
    def said(self, row: Incident | IncidentVersion) -> str:
        return incidents.in_language(row, get_language() or "en")


@admin.register(Incident)
class IncidentAdmin(Shown):
    """The incidents, the newest first."""

    list_display = ("from_when", "until", "said", "when")

    @admin.display(description=_("written"), ordering="changed")
    def when(self, row: Incident) -> Any:
        return since(row.changed)

    def has_add_permission(self, request: HttpRequest, *_more: Any) -> bool:
        return request.user.has_perm(incidents.ADD_PERMISSION)

    def add_view(
        self,
        request: HttpRequest,
        _form_url: str = "",
        _extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """Tell of an incident."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form = IncidentForm(request.POST or None, initial={"began": timezone.now()})
        if form.is_valid() and self._done(request, form, None):
            return redirect(LIST)
        return self.page(request, "incident.html", gettext("Tell of an incident"), form=form)

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        _form_url: str = "",
        _extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """One incident with its history; correcting and ending it."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        found = Incident.objects.filter(pk=number_of(object_id) or 0).first()
        if found is None:
            raise Http404
        form = IncidentForm(request.POST or None, initial=as_typed(found))
        if form.is_valid() and self._done(request, form, found):
            return redirect(LIST)
        facts = {
            "incident": found,
            "may_change": request.user.has_perm(incidents.CHANGE_PERMISSION),
            "versions": history(found),
        }
        return self.page(request, "incident.html", gettext("An incident"), form=form, **facts)

    def _done(self, request: HttpRequest, form: IncidentForm, known: Incident | None) -> bool:
        operator = operator_of(request)
        try:
            if known is None:
                incidents.tell(form.telling, operator)
            else:
                version = form.cleaned_data["version"] or 0
                incidents.correct(known.pk, version, form.telling, operator)
        except Problem as problem:
            form.add_error(None, told(problem))
            if known is not None:
                _show_newest(form, known)
            return False
        messages.success(request, gettext("The status page tells it from now on."))
        return True


@admin.register(IncidentVersion)
class IncidentVersionAdmin(Shown):
    """What was told when, and who wrote it; nobody can change it."""

    list_display = ("when", "which", "from_when", "until", "said", "who")
    list_display_links = None
    fields = readonly_fields = list_display

    @admin.display(description=_("when"), ordering="at")
    def when(self, row: IncidentVersion) -> Any:
        return since(row.at)

    @admin.display(description=_("which one"), ordering="incident")
    def which(self, row: IncidentVersion) -> SafeString:
        return page_of(Incident, row.incident_id, str(row))

    @admin.display(description=_("done by"))
    def who(self, row: IncidentVersion) -> SafeString:
        return account_link(row.by_id)


def _show_newest(form: IncidentForm, known: Incident) -> None:
    """Beside what was typed stands what is told now; sent again, it replaces that."""
    known.refresh_from_db()
    form.data = {**dict(form.data.items()), "version": str(known.version)}


def history(incident: Incident) -> list[dict[str, Any]]:
    """The versions of an incident, for the timeline; the newest first."""
    language = get_language() or "en"
    return [
        {
            "when": each.at,
            "who": gettext("account %(id)d") % {"id": each.by_id},
            "kind": "waiting" if each.ended is None else "done",
            "text": f"{_span(each)}: {incidents.in_language(each, language)}",
        }
        for each in incident.versions.order_by("-version")[:50]
    ]


def _span(told_of: IncidentVersion) -> str:
    began = date_format(timezone.localtime(told_of.began), "DATETIME_FORMAT")
    if told_of.ended is None:
        return gettext("from %(began)s, it lasts") % {"began": began}
    ended = date_format(timezone.localtime(told_of.ended), "DATETIME_FORMAT")
    return gettext("from %(began)s to %(ended)s") % {"began": began, "ended": ended}


def standing(_request: HttpRequest) -> str:
    """How many incidents last, for the admin's first page."""
    lasting = Incident.objects.filter(ended=None).count()
    if not lasting:
        return gettext("The status page tells of none that lasts.")
    told_of = ngettext("%(number)d incident lasts.", "%(number)d incidents last.", lasting)
    return told_of % {"number": lasting}
