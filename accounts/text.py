"""Names as people write them, and the form in which they are found."""

from __future__ import annotations

import unicodedata

_BARE = str.maketrans({"đ": "d", "Đ": "D"})
"""The one letter of Vietnamese whose mark Unicode does not take apart."""
_JOINERS = "\u200c\u200d"
"""Format characters that belong to letters of Persian or to an emoji."""
_MARKS = ("Mn", "Me")
"""Categories of marks that take no room of their own."""
STACKED_MOST = 5
"""Marks on one letter, beside those that it has as one character: no script needs more, and fifty
of them are drawn over the neighbours."""
_BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
"""Letters and signs by their category that are drawn as nothing."""


def fold(text: str) -> str:
    """The text without case and marks, `đ` as `d`, spaces as one: for searching, not for showing.

    Composed and decomposed letters give the same.
    """
    bare = unicodedata.normalize("NFD", text.translate(_BARE).casefold())
    kept = "".join(c for c in bare if not unicodedata.combining(c) and _printed(c))
    return unicodedata.normalize("NFC", " ".join(kept.split()))


def clean_name(text: str, most: int) -> str:
    """One line of at most `most` characters: NFC, without control or direction characters.

    Other white space becomes single spaces, marks beyond `STACKED_MOST` on a letter go. What is too
    long is cut, never in the midst of a letter and its marks. A line in which nothing can be seen
    is empty.
    """
    if not is_seen(text):
        return ""
    line = " ".join("".join(c if _printed(c) else _gap(c) for c in text).split())
    composed = with_few_marks(unicodedata.normalize("NFC", line))
    if len(composed) <= most:
        return composed
    end = most
    while end > 0 and (unicodedata.combining(composed[end]) or composed[end] in _JOINERS):
        end -= 1
    return composed[:end].rstrip()


def with_few_marks(text: str) -> str:
    """A composed text without the marks that are beyond `STACKED_MOST` on a letter."""
    kept, height = [], 0
    for character in text:
        if unicodedata.category(character) in _MARKS:
            height += 1
        elif character not in _JOINERS:
            height = 0
        if height <= STACKED_MOST:
            kept.append(character)
    return "".join(kept)


def has_towers(text: str) -> bool:
    """Whether a letter carries more marks than `STACKED_MOST`."""
    composed = unicodedata.normalize("NFC", text)
    return with_few_marks(composed) != composed


def is_seen(text: str) -> bool:
    """Whether something of a text is drawn: a letter, a digit, a sign."""
    return any(unicodedata.category(c)[0] not in "CMZ" and c not in _BLANKS for c in text)


def _printed(character: str) -> bool:
    """Not a control, direction, private, surrogate or unassigned character."""
    return unicodedata.category(character)[0] != "C" or character in _JOINERS


def _gap(character: str) -> str:
    return " " if character.isspace() else ""
