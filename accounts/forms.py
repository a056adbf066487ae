"""Forms of log-in and of the account page."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from accounts.addresses import folded
from accounts.fields import TextField
from accounts.models.account import NAME_MOST, SHOWN_NAME_MOST
from accounts.text import clean_name
from accounts.zones import time_zones
from goblin_wire.problems import BadMessage

SELECTED = SafeString(" selected")
MOST_TYPED = 64
"""Codes are shorter, but people paste more than the code."""


class EmailForm(forms.Form):
    """The one form that signs up and logs in."""

    email = forms.EmailField(
        label=_("E-mail address"),
        max_length=254,
        error_messages={
            "required": _("Type your e-mail address."),
            "invalid": _("This is not an e-mail address."),
        },
        widget=forms.EmailInput(attrs={"autocomplete": "email", "spellcheck": "false"}),
    )

    def clean_email(self) -> str:
        try:
            return folded(self.cleaned_data["email"])
        except BadMessage:
            raise forms.ValidationError(_("This is not an e-mail address.")) from None


class CodeForm(forms.Form):
    """A code that was sent, or that an app on a telephone shows."""

    code = forms.CharField(
        label=_("Code"),
        max_length=MOST_TYPED,
        error_messages={"required": _("Type the code.")},
        widget=forms.TextInput(
            attrs={
                "autocomplete": "one-time-code",
                "inputmode": "numeric",
                "spellcheck": "false",
                "maxlength": MOST_TYPED,
            }
        ),
    )


class LongSelect(forms.Select):
    """A choice among hundreds, written at once: Django would render a template for each."""

    def render(
        self,
        name: str,
        value: Any,
        attrs: dict[str, Any] | None = None,
        renderer: Any = None,  # noqa: ARG002 - Django names it
    ) -> SafeString:
        attributes = flatatt(self.build_attrs(self.attrs, {**(attrs or {}), "name": name}))
        options = format_html_join(
            "",
            '<option value="{}"{}>{}</option>',
            ((key, SELECTED if key == value else "", label) for key, label in self.choices),
        )
        return format_html("<select{}>{}</select>", attributes, options)


class ProfileForm(forms.Form):
    """What an account shows and how pages speak to it."""

    name = TextField(
        label=_("Name"),
        max_length=NAME_MOST,
        required=False,
        help_text=_("As you write it yourself. Reviewers and the members of your labs see it."),
        widget=forms.TextInput(attrs={"autocomplete": "name"}),
    )
    shown_name = TextField(
        label=_("Name on the leaderboard"),
        max_length=SHOWN_NAME_MOST,
        required=False,
        help_text=_("Everybody can read it there. Leave it empty and you are not listed."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    language = forms.ChoiceField(
        label=_("Language"),
        choices=settings.LANGUAGES,
        help_text=_("Of the pages and of the mails to you."),
    )
    time_zone = forms.ChoiceField(
        label=_("Time zone"),
        help_text=_("Times on the pages are shown in it."),
        widget=LongSelect(attrs={"translate": "no"}),
    )

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]
        self.fields["time_zone"].choices = [(name, name.replace("_", " ")) for name in time_zones()]  # type: ignore[attr-defined]

    def clean_name(self) -> str:
        return clean_name(self.cleaned_data["name"], NAME_MOST)

    def clean_shown_name(self) -> str:
        return clean_name(self.cleaned_data["shown_name"], SHOWN_NAME_MOST)
