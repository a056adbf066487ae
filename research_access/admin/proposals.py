"""Proposals for the catalogue in the admin: read, answered, moved; the answer leaves by mail."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Case, QuerySet, When
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts import admin_doors
from accounts.admin_search import FoldedSearch
from accounts.admin_site import MovedByServices
from goblin_wire.problems import Problem
from gpugoblin_site import readable
from gpugoblin_site.sentences import told
from research_access import services
from research_access.admin.page import whole
from research_access.admin.people import called, language_of, reviewer_of
from research_access.models import PROPOSAL_MOVES, Proposal, ProposalState
from research_access.services import proposals as rules
from research_access.services.rules import MAX_TEXT

if TYPE_CHECKING:
    ProposalAdminBase = admin.ModelAdmin[Proposal]
    AnswerFormBase = forms.ModelForm[Proposal]
else:
    ProposalAdminBase = admin.ModelAdmin
    AnswerFormBase = forms.ModelForm

WIDE = forms.TextInput(attrs={"size": 80, "autocomplete": "off"})
TOLD = ("person", "reads", "written_what", "written_purpose", "written_reference", "written_size")


class AnswerForm(AnswerFormBase):
    """What a reviewer makes of a proposal; what is refused says so before anything is kept."""

    reviewer: Any
    """Set by the admin for each request."""
    to = forms.ChoiceField(label=_("Move to"), widget=forms.RadioSelect)
    answer = forms.CharField(
        label=_("Answer to the proposer"),
        max_length=MAX_TEXT,
        strip=True,
        widget=forms.Textarea(attrs={"rows": 6, "cols": 80}),
        help_text=_("It leaves by mail at once and is kept for good, so it names nobody."),
    )

    class Meta:
        model = Proposal
        fields = ("title_en", "title_vi")
        widgets = {"title_en": WIDE, "title_vi": WIDE}  # noqa: RUF012  (Django's own form)
        help_texts = {  # noqa: RUF012
            "title_en": _("What everybody reads in the catalogue. In your words, without a name."),
            "title_vi": _("The same in Vietnamese."),
        }

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        choice = self.fields["to"]
        assert isinstance(choice, forms.ChoiceField)  # noqa: S101
        after = PROPOSAL_MOVES[ProposalState(self.instance.state)]
        choice.choices = [(state.value, state.label) for state in after]

    def clean(self) -> dict[str, Any]:
        known: dict[str, Any] = super().clean() or self.cleaned_data
        if not self.errors:
            # Locked, so that what is checked here is what is moved at the end of the request.
            row = rules.locked_proposal(self.instance.pk)
            try:
                rules.checked_answer(row, self.reviewer, self.said)
            except Problem as problem:
                raise forms.ValidationError(told(problem)) from None
        return known

    @property
    def said(self) -> services.Answer:
        """The answer of a form whose fields are fit."""
        given = self.cleaned_data
        to = ProposalState(given["to"])
        return services.Answer(to, given["answer"], given["title_en"], given["title_vi"])


@admin.register(Proposal)
class ProposalAdmin(FoldedSearch, MovedByServices, ProposalAdminBase):
    """Those that wait first, the oldest at the top."""

    form = AnswerForm
    list_display = ("label", "person", "state", "created")
    list_filter = ("state",)
    list_select_related = ("account__person",)
    list_per_page = 50
    show_full_result_count = False
    ordering = (Case(When(state=ProposalState.OPEN, then=0), default=1), "id")
    search_fields = folded_fields = ("what", "title_en", "title_vi")
    readonly_fields = (*TOLD, "state", "created", "history")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Proposal]:
        return super().get_queryset(request).select_related("account__person")

    def has_change_permission(self, request: HttpRequest, obj: Proposal | None = None) -> bool:
        """One that is built or withdrawn is finished: it can be read only."""
        may: bool = super().has_change_permission(request, obj)
        return may and (obj is None or bool(PROPOSAL_MOVES[ProposalState(obj.state)]))

    def get_fieldsets(self, request: HttpRequest, obj: Proposal | None = None) -> Any:
        told = (*TOLD, "created", "state", "history")
        if not self.has_change_permission(request, obj):
            return [(None, {"fields": (*told, "title_en", "title_vi")})]
        acts = {"fields": ("to", "title_en", "title_vi", "answer")}
        return [(None, {"fields": told}), (gettext("Your answer"), acts)]

    def get_form(
        self,
        request: HttpRequest,
        obj: Proposal | None = None,
        change: bool = False,
        **options: Any,
    ) -> Any:
        """The form of this reviewer."""
        made = super().get_form(request, obj, change, **options)
        return type("AnswerOfReviewer", (made,), {"reviewer": reviewer_of(request)})

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """One button: an answer is sent, and not sent and edited on. Who answers what its proposer
        or a colleague has closed meanwhile reads what it is now."""
        if request.method == "POST" and self._is_closed(request, object_id):
            return HttpResponseRedirect(request.path)
        shown = {"title": gettext("Proposal"), "show_save_and_continue": False}
        return super().changeform_view(request, object_id, form_url, shown | (extra_context or {}))

    def _is_closed(self, request: HttpRequest, object_id: str | None) -> bool:
        """Whether nobody can answer any more; said on the next page."""
        number = whole(object_id or "")
        row = None if number is None else Proposal.objects.filter(pk=number).first()
        try:
            if row is not None and self.has_view_permission(request, row):
                rules.require_moves(row)
        except Problem as problem:
            messages.error(request, told(problem))
            return True
        return False

    def save_model(self, request: HttpRequest, obj: Proposal, form: Any, _change: bool) -> None:
        services.answer_proposal(obj, reviewer_of(request), form.said)

    def response_change(self, request: HttpRequest, _obj: Proposal) -> HttpResponse:
        messages.success(request, gettext("Answered. The mail is on its way."))
        return HttpResponseRedirect(request.path)

    @admin.display(description=_("what is needed"), ordering="id")
    def label(self, row: Proposal) -> str:
        return row.what or gettext("(erased with its account)")

    @admin.display(description=_("proposed by"))
    def person(self, row: Proposal) -> str:
        return called(row.account)

    @admin.display(description=_("reads"))
    def reads(self, row: Proposal) -> str:
        names = {"vi": gettext("Vietnamese"), "en": gettext("English")}
        code = language_of(row.account)
        return names.get(code, code)

    @admin.display(description=_("what is needed"))
    def written_what(self, row: Proposal) -> SafeString:
        return _written(row.what)

    @admin.display(description=_("what for"))
    def written_purpose(self, row: Proposal) -> SafeString:
        return _written(row.purpose)

    @admin.display(description=_("reference"))
    def written_reference(self, row: Proposal) -> SafeString:
        return _written(row.reference)

    @admin.display(description=_("size"))
    def written_size(self, row: Proposal) -> SafeString:
        return _written(row.size)

    @admin.display(description=_("history"))
    def history(self, row: Proposal) -> SafeString | str:
        moves = row.moves.select_related("actor__person").order_by("id")
        told = (
            (
                readable.ago(move.created),
                called(move.actor),
                move.get_to_state_display(),
                _written(move.answer),
            )
            for move in moves
        )
        line = '<p>{}, <bdi translate="no">{}</bdi>: {}<br>{}</p>'
        return format_html_join("", line, told) or gettext("Nobody has answered yet.")


def _written(text: str) -> SafeString:
    """A text as somebody wrote it, its lines kept."""
    lines = format_html_join("", "{}<br>", ((line,) for line in text.split("\n")))
    return format_html('<bdi translate="no">{}</bdi>', lines) if text else SafeString("-")


def waiting(_request: HttpRequest) -> str:
    """How many wait for an answer."""
    rows = Proposal.objects.filter(state=ProposalState.OPEN).count()
    if not rows:
        return gettext("No proposal waits for an answer.")
    told = ngettext(
        "%(number)d proposal waits for an answer.", "%(number)d proposals wait for an answer.", rows
    )
    return told % {"number": rows}


admin_doors.add(
    admin_doors.Door(
        "admin:research_access_proposal_changelist",
        _("Proposals"),
        "research_access.view_proposal",
        waiting,
        rank=15,
    )
)
