"""Names: composed and decomposed, with marks, emoji, directions and controls."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.text import clean_name, fold

JOINED = "\u0645\u06cc\u200c\u0631\u0632\u0627"
NAME = "Đặng Thị Quỳnh Hương"


@pytest.mark.parametrize("form", ["NFC", "NFD", "NFKC", "NFKD"])
def test_vietnamese_is_found_without_marks(form: str) -> None:
    assert fold(unicodedata.normalize(form, NAME)) == "dang thi quynh huong"  # type: ignore[arg-type]
    assert fold("  đặng   THỊ quynh hương ") == fold(NAME)


def test_decomposed_equals_composed() -> None:
    assert clean_name(unicodedata.normalize("NFD", NAME), 200) == NAME


@pytest.mark.parametrize(
    ("given_name", "clean"),
    [
        ("  Ada\n\tLovelace ", "Ada Lovelace"),
        ("Ada\u202egro.live\u202c", "Adagro.live"),
        ("\u2066Ada\u2069\u200e\u200f\u061c", "Ada"),
        ("A\x00d\x07a\ufeff\u200b", "Ada"),
        ("👩🏽\u200d🔬 Mai", "👩🏽\u200d🔬 Mai"),
        ("<b>Ada</b>", "<b>Ada</b>"),
        (JOINED, JOINED),
        ("\u2028", ""),
        ("\u200d", ""),
        (" \u3164\ufe0f \u2800\u0301", ""),
    ],
)
def test_clean(given_name: str, clean: str) -> None:
    assert clean_name(given_name, 200) == clean


def test_a_long_name_is_cut_between_letters() -> None:
    assert clean_name("ấ" * 300, 200) == "ấ" * 200
    stacked = "x" * 9 + "q\u0323\u0302"
    assert clean_name(stacked, 11) == "x" * 9
    assert clean_name("xx y", 3) == "xx"


@given(st.text(max_size=50))
def test_both_are_at_rest(text: str) -> None:
    name = clean_name(text, 200)
    assert clean_name(name, 200) == name
    assert fold(fold(text)) == fold(text)
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))
