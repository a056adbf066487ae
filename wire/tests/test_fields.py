"""Bounded fields, and text cut to what they take."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire.codec import decode
from goblin_wire.exchange import Returned
from goblin_wire.fields import LongSentence, Sentence, ShortText, sentence
from goblin_wire.problems import BadMessage


@given(st.text(max_size=2000))
def test_any_text_becomes_a_sentence_that_fits(text: str) -> None:
    cut = sentence(text)
    assert len(cut) <= 500
    assert "\n" not in cut
    msgspec.convert(cut, Sentence)


@pytest.mark.parametrize(
    "text",
    ["\x1b[2J", "a\u0007", "\u009b31m", "\u202egnp.exe", "one\ntwo", "\x7f", "\u2066x", "x\n"],
)
def test_text_that_steers_a_terminal_is_refused_on_the_wire(text: str) -> None:
    for kind in (Sentence, ShortText, LongSentence):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(text, kind)
        msgspec.convert(sentence(text, 200), kind)
    message = {"lease": "a" * 32, "code": "failed", "detail": text}
    with pytest.raises(BadMessage):
        decode(msgspec.json.encode(message), Returned)


def test_text_of_any_language_passes() -> None:
    for text in ("Grüße, 你好, שלום, สวัสดี", "λ ≤ 3 µs - “quoted”", ""):
        msgspec.convert(text, Sentence)


def test_a_short_text_stays() -> None:
    assert sentence("Nothing to do\n yet.") == "Nothing to do yet."
    assert sentence("x" * 600, 10) == "x" * 9 + "…"
