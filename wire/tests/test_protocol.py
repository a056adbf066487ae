"""Versions: too old and too new are refused with a sentence."""

from __future__ import annotations

import pytest

from goblin_wire import data, protocol
from goblin_wire.problems import UnsupportedProtocol


def test_the_own_version_is_understood() -> None:
    protocol.require_protocol(protocol.PROTOCOL)


@pytest.mark.parametrize("spoken", [-1, 0, protocol.PROTOCOL + 1, 10**9])
def test_row_28_another_version_is_refused_with_both_numbers(spoken: int) -> None:
    with pytest.raises(UnsupportedProtocol, match=f"speaks {spoken}.*Install"):
        protocol.require_protocol(spoken)


def test_a_probe_binds_lab_and_nonce() -> None:
    assert data.probe_bytes("a", "b:c") == b"goblin-probe:a:b:c"
