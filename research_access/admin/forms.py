"""The forms of the decision page: one for each move."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from research_access.admin.decide import APPROVE, ASK, TELL, Move, Said
from research_access.admin.people import language_of
from research_access.models import AccessRequest, SavedReply
from research_access.services.rules import DEFAULT_DAILY_FLOPS, MAX_DAILY_FLOPS, MAX_TEXT

PETA = 10**15
REASONS = {
    APPROVE.code: _("A word along with it"),
    ASK.code: _("Question"),
    TELL.code: _("Message"),
}


class FlopsField(forms.DecimalField):
    """Operations a day, written in PFLOP: 1 PFLOP is 10^15 operations."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            min_value=Decimal(1) / PETA,
            max_value=Decimal(MAX_DAILY_FLOPS) / PETA,
            max_digits=30,
            decimal_places=15,
            localize=True,
            **options,
        )

    def prepare_value(self, value: Any) -> Any:
        """The number without the zeros that its division left."""
        return f"{value.normalize():f}" if isinstance(value, Decimal) else value


class MoveForm(forms.Form):
    """What one move asks for. Its fields carry the move's code as prefix."""

    seen = forms.IntegerField(min_value=0, required=False, widget=forms.HiddenInput)
    reason = forms.CharField(max_length=MAX_TEXT, widget=forms.Textarea(attrs={"rows": 6}))

    def __init__(self, move: Move, data: Any = None, **options: Any) -> None:
        super().__init__(data, prefix=move.code, **options)
        self.move = move
        reason = self.fields["reason"]
        reason.label = REASONS.get(move.code, _("Reason"))
        reason.help_text = _("The person reads it as it stands, so write in their language.")
        reason.required = move.needs_reason
        if move is APPROVE:
            self.fields["quota"] = FlopsField(label=_("Quota, in PFLOP a day"))
            self.order_fields(["quota", "reason", "seen"])

    @property
    def said(self) -> Said:
        """What was put in; call `is_valid` first."""
        quota = self.cleaned_data.get("quota")
        return Said(
            reason=self.cleaned_data.get("reason", ""),
            daily_flops=None if quota is None else int(quota * PETA),
            seen=self.cleaned_data.get("seen"),
        )


def fresh(move: Move, seen: int, request: AccessRequest | None = None) -> MoveForm:
    """The form as the page shows it first; the quota is what was asked for, or the default."""
    asked = request.daily_flops if request is not None else None
    quota = Decimal(DEFAULT_DAILY_FLOPS if asked is None else asked) / PETA
    return MoveForm(move, initial={"seen": seen, "quota": quota})


class BulkForm(MoveForm):
    """One text for several people: a saved reply, which each reads in their language, or words of
    one's own, or both."""

    reply = forms.ModelChoiceField(
        SavedReply.objects.all(),
        required=False,
        label=_("Saved reply"),
        empty_label=_("none"),
        help_text=_("Each person reads it in their own language."),
    )
    field_order = ("quota", "reply", "reason", "seen")

    def __init__(self, move: Move, data: Any = None, **options: Any) -> None:
        super().__init__(move, data, **options)
        self.order_fields(self.field_order)
        self.fields["reason"].required = False
        if "quota" in self.fields:
            self.fields["quota"].required = False
            self.fields["quota"].help_text = _("Empty: for each what it asks for, or the default.")

    def clean(self) -> dict[str, Any]:
        """A text is needed where the move needs one."""
        known: dict[str, Any] = super().clean() or self.cleaned_data
        if self.move.needs_reason and not (known.get("reason") or known.get("reply")):
            self.add_error("reason", _("Write a text or choose a saved reply."))
        return known

    def said_to(self, request: AccessRequest, seen: int) -> Said:
        """What this person is told; the account must come with its person."""
        reply: SavedReply | None = self.cleaned_data.get("reply")
        parts = [reply.text(language_of(request.account)) if reply else "", self.said.reason]
        return replace(self.said, reason="\n\n".join(part for part in parts if part), seen=seen)
