"""Bounded fields, and text cut to what they take."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire.fields import Sentence, sentence


@given(st.text(max_size=2000))
def test_any_text_becomes_a_sentence_that_fits(text: str) -> None:
    cut = sentence(text)
    assert len(cut) <= 500
    assert "\n" not in cut
    msgspec.convert(cut, Sentence)


def test_a_short_text_stays() -> None:
    assert sentence("Nothing to do\n yet.") == "Nothing to do yet."
    assert sentence("x" * 600, 10) == "x" * 9 + "…"
