"""Longer texts as people paste them, made fit to be kept and shown."""

from __future__ import annotations

import unicodedata

from accounts.text import is_seen, with_few_marks

_JOINERS = "\u200c\u200d"
"""Format characters that belong to letters of Persian or to an emoji."""


def clean_text(text: str) -> str:
    """NFC with lines kept: no control, direction or private characters, no spaces at the ends,
    no towers of marks.

    A text in which nothing can be seen is empty.
    """
    if not is_seen(text):
        return ""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ").split("\n")
    kept = ("".join(filter(_printed, line)).rstrip() for line in lines)
    return with_few_marks(unicodedata.normalize("NFC", "\n".join(kept))).strip()


def _printed(character: str) -> bool:
    return unicodedata.category(character)[0] != "C" or character in _JOINERS
