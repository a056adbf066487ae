"""The same decision on several requests: asked for on one page, then made for each alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.db.models import Max, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from goblin_wire.problems import Problem
from gpugoblin_site.sentences import told
from research_access.admin import decide, forms
from research_access.admin.decide import Move
from research_access.admin.people import reviewer_of
from research_access.models import AccessRequest
from research_access.words import state_kind, state_words

if TYPE_CHECKING:
    from research_access.admin.queue import AccessRequestAdmin

MOST = 100
"""So many at once; each is a transaction with a mail."""
TEMPLATE = "admin/research_access/accessrequest/bulk.html"


def ask_or_do(
    admin: AccessRequestAdmin, request: HttpRequest, chosen: QuerySet[AccessRequest], move: Move
) -> HttpResponse | None:
    """An action of the queue. Its page carries which decision was the last one of each request, so
    that nobody decides on what a colleague has decided meanwhile."""
    if "rows" not in request.POST:
        return _ask(admin, request, chosen, forms.BulkForm(move))
    form = forms.BulkForm(move, request.POST)
    seen = _seen(request.POST["rows"])
    rows = admin.get_queryset(request).filter(pk__in=seen)
    if not form.is_valid():
        return _ask(admin, request, rows, form, seen)
    ordered = rows.select_related("account__person").order_by("submitted", "id")
    _do(request, form, [(row, seen[row.pk]) for row in ordered])
    return None


def _ask(
    admin: AccessRequestAdmin,
    request: HttpRequest,
    chosen: QuerySet[AccessRequest],
    form: forms.BulkForm,
    seen: dict[int, int] | None = None,
) -> HttpResponse | None:
    last = Max("decisions__id")
    rows = list(chosen.order_by("submitted", "id").annotate(last=last)[: MOST + 1])
    if len(rows) > MOST:
        messages.error(request, _("At most %(most)d at once: choose fewer.") % {"most": MOST})
        return None
    known = seen or {row.pk: row.last or 0 for row in rows}
    context: dict[str, Any] = admin.admin_site.each_context(request) | {
        "title": form.move.all_label,
        "opts": admin.opts,
        "form": form,
        "rows": [_shown(row, form.move) for row in rows],
        "packed": ",".join(f"{pk}:{last}" for pk, last in known.items()),
        "checkbox": ACTION_CHECKBOX_NAME,
        "action": request.POST.get("action", ""),
    }
    return render(request, TEMPLATE, context)


def _shown(row: AccessRequest, move: Move) -> dict[str, Any]:
    return {
        "pk": row.pk,
        "name": str(row),
        "kind": state_kind(row.state),
        "state": state_words(row.state),
        "possible": move in decide.possible(row),
    }


def _seen(packed: str) -> dict[int, int]:
    """From `request:decision,...`; what is no such pair is left out."""
    found: dict[int, int] = {}
    for pair in packed.split(",")[:MOST]:
        number, _colon, last = pair.partition(":")
        if all(part.isascii() and part.isdigit() and len(part) <= 18 for part in (number, last)):
            found[int(number)] = int(last)
    return found


def _do(request: HttpRequest, form: forms.BulkForm, rows: list[tuple[AccessRequest, int]]) -> None:
    """Decide on each; what was refused is told one by one."""
    done = 0
    for row, seen in rows:
        try:
            decide.make(form.move, row, reviewer_of(request), form.said_to(row, seen))
        except Problem as problem:
            messages.error(request, f"{row}: {told(problem)}")
        else:
            done += 1
    if done:
        success = ngettext(
            "%(number)d request decided. The mail leaves in 2 minutes; until then it can be undone"
            " on the request's page.",
            "%(number)d requests decided. The mails leave in 2 minutes; until then each can be"
            " undone on its page.",
            done,
        )
        messages.success(request, success % {"number": done})
