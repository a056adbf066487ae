"""The page to decide on one request, and what it asks while it is open."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _

from goblin_wire.problems import Problem
from gpugoblin_site.sentences import told
from research_access import mail, services
from research_access.admin import decide, facts, forms, viewing
from research_access.admin.decide import Move, Said
from research_access.admin.people import language_of, reviewer_of
from research_access.models import AccessRequest, Decision, SavedReply

if TYPE_CHECKING:
    from research_access.admin.queue import AccessRequestAdmin

TEMPLATE = "admin/research_access/accessrequest/decide.html"
LIVE = "admin/research_access/accessrequest/live.html"
MAX_DIGITS = 18


def answer(admin: AccessRequestAdmin, request: HttpRequest, number: str) -> HttpResponse:
    """Show a request, or do with it what was sent."""
    row = _row(admin, request, number)
    if request.method != "POST":
        viewing.look(row, reviewer_of(request))
        return _page(admin, request, row)
    if not admin.has_change_permission(request, row):
        raise PermissionDenied
    if "undo" in request.POST:
        return _undo(admin, request, row)
    move = decide.MOVES.get(request.POST.get("move", ""))
    return _do(admin, request, row, move) if move else _page(admin, request, row)


def beat(admin: AccessRequestAdmin, request: HttpRequest, number: int) -> HttpResponse:
    """Note that the page is open still; answer with what has changed since."""
    row = _row(admin, request, str(number))
    reviewer = reviewer_of(request)
    viewing.look(row, reviewer)
    shown = whole(request.POST.get("shown", ""))
    live = facts.live_of(row, reviewer, _last(row), shown)
    return render(request, LIVE, {"live": live, "row": row})


def _row(admin: AccessRequestAdmin, request: HttpRequest, number: str) -> AccessRequest:
    key = whole(number)
    rows = admin.get_queryset(request).select_related("account__person")
    row = rows.filter(pk=key).first() if key is not None else None
    if row is None:
        raise Http404
    if not admin.has_view_permission(request, row):
        raise PermissionDenied
    return row


def _do(
    admin: AccessRequestAdmin, request: HttpRequest, row: AccessRequest, move: Move
) -> HttpResponse:
    form = forms.MoveForm(move, request.POST)
    if "insert" in request.POST:
        return _page(admin, request, row, _inserted(form, request, row))
    if not form.is_valid():
        return _page(admin, request, row, form, status=HTTPStatus.UNPROCESSABLE_ENTITY)
    if "preview" in request.POST:
        return _page(admin, request, row, form, preview=_preview(move, row, form.said, request))
    try:
        decide.make(move, row, reviewer_of(request), form.said)
    except Problem as problem:
        # Read again: what a colleague decided meanwhile stands on the page, the text is kept.
        fresh = _row(admin, request, str(row.pk))
        return _page(admin, request, fresh, form, problem=problem)
    return HttpResponseRedirect(f"{request.path}#live")


def _undo(admin: AccessRequestAdmin, request: HttpRequest, row: AccessRequest) -> HttpResponse:
    number = whole(request.POST["undo"])
    made = Decision.objects.filter(request=row).select_related("request")
    decision = made.filter(pk=number).first() if number is not None else None
    if decision is None:
        raise Http404
    try:
        services.undo(decision, reviewer_of(request))
    except Problem as problem:
        return _page(admin, request, _row(admin, request, str(row.pk)), problem=problem)
    return HttpResponseRedirect(f"{request.path}#live")


def _inserted(form: forms.MoveForm, request: HttpRequest, row: AccessRequest) -> forms.MoveForm:
    """The form with a saved reply added to the text, in the language of the applicant."""
    name = form.add_prefix("reason")
    data = request.POST.copy()
    number = whole(request.POST.get("reply", ""))
    reply = SavedReply.objects.filter(pk=number).first() if number is not None else None
    if reply is not None:
        written = data.get(name, "").strip()
        added = reply.text(language_of(row.account))
        data[name] = f"{written}\n\n{added}" if written else added
    return forms.MoveForm(form.move, data, use_required_attribute=False)


def _preview(
    move: Move, row: AccessRequest, said: Said, request: HttpRequest
) -> dict[str, Any] | None:
    language = language_of(row.account)
    if move.to is None:
        return {"text": mail.preview_message(row, said.reason, language), "language": language}
    decision = Decision(
        request=row,
        actor=reviewer_of(request),
        from_state=row.state,
        to_state=move.to.value,
        reason=said.reason,
        daily_flops=said.daily_flops,
    )
    return {"text": mail.preview(row, decision, language), "language": language}


def _page(
    admin: AccessRequestAdmin,
    request: HttpRequest,
    row: AccessRequest,
    form: forms.MoveForm | None = None,
    *,
    preview: dict[str, Any] | None = None,
    problem: Problem | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    known = facts.facts_of(row, reviewer_of(request))
    if form is not None:
        known |= _kept(known["panels"], form, refused=problem is not None)
    context = admin.admin_site.each_context(request) | known
    context |= {
        "title": str(row),
        "opts": admin.opts,
        "chosen": form.move.code if form else "",
        "preview": preview,
        "problem": told(problem) if problem else "",
        "reads_in": _language_name(known["reads"]),
    }
    return render(request, TEMPLATE, context, status=problem.status if problem else status)


def _kept(panels: list[forms.MoveForm], form: forms.MoveForm, *, refused: bool) -> dict[str, Any]:
    """What was typed in place of the fresh form, or beside the forms where that move is gone.

    After a refusal the reviewer has read what stands, so the form knows that decision now.
    """
    fresh = next((panel for panel in panels if panel.move is form.move), None)
    if fresh is None:
        return {"left_over": form.data.get(form.add_prefix("reason"), "")}
    if refused:
        typed = {name: form.data[name] for name in form.data}
        form.data = typed | {form.add_prefix("seen"): str(fresh.initial["seen"])}
    return {"panels": [form if panel is fresh else panel for panel in panels]}


def _language_name(code: str) -> str:
    return {"vi": _("Vietnamese"), "en": _("English")}.get(code, code)


def _last(row: AccessRequest) -> Decision | None:
    return row.decisions.select_related("actor__person").order_by("-id").first()


def whole(text: str) -> int | None:
    """The number that a text is; None where it is none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_DIGITS else None
