"""Reading at a least speed, sending in pieces, and the words for failures."""

from __future__ import annotations

import socket
import ssl
from typing import Any

import numpy as np
import pytest
import requests
from urllib3.exceptions import MaxRetryError, NewConnectionError, ProtocolError

from goblin_wire import transport


class Raw:
    """A body that hands out one piece per read while the clock goes on."""

    def __init__(self, pieces: list[bytes], step: float) -> None:
        self.pieces, self.step, self.now = pieces, step, 0.0

    def read1(self, size: int, decode_content: bool) -> bytes:
        assert not decode_content
        self.now += self.step
        return self.pieces.pop(0) if self.pieces else b""


def read(raw: Raw) -> list[bytes]:
    response: Any = type("Response", (), {"raw": raw})
    return list(transport.pieces(response, clock=lambda: raw.now))


def test_a_slow_but_fair_link_is_read_to_the_end() -> None:
    pieces = [b"x" * int(transport.SLOWEST_BYTES_PER_S * 11)] * 60
    assert len(read(Raw(list(pieces), step=10.0))) == 60


def test_a_link_below_the_least_speed_is_given_up() -> None:
    with pytest.raises(TimeoutError):
        read(Raw([b"x"] * 60, step=10.0))


def test_a_fast_beginning_does_not_excuse_a_trickle() -> None:
    with pytest.raises(TimeoutError):
        read(Raw([b"x" * 10_000_000, *[b"x"] * 60], step=10.0))


def test_a_body_goes_out_in_pieces_of_its_bytes() -> None:
    array = np.arange(300_000, dtype=np.float64)
    body = transport.Body(array)
    assert len(body) == array.nbytes
    sent = list(body)
    assert b"".join(sent) == array.tobytes()
    assert max(len(piece) for piece in sent) == transport.SEND_BYTES
    assert list(body) == sent, "a retry sends the same again"


def test_a_body_that_is_not_contiguous_is_refused() -> None:
    with pytest.raises((TypeError, BufferError, ValueError)):
        transport.Body(np.arange(10)[::2])


def wrapped(inner: Exception) -> requests.ConnectionError:
    return requests.ConnectionError(MaxRetryError(None, "/wait?ticket=T", inner))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (requests.exceptions.ReadTimeout(), "no answer in time"),
        (requests.ConnectionError(ProtocolError("gone", ConnectionResetError())), "broke"),
        (requests.exceptions.SSLError(ssl.SSLError("wrong version")), "TLS"),
        (OSError(5, "Input/output error"), "input/output error"),
        (TimeoutError(), "silent"),
    ],
)
def test_reasons_are_words(error: Exception, words: str) -> None:
    assert words in transport.reason(error)


def test_a_name_that_does_not_resolve() -> None:
    connection: Any = None
    inner = NewConnectionError(connection, "failed")
    inner.__cause__ = socket.gaierror(-2, "Name or service not known")
    outer = wrapped(inner)
    assert transport.reason(outer) == "the name does not resolve"
    assert transport.was_never_sent(outer)
    assert not transport.was_never_sent(requests.exceptions.ReadTimeout())


def test_what_is_wrong_with_a_certificate() -> None:
    error = ssl.SSLCertVerificationError("bad")
    error.verify_message = "certificate has expired"
    assert transport.certificate_reason(wrapped(error)) == "certificate has expired"
    assert transport.certificate_reason(TimeoutError()) is None
