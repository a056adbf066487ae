"""What people type on the pages of requests and labs."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.fields import TextField
from research_access.models import AccessRequest, Kind
from research_access.services.labs import MAX_NAME
from research_access.services.requests import commercial
from research_access.services.rules import MAX_TEXT

PFLOP = 10**15
MOST_PFLOP = 9000
"""What the database's numbers hold, rounded down."""
AUTOSAVED = {"autocomplete": "off"}


def _quota_field(**options: Any) -> forms.DecimalField:
    return forms.DecimalField(
        min_value=Decimal("0.001"),
        max_value=MOST_PFLOP,
        decimal_places=3,
        widget=forms.NumberInput(attrs={"inputmode": "decimal", "autocomplete": "off"}),
        **options,
    )


def flops_of(pflop: Decimal | None) -> int | None:
    """Operations, of a field in PFLOP."""
    return None if pflop is None else int(pflop * PFLOP)


class RequestForm(forms.Form):
    """A request for access. With `partial` nothing has to be filled in: for keeping a draft."""

    name = TextField(
        label=_("Name"),
        max_length=200,
        help_text=_("As your institution knows you."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    institution = TextField(
        label=_("Institution"),
        max_length=200,
        widget=forms.TextInput(attrs={"autocomplete": "organization"}),
    )
    position = TextField(
        label=_("Position"),
        max_length=120,
        help_text=_("For instance: doctoral student, lecturer, research engineer."),
        widget=forms.TextInput(attrs={"autocomplete": "organization-title"}),
    )
    web_page = TextField(
        label=_("Web page"),
        max_length=500,
        required=False,
        help_text=_("A page of your institution, your group or your own that shows your work."),
        widget=forms.TextInput(attrs={"autocomplete": "url", "inputmode": "url"}),
    )
    field = TextField(
        label=_("Field of research"), max_length=200, widget=forms.TextInput(attrs=AUTOSAVED)
    )
    purpose = TextField(
        label=_("What will be computed"),
        max_length=10_000,
        help_text=_(
            "What for, and why it is too large for what you have. A few sentences are enough;"
            " the reviewers are not of your field."
        ),
        widget=forms.Textarea(attrs={"rows": 7}),
    )
    kinds = forms.MultipleChoiceField(
        label=_("Which kinds of the catalogue"),
        choices=Kind.choices,
        widget=forms.CheckboxSelectMultiple,
        help_text=_(
            "Today the network computes products of matrices. The other kinds are planned and can't"
            " be used yet; tick them if you would."
        ),
    )
    size = TextField(
        label=_("Size"),
        max_length=2000,
        help_text=_(
            "Shapes, types and how many, for instance: 20 products of matrices with 100,000 rows"
            " and columns, in float32."
        ),
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    daily_pflop = _quota_field(
        label=_("Operations a day, in PFLOP"),
        required=False,
        help_text=_(
            "Leave it empty for the usual 1,000 PFLOP (10¹⁸ operations) a day. One product of two"
            " matrices with 100,000 rows and columns takes 2 PFLOP."
        ),
    )
    no_confidential = forms.BooleanField(
        label=_(
            "I will send no confidential data: none about persons, patients or customers, nothing"
            " under a duty of secrecy. Numbers are not encrypted while volunteers compute on them."
        )
    )
    noncommercial = forms.ChoiceField(
        label=_("What is it for?"),
        choices=[
            ("yes", _("Research, teaching or another non-commercial use")),
            ("no", _("Commercial use")),
        ],
        widget=forms.RadioSelect,
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, partial: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        if partial:
            for field in self.fields.values():
                field.required = False

    def show_as_needed(self) -> None:
        """Call the fields optional that are, also where a draft was checked."""
        for name, field in self.fields.items():
            field.required = self.base_fields[name].required

    def clean_noncommercial(self) -> str:
        """Refuse a commercial answer, once the request is to be sent."""
        answer: str = self.cleaned_data["noncommercial"]
        if answer == "no" and self.fields["noncommercial"].required:
            raise forms.ValidationError(commercial())
        return answer

    def clean_web_page(self) -> str:
        """People leave the scheme out."""
        address: str = self.cleaned_data["web_page"].strip()
        if self.fields["name"].required and address and "://" not in address:
            return f"https://{address}"
        return address

    def answers(self) -> dict[str, Any]:
        """What is fit to be kept of the fields that were sent, as `save_draft` takes it.

        A text that did not come with the form (a file came in its place) is left as it was.
        """
        given = dict(self.cleaned_data)
        given.pop("version", None)
        kept = {name: value for name, value in given.items() if self._was_sent(name)}
        if "daily_pflop" in kept:
            kept["daily_flops"] = flops_of(kept.pop("daily_pflop"))
        if "noncommercial" in kept:
            kept["noncommercial"] = {"yes": True, "no": False}.get(kept["noncommercial"])
        return kept

    def _was_sent(self, name: str) -> bool:
        # Boxes that are not ticked are not sent; the form always sends its version.
        boxes = name in ("kinds", "no_confidential", "noncommercial")
        return self.add_prefix("version" if boxes else name) in self.data


def answers_of(request: AccessRequest) -> dict[str, Any]:
    """What a request holds, as the fields of `RequestForm` show it."""
    shown = {name: getattr(request, name) for name in RequestForm.base_fields if name in SHOWN}
    flops = request.daily_flops
    return shown | {
        "daily_pflop": None if flops is None else f"{Decimal(flops) / PFLOP:f}",
        "noncommercial": {True: "yes", False: "no", None: ""}[request.noncommercial],
    }


SHOWN = {
    "name",
    "institution",
    "position",
    "web_page",
    "field",
    "purpose",
    "kinds",
    "size",
    "no_confidential",
    "version",
}


class MessageForm(forms.Form):
    """A message about a request; `answer` where it answers a question."""

    text = TextField(
        label=_("Your message"), max_length=MAX_TEXT, widget=forms.Textarea(attrs={"rows": 5})
    )

    def __init__(self, *args: Any, answer: bool = False, **options: Any) -> None:
        super().__init__(*args, **options)
        if answer:
            self.fields["text"].label = _("Your answer")


class ProposalForm(forms.Form):
    """A proposal for the catalogue; the lengths are those that `services.propose` takes."""

    what = TextField(
        label=_("What is missing"),
        max_length=200,
        help_text=_(
            "An operator, a type of number or a kind of computation, for instance: sparse matrix"
            " times dense matrix."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    purpose = TextField(
        label=_("What for"),
        max_length=MAX_TEXT,
        help_text=_("What you would compute with it, and how you do it today."),
        widget=forms.Textarea(attrs={"rows": 5}),
    )
    reference = TextField(
        label=_("Where it is described"),
        max_length=500,
        required=False,
        help_text=_("A paper, a function of a library, a page."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    size = TextField(
        label=_("How large"),
        max_length=500,
        required=False,
        help_text=_("Shapes, types and how many, as far as you know them."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )


class LabForm(forms.Form):
    """A new lab."""

    name = TextField(
        label=_("Name of the lab"),
        max_length=MAX_NAME,
        help_text=_("Its members, whom you invite and the operators read it. Volunteers never do."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    daily_pflop = _quota_field(
        label=_("Its share, in PFLOP a day"),
        required=False,
        help_text=_("Leave it empty to give it all that is left."),
    )


class ShareForm(forms.Form):
    """A lab's share of what was approved."""

    daily_pflop = _quota_field(label=_("Its share, in PFLOP a day"))


class InvitationForm(forms.Form):
    """Whom to invite."""

    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )


class TokenForm(forms.Form):
    """What a new token is for."""

    label = TextField(
        label=_("What it is for"),
        max_length=120,
        help_text=_("For instance the name of the machine that will use it."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
