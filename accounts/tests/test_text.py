"""Names: composed and decomposed, with marks, emoji, directions and controls."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts.text import STACKED_MOST, clean_name, fold, has_towers

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


TOWER = "Z" + "\u0301\u0316" * 25


def test_a_tower_of_marks_is_cut_down() -> None:
    assert clean_name(f"{TOWER}oe", 200) == "\u0179" + "\u0316" * STACKED_MOST + "oe"
    with_joiners = "Z" + "\u0316\u200d" * 25
    assert sum(c == "\u0316" for c in clean_name(with_joiners, 200)) == STACKED_MOST
    assert has_towers(TOWER)


@pytest.mark.parametrize(
    "name",
    [
        NAME,
        unicodedata.normalize("NFD", NAME),
        "\u05d1\u05bc\u05b0\u05e8\u05b5\u05d0\u05e9\u05c1\u05b4\u0596\u05d9\u05ea",  # Hebrew
        "\u0f56\u0f66\u0f92\u0fb2\u0f74\u0f56\u0f66",  # Tibetan
        "\u0e19\u0e49\u0e33\u0e17\u0e35\u0e48",  # Thai
        "\u0645\u064f\u062d\u064e\u0645\u0651\u064e\u062f",  # Arabic
        "1\ufe0f\u20e3",
    ],
)
def test_scripts_with_many_marks_stay(name: str) -> None:
    assert not has_towers(name)
    assert clean_name(name, 200) == unicodedata.normalize("NFC", name)


@given(st.text(max_size=50))
def test_both_are_at_rest(text: str) -> None:
    name = clean_name(text, 200)
    assert clean_name(name, 200) == name
    assert fold(fold(text)) == fold(text)
    assert fold(unicodedata.normalize("NFD", text)) == fold(unicodedata.normalize("NFC", text))
