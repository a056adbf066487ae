"""Fields of forms that people write into."""

from __future__ import annotations

import unicodedata
from typing import Any

from django import forms
from django.utils.translation import gettext

from accounts.text import STACKED_MOST, has_towers

MARKS_MOST = 2
"""So many marks a letter of Vietnamese carries; some keyboards and files hold them apart."""


class TextField(forms.CharField):
    """Counts characters as they are kept: a letter and its marks are one, however it was typed.
    What is drawn over its neighbours is refused with a sentence."""

    def to_python(self, value: Any) -> str:
        return unicodedata.normalize("NFC", super().to_python(value) or "")

    def validate(self, value: str) -> None:
        super().validate(value)
        if has_towers(value):
            raise forms.ValidationError(
                gettext(
                    "There is a letter with more than %(most)d marks, which would be drawn over the"
                    " lines above and below it."
                )
                % {"most": STACKED_MOST}
            )

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """A browser counts marks apart, and cuts what it takes for too long without a word."""
        attrs = super().widget_attrs(widget)
        if "maxlength" in attrs and self.max_length is not None:
            attrs["maxlength"] = str(self.max_length * (1 + MARKS_MOST))
        return attrs
