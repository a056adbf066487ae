"""The forms with which operators turn switches and tell of incidents."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.addresses import folded
from accounts.models import Account, Person
from goblin_wire.problems import BadMessage
from research_access.models import Lab
from workunits import incidents, switches
from workunits.admin.base import number_of, uid_of
from workunits.incidents import Telling
from workunits.models import Host, Incident, SwitchKind
from workunits.switches import Subject, Words

KINDS = [
    (SwitchKind.HOST.value, _("one machine")),
    (SwitchKind.ACCOUNT.value, _("all machines of one account")),
    (SwitchKind.VERSION.value, _("all machines with one client version")),
    (SwitchKind.LAB.value, _("one lab: nothing of its work is given out")),
    (SwitchKind.EVERYTHING.value, _("everything: nothing is given out to anybody")),
]


MINUTE = "%Y-%m-%dT%H:%M"
"""As browsers send a minute."""


class SwitchForm(forms.Form):
    """What is switched off, what the people concerned read, and why."""

    kind = forms.ChoiceField(label=_("What is switched off"), choices=KINDS)
    subject = forms.CharField(
        label=_("Which one"),
        required=False,
        max_length=254,
        help_text=_(
            "A machine: its id. An account: its e-mail address or key. A lab: its name or key. A"
            " version: as the list of machines shows it. Everything: leave this empty."
        ),
    )
    sentence_en = forms.CharField(
        label=_("The sentence in English"),
        max_length=switches.MAX_SENTENCE,
        widget=forms.Textarea(attrs={"rows": 3, "lang": "en"}),
        help_text=_("Machines and jobs show it to their people: say what happened and what to do."),
    )
    sentence_vi = forms.CharField(
        label=_("The sentence in Vietnamese"),
        max_length=switches.MAX_SENTENCE,
        widget=forms.Textarea(attrs={"rows": 3, "lang": "vi"}),
    )
    reason = forms.CharField(
        label=_("The reason, for operators"),
        max_length=switches.MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=_("It is kept for good, so name nobody in it."),
    )

    def clean(self) -> dict[str, Any]:
        """Find out what the subject names."""
        cleaned = super().clean() or {}
        kind = cleaned.get("kind")
        if kind is not None and "subject" in cleaned:
            try:
                cleaned["found"] = subject_of(SwitchKind(kind), cleaned["subject"].strip())
            except forms.ValidationError as error:
                self.add_error("subject", error)
        return cleaned

    @property
    def words(self) -> Words:
        data = self.cleaned_data
        return Words(data["sentence_en"], data["sentence_vi"], data["reason"])


class LiftForm(forms.Form):
    """Why a switch is lifted."""

    reason = forms.CharField(
        label=_("Why it is lifted, for operators"),
        max_length=switches.MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 2}),
    )


def moment_field(**options: Any) -> forms.DateTimeField:
    """A minute in the operator's zone, with the browser's own way to choose it."""
    widget = forms.DateTimeInput(attrs={"type": "datetime-local"}, format=MINUTE)
    return forms.DateTimeField(widget=widget, input_formats=[MINUTE], localize=False, **options)


class IncidentForm(forms.Form):
    """What happened, from when to when."""

    began = moment_field(label=_("Began"), help_text=_("In the time zone of your account."))
    ended = moment_field(
        label=_("Ended"), required=False, help_text=_("Leave it empty while it lasts.")
    )
    sentence_en = forms.CharField(
        label=_("The sentence in English"),
        max_length=incidents.MAX_SENTENCE,
        widget=forms.Textarea(attrs={"rows": 3, "lang": "en"}),
        help_text=_(
            "Everybody reads it: say what did not work, for whom, and what became of their work."
        ),
    )
    sentence_vi = forms.CharField(
        label=_("The sentence in Vietnamese"),
        max_length=incidents.MAX_SENTENCE,
        widget=forms.Textarea(attrs={"rows": 3, "lang": "vi"}),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Tell beside the field which of the times can't be."""
        cleaned = super().clean() or {}
        if "began" in cleaned and "ended" in cleaned:
            wrong = incidents.fault_of_times(cleaned["began"], cleaned["ended"])
            if wrong is not None:
                self.add_error(wrong.field, wrong.sentence)
        return cleaned

    @property
    def telling(self) -> Telling:
        data = self.cleaned_data
        return Telling(data["sentence_en"], data["sentence_vi"], data["began"], data["ended"])


def as_typed(incident: Incident) -> dict[str, Any]:
    """An incident, as `IncidentForm` shows it."""
    return {
        "began": incident.began,
        "ended": incident.ended,
        "sentence_en": incident.sentence_en,
        "sentence_vi": incident.sentence_vi,
        "version": incident.version,
    }


def subject_of(kind: SwitchKind, text: str) -> Subject:
    """What an operator's text names. Raises `ValidationError` with a sentence."""
    if kind is SwitchKind.EVERYTHING:
        if text:
            raise forms.ValidationError(gettext("Everything needs no name here."))
        return Subject(kind)
    if not text:
        raise forms.ValidationError(gettext("Say which one."))
    if kind is SwitchKind.VERSION:
        return Subject(kind, version=text)
    found = _FINDERS[kind](text, uid_of(text))
    if not found:
        raise forms.ValidationError(gettext("Nothing with this name was found."))
    if len(found) > 1:
        raise forms.ValidationError(gettext("Several have this name; use the key or the number."))
    return Subject(kind, target=found[0])


def _hosts(text: str, uid: UUID | None) -> list[int]:
    """Copied state directories may share an id; the row's number tells them apart."""
    if uid is not None:
        return _ids(Host.objects.filter(uid=uid))
    return _ids(Host.objects.filter(pk=number_of(text) or 0))


def _accounts(text: str, uid: UUID | None) -> list[int]:
    if uid is not None:
        return _ids(Account.objects.filter(key=uid))
    if "@" in text:
        people = Person.objects.filter(email=_address(text))
        return list(people.values_list("account_id", flat=True)[:2])
    return _ids(Account.objects.filter(pk=number_of(text) or 0))


def _address(text: str) -> str:
    try:
        return folded(text)
    except BadMessage:
        return ""


def _labs(text: str, uid: UUID | None) -> list[int]:
    if uid is not None:
        return _ids(Lab.objects.filter(key=uid))
    return _ids(Lab.objects.filter(name=text))


def _ids(found: Any) -> list[int]:
    return list(found.values_list("pk", flat=True)[:2])


_FINDERS = {SwitchKind.HOST: _hosts, SwitchKind.ACCOUNT: _accounts, SwitchKind.LAB: _labs}
