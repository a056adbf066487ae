from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgraph import canonical
from opgraph.errors import FormError

REFUSED = {
    "not_json": [
        b"",
        b"{",
        b"nul",
        b"\xef\xbb\xbf{}",
        '{"é":1}'.encode(),
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b"[1,]",
        b"\x00",
    ],
    "duplicate_key": [b'{"a":1,"a":1}', b'[{"b":{"a":1,"a":2}}]'],
    "not_an_integer": [b"1.0", b"1e5", b"NaN", b"[Infinity]", b"-Infinity", b"1e999999999"],
    "integer_too_large": [b"9007199254740992", b"-9007199254740992", b"9" * 100_000],
}


@pytest.mark.parametrize(
    ("code", "data"), [(code, data) for code, examples in REFUSED.items() for data in examples]
)
def test_what_is_not_strict_json_is_refused(code: str, data: bytes) -> None:
    with pytest.raises(FormError) as refusal:
        canonical.decode(data, 1 << 20)
    assert refusal.value.code == code


def test_length_is_checked_before_anything_is_parsed() -> None:
    with pytest.raises(FormError) as refusal:
        canonical.decode(b"[" * 11, 10)
    assert refusal.value.code == "graph_too_long"


def test_the_largest_integer_is_read() -> None:
    assert canonical.decode(b"9007199254740991", 100) == 2**53 - 1


trees = st.recursive(
    st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(trees)
def test_trees_come_back(tree: object) -> None:
    data = canonical.encode(tree)
    assert canonical.decode(data, len(data)) == tree
    assert data.isascii()


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with contextlib.suppress(FormError):
        canonical.decode(data, 1 << 20)


@given(st.floats())
def test_a_float_has_one_text(value: float) -> None:
    text = canonical.float_to_text(value)
    again = canonical.text_to_float(text)
    assert canonical.float_to_text(again) == text
    assert (math.isnan(value) and math.isnan(again)) or value == again


@pytest.mark.parametrize("text", ["", "x", "0x" + "1" * 40, "1e999", "0x1p99999"])
def test_texts_that_are_no_number_are_refused(text: str) -> None:
    with pytest.raises(FormError):
        canonical.text_to_integer(text)
    if text != "1e999":
        with pytest.raises(FormError):
            canonical.text_to_float(text)
