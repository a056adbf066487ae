"""Fields of forms that people write into."""

from __future__ import annotations

import unicodedata
from typing import Any

from django import forms

MARKS_MOST = 2
"""So many marks a letter of Vietnamese carries; some keyboards and files hold them apart."""


class TextField(forms.CharField):
    """Counts characters as they are kept: a letter and its marks are one, however it was typed."""

    def to_python(self, value: Any) -> str:
        return unicodedata.normalize("NFC", super().to_python(value) or "")

    def widget_attrs(self, widget: forms.Widget) -> dict[str, Any]:
        """A browser counts marks apart, and cuts what it takes for too long without a word."""
        attrs = super().widget_attrs(widget)
        if "maxlength" in attrs and self.max_length is not None:
            attrs["maxlength"] = str(self.max_length * (1 + MARKS_MOST))
        return attrs
