"""Capabilities: only what was signed, only as long as it lasts."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from goblin_wire.capability import (
    Claims,
    SigningKey,
    issue,
    read,
    signature_is_valid,
)
from goblin_wire.fields import sentence
from goblin_wire.problems import CapabilityExpired, CapabilityInvalid
from goblin_wire.states import LeaseRole

KEY = SigningKey.from_bytes(bytes(range(32)))
OTHER = SigningKey.from_bytes(bytes(32))
KEYS = {KEY.kid: KEY.public}
NOW = 1_800_000_000.0
ids = st.text("0123456789abcdef", min_size=32, max_size=32)


def claims(**changes: object) -> Claims:
    fields: dict[str, object] = {
        "kid": KEY.kid,
        "lab": "1" * 32,
        "lease": "2" * 32,
        "unit": "3" * 32,
        "manifest": "4" * 64,
        "output_bytes": 5,
        "host": "6" * 32,
        "volunteer": "v",
        "issued": NOW,
    }
    return Claims(**{**fields, **changes})  # type: ignore[arg-type]


TOKEN = issue(KEY, claims())


@given(
    lab=ids,
    lease=ids,
    role=st.sampled_from(list(LeaseRole)),
    copy=st.integers(0, 100),
    output_bytes=st.integers(0, 2**53 - 1),
    volunteer=st.text(max_size=200).map(sentence),
)
def test_what_was_signed_is_read(**changes: object) -> None:
    signed = claims(**changes)
    assert read(issue(KEY, signed), KEYS, now=NOW) == signed


@given(st.integers(0, len(TOKEN) - 1), st.characters(codec="utf-8"))
def test_no_character_can_be_changed(place: int, letter: str) -> None:
    changed = TOKEN[:place] + letter + TOKEN[place + 1 :]
    if changed == TOKEN:
        return
    try:
        found = read(changed, KEYS, now=NOW)
    except CapabilityInvalid:
        return
    # The last letter of a base64 text has bits that stand for nothing.
    assert found == claims()
    assert place in (len(TOKEN) - 1,)


@given(st.text(max_size=300))
def test_any_text_is_refused(text: str) -> None:
    with pytest.raises(CapabilityInvalid):
        read(text, KEYS, now=NOW)


@pytest.mark.parametrize("where", ["!", " ", "\n", "=", "*"])
def test_letters_that_base64_does_not_know_are_not_skipped(where: str) -> None:
    body, signature = TOKEN.split(".")
    with pytest.raises(CapabilityInvalid):
        read(f"{body}.{signature[:5]}{where}{signature[5:]}", KEYS, now=NOW)


def test_a_token_is_short() -> None:
    with pytest.raises(CapabilityInvalid):
        read("a" * 5000 + "." + "b" * 86, KEYS, now=NOW)


def test_another_key_signs_nothing_here() -> None:
    with pytest.raises(CapabilityInvalid):
        read(issue(OTHER, claims()), KEYS, now=NOW)
    with pytest.raises(CapabilityInvalid):
        read(issue(OTHER, claims(kid=OTHER.kid)), KEYS, now=NOW)


def test_two_keys_are_valid_during_a_rotation() -> None:
    both = {KEY.kid: KEY.public, OTHER.kid: OTHER.public}
    assert read(issue(OTHER, claims(kid=OTHER.kid)), both, now=NOW).kid == OTHER.kid
    assert read(TOKEN, both, now=NOW).kid == KEY.kid


@pytest.mark.parametrize(
    ("now", "valid"),
    [(NOW - 121, False), (NOW - 119, True), (NOW + 691_319, True), (NOW + 691_321, False)],
)
def test_it_lasts_eight_days_with_two_minutes_of_slack(now: float, valid: bool) -> None:
    if valid:
        assert read(TOKEN, KEYS, now=now) == claims()
    else:
        with pytest.raises(CapabilityExpired):
            read(TOKEN, KEYS, now=now)


def test_claims_that_do_not_parse_are_invalid_even_when_signed() -> None:
    for text in (b"{}", b"[]", b"null", b'{"kid":1}', b"[" * 3000):
        body = base64.urlsafe_b64encode(text).rstrip(b"=").decode()
        signature = base64.urlsafe_b64encode(KEY.sign(body.encode())).rstrip(b"=").decode()
        with pytest.raises(CapabilityInvalid):
            read(f"{body}.{signature}", KEYS, now=NOW)


def test_a_key_survives_its_file() -> None:
    again = SigningKey.from_bytes(KEY.to_bytes())
    assert (again.public, again.kid) == (KEY.public, KEY.kid)
    assert SigningKey.generate().public != SigningKey.generate().public


@pytest.mark.parametrize("key", ["", "zz", "00", KEY.public[:-2]])
def test_a_public_key_that_is_none_verifies_nothing(key: str) -> None:
    assert not signature_is_valid(key, b"m", KEY.sign(b"m"))
    assert not signature_is_valid(KEY.public, b"m", b"short")
    assert signature_is_valid(KEY.public, b"m", KEY.sign(b"m"))
