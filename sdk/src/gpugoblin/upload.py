"""Sending an array to the lab node: once, by its digest, from where it broke off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from numpy.typing import NDArray

from goblin_wire.backoff import Backoff
from goblin_wire.control import ArrayInfo, UploadStart, UploadState
from goblin_wire.protocol import CHUNK_BYTES, INLINE_BYTES
from gpugoblin import intake
from gpugoblin.connection import Connection
from gpugoblin.errors import DigestMismatch, OffsetMismatch, Unreachable

PIECE_BYTES = 4 * CHUNK_BYTES
"""Sent in one request where the array is above `INLINE_BYTES`."""
ATTEMPTS = 8
"""Broken requests in a row after which an upload is given up."""

Tell = Callable[[int, int], None]
"""Called with the bytes that the lab node has, and all bytes."""


def upload(connection: Connection, array: NDArray[Any], tell: Tell) -> ArrayInfo:
    """The array at the lab node. What is there already is not sent again.

    Up to 64 MiB go in one request, more in pieces; a broken upload goes on where the lab node has
    it. Raises the lab node's problem, or `Unreachable` after several failures in a row.
    """
    start = UploadStart(
        digest=intake.digest(array), dtype=array.dtype.name, shape=list(array.shape)
    )
    state = connection.call("POST", "/v1/uploads", start, UploadState)
    backoff = Backoff(first=0.2, longest=5.0)
    while state.array is None:
        try:
            state = _send(connection, array, state, tell)
        except (Unreachable, OffsetMismatch):
            if backoff.failures == ATTEMPTS:
                raise
            time.sleep(backoff.failed())
            later = _state(connection, state.upload)
            if later.received > state.received:
                backoff.succeeded()
            state = later
    return state.array


def _state(connection: Connection, upload: str) -> UploadState:
    return connection.call("GET", f"/v1/uploads/{upload}", None, UploadState)


def _send(
    connection: Connection, array: NDArray[Any], state: UploadState, tell: Tell
) -> UploadState:
    """Send what is missing. Returns the last state; its array is set."""
    size = INLINE_BYTES if array.nbytes <= INLINE_BYTES else PIECE_BYTES
    for piece in _from(intake.pieces(array, size), state.received):
        state = _put(connection, state, piece)
        tell(state.received, state.bytes)
    if state.array is None:
        state = _put(connection, state, b"")
    if state.array is None:
        raise DigestMismatch("The lab node has all bytes and does not take them as the array.")
    return state


def _put(connection: Connection, state: UploadState, piece: Any) -> UploadState:
    path = f"/v1/uploads/{state.upload}?offset={state.received}"
    return connection.patient(lambda client: client.put(path, piece, UploadState), patience=0.0)


def _from(pieces: Iterator[memoryview], offset: int) -> Iterator[memoryview]:
    """What is left of the pieces after the first `offset` bytes."""
    for piece in pieces:
        if offset >= len(piece):
            offset -= len(piece)
            continue
        yield piece[offset:]
        offset = 0
