"""What a person may say about a machine."""

from __future__ import annotations

from django import forms
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from accounts.fields import TextField
from accounts.text import clean_name
from workunits.hosts import LABEL_MOST


class LabelForm(forms.Form):
    """Another name for a machine."""

    label = TextField(
        label=pgettext_lazy("machine", "Name"),
        required=False,
        help_text=_(
            "No other volunteer and no lab sees it. Leave it empty to call the machine by its id."
        ),
        widget=forms.TextInput(attrs={"autocomplete": "off", "maxlength": LABEL_MOST}),
    )

    def clean_label(self) -> str:
        label: str = self.cleaned_data["label"]
        if len(label) > LABEL_MOST and len(clean_name(label, len(label))) > LABEL_MOST:
            raise forms.ValidationError(
                _("A name may have at most %(most)s characters."), params={"most": LABEL_MOST}
            )
        return clean_name(label, LABEL_MOST)
