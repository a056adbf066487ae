"""API tokens: one form, only a hash of the secret is kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire.tokens import Scope, new_token, secret_hash, secret_matches, split_token


@pytest.mark.parametrize("scope", list(Scope))
def test_a_fresh_token_has_its_parts(scope: Scope) -> None:
    token = new_token(scope)
    parts = split_token(token)
    assert parts is not None
    assert parts.scope is scope
    assert token.endswith(parts.secret)
    assert parts.prefix in token
    assert new_token(scope) != token


@given(st.text(max_size=80))
def test_no_other_text_is_a_token(text: str) -> None:
    assert split_token(text) is None


@given(st.sampled_from(list(Scope)), st.integers(0, 63), st.characters())
def test_a_longer_or_damaged_token_is_none(scope: Scope, place: int, letter: str) -> None:
    token = new_token(scope)
    assert split_token(token[:place] + letter + token[place:]) is None


def test_a_line_break_at_the_end_is_no_part_of_a_token() -> None:
    assert split_token(new_token(Scope.LAB) + "\n") is None


def test_only_the_right_secret_matches() -> None:
    stored = secret_hash("a" * 43)
    assert secret_matches("a" * 43, stored)
    assert not secret_matches("b" * 43, stored)
    assert "a" * 43 not in stored
