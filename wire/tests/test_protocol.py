"""Versions: too old and too new are refused with a sentence."""

from __future__ import annotations

import pytest

from goblin_wire import data, protocol
from goblin_wire.problems import BadMessage, UnsupportedProtocol


def test_the_own_version_is_understood() -> None:
    protocol.require_protocol(protocol.PROTOCOL)


@pytest.mark.parametrize("spoken", [-1, 0, protocol.PROTOCOL + 1, 10**9])
def test_row_28_another_version_is_refused_with_both_numbers(spoken: int) -> None:
    with pytest.raises(UnsupportedProtocol, match=f"speaks {spoken}.*Install"):
        protocol.require_protocol(spoken)


@pytest.mark.parametrize("text", [None, "1", str(protocol.PROTOCOL)])
def test_the_header_of_the_own_version_is_understood(text: str | None) -> None:
    protocol.require_protocol_header(text)


@pytest.mark.parametrize("text", ["0", str(protocol.PROTOCOL + 1), "999999999"])
def test_row_28_the_header_of_another_version_is_refused(text: str) -> None:
    with pytest.raises(UnsupportedProtocol, match=f"speaks {text}"):
        protocol.require_protocol_header(text)


@pytest.mark.parametrize("text", ["", "one", "1.0", "-1", "+1", " 1", "1" * 10, "\u0661"])
def test_a_header_that_is_no_number(text: str) -> None:
    with pytest.raises(BadMessage, match="whole number"):
        protocol.require_protocol_header(text)


def test_a_probe_binds_lab_and_nonce() -> None:
    assert data.probe_bytes("a", "b:c") == b"goblin-probe:a:b:c"
