"""Array literals: whatever is in them comes back."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workunits.database import literal, row

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


def back(values: list[Any], kind: str) -> Any:
    found = row(f"SELECT %(values)s::{kind}[] AS found", {"values": values})
    assert found is not None
    return found.found


@pytest.mark.django_db
def test_every_text_comes_back() -> None:
    special = st.sampled_from(["", "NULL", "null", "a,b", '"', "\\", "{", "}", " ", "ok", "x_1"])

    @given(st.lists(TEXT | special | st.none(), max_size=6))
    @settings(max_examples=150, deadline=None)
    def check(values: list[str | None]) -> None:
        assert back(values, "text") == values

    check()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1, -2, 2**53], "bigint"),
        ([1.5, 1e300, 2], "float8"),
        ([True, False], "boolean"),
        ([uuid.uuid4(), uuid.uuid4()], "uuid"),
        ([uuid.uuid4(), None], "uuid"),
        ([None, None], "uuid"),
    ],
)
def test_other_kinds_come_back(values: list[Any], kind: str) -> None:
    assert back(values, kind) == values


def test_an_empty_list_is_an_empty_array() -> None:
    assert literal([]) == "{}"
