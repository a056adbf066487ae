"""Connections that cost us memory or a descriptor without end are closed.

The server below sets no bound to what comes before a request's body, nor to how long it takes, nor
to how long somebody may leave an answer in our buffers.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import resource
import sys
import termios
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from goblin_wire.problems import PROBLEM_JSON, BadMessage, Problem, TooLarge, Unavailable

MAX_HEAD_BYTES = 64 * 1024
"""Of a request line and headers, beyond the piece in which they begin."""
HEAD_S = 30.0
"""From the connection, or from the first byte of a later request, to the end of its headers."""
MOST_CONNECTIONS = 4096
"""At one listener. Fewer where the system lets us open few files: those of the jobs go first."""
MOST_OF_ONE = 1024
"""From one address, so that one machine cannot keep all others out."""
CROWDED_RETRY_S = 10.0
STALL_S = 60.0
"""An answer of which nothing at all is taken for so long is given up."""


class GuardedProtocol(HttpToolsProtocol):
    """HTTP/1.1 of uvicorn, with bounds."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = False
        self._head_bytes = 0
        self._late: asyncio.TimerHandle | None = None
        self._stall: asyncio.TimerHandle | None = None

    # --- heads ------------------------------------------------------------------------------
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(HEAD_S, self._give_up)
        if self._is_one_too_many():
            sentence = "Too many are connected already."
            self._refuse(Unavailable(sentence, retry_after=CROWDED_RETRY_S))

    def _is_one_too_many(self) -> bool:
        if len(self.connections) > min(MOST_CONNECTIONS, open_files() // 2):
            return True
        if len(self.connections) <= MOST_OF_ONE or self.client is None:
            return False
        address, all_here = self.client[0], list[Any](self.connections)
        own = sum(each.client is not None and each.client[0] == address for each in all_here)
        return bool(own > MOST_OF_ONE)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(TooLarge("The head of the request is too large."))
                return
        super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        self._refuse(BadMessage(msg))

    def on_message_begin(self) -> None:
        self._in_head, self._head_bytes = True, 0
        if self._late is None:
            self._late = self.loop.call_later(HEAD_S, self._give_up)
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._end_late()
        super().on_headers_complete()

    # --- answers ----------------------------------------------------------------------------
    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch(self._left())

    def resume_writing(self) -> None:
        self._end_stall()
        super().resume_writing()

    def _watch(self, left: int) -> None:
        self._stall = self.loop.call_later(STALL_S, self._look, left)

    def _look(self, left: int) -> None:
        now = self._left()
        if now >= left:
            self._give_up()
        else:
            self._watch(now)

    def _left(self) -> int:
        """Bytes that the other end has not taken: ours, and those that the kernel holds for us.

        Without the latter a slow reader would seem to stand still, for megabytes at a time.
        """
        held = bytearray(4)
        with contextlib.suppress(OSError, ValueError):
            fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, held)
        return self.transport.get_write_buffer_size() + int.from_bytes(held, sys.byteorder)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_late()
        self._end_stall()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        self.transport.abort()

    def _end_late(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _end_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _refuse(self, problem: Problem) -> None:
        body = problem.to_bytes()
        head = (
            f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n"
            f"content-type: {PROBLEM_JSON}\r\ncontent-length: {len(body)}\r\n"
            "connection: close\r\n\r\n"
        )
        self.transport.write(head.encode("ascii") + body)
        self.transport.close()


def allow_many_connections() -> None:
    """Use as many descriptors as the system lets us: volunteers must not exhaust the usual 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def open_files() -> int:
    """How many descriptors this process may have."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return sys.maxsize if soft == resource.RLIM_INFINITY else soft
