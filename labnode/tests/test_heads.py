"""What may come before a request's body, and how long a connection may cost us something."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn

from goblin_labnode import heads
from goblin_labnode.heads import MAX_HEAD_BYTES, GuardedProtocol
from goblin_wire.problems import Problem, problem_from_response

BODY = b"x" * (8 << 20)


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers eight mebibytes, after the body of the request."""
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": BODY})


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(heads, "HEAD_S", 0.3)
    monkeypatch.setattr(heads, "STALL_S", 0.3)
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, http=GuardedProtocol, ws="none", lifespan="off", log_config=None)
    )
    thread = threading.Thread(target=lambda: asyncio.run(server.serve([listener])))
    thread.start()
    yield listener.getsockname()[1]
    server.should_exit = server.force_exit = True
    thread.join(5.0)


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=5.0)


def answer(connection: socket.socket, most: int = 1 << 30) -> bytes:
    """Everything until the other end closes, or `most` bytes."""
    received = bytearray()
    try:
        while len(received) < most and (piece := connection.recv(1 << 20)):
            received += piece
    except ConnectionError:
        pass
    return bytes(received)


def problem(raw: bytes) -> Problem:
    head, _, body = raw.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    return problem_from_response(int(head.split()[1]), "application/problem+json", body)


@pytest.mark.parametrize(
    ("begin", "more"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\nA: ", b"a" * 4096),
        (b"GET /?", b"a" * 4096),
        (b"GET / HTTP/1.1\r\n", b"A: b\r\n" * 700),
    ],
)
def test_a_head_without_end_is_refused(port: int, begin: bytes, more: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(begin)
        for _ in range(4 * MAX_HEAD_BYTES // len(more)):
            try:
                connection.sendall(more)
            except ConnectionError:
                break
        else:
            assert problem(answer(connection)).code == "too_large"


def test_a_long_head_and_a_long_body_are_taken(port: int) -> None:
    head = b"PUT / HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 30_000 + b"\r\n"
    with connect(port) as connection:
        for _ in range(3):  # on one connection, head and body in one piece
            connection.sendall(head + b"Content-Length: 3000000\r\n\r\n" + bytes(3_000_000))
            received = b""
            while not received.endswith(b"0\r\n\r\n"):
                received += connection.recv(1 << 20)
            assert received.startswith(b"HTTP/1.1 200")
            assert len(received) > len(BODY)


def test_what_is_no_request_is_a_problem(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        assert problem(answer(connection)).code == "bad_message"


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\nHo"])
def test_a_head_that_does_not_come_to_an_end_in_time(port: int, begin: bytes) -> None:
    with connect(port) as connection:
        connection.sendall(begin)
        began = time.monotonic()
        assert answer(connection) == b""
        assert time.monotonic() - began < 3.0


def test_dripping_bytes_do_not_keep_a_head_open(port: int) -> None:
    began = time.monotonic()
    with connect(port) as connection, contextlib.suppress(ConnectionError):
        while time.monotonic() < began + 3:
            connection.sendall(b"G")
            time.sleep(0.05)
    assert time.monotonic() - began < 2


def test_a_reader_who_takes_nothing_is_given_up(port: int) -> None:
    with connect(port) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        time.sleep(1.2)
        assert len(answer(connection)) < len(BODY)


def test_a_slow_reader_gets_everything(port: int) -> None:
    received = 0
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32768)
        connection.connect(("127.0.0.1", port))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        for _ in range(30):  # in a second and a half
            received += len(connection.recv(65536))
            time.sleep(0.05)
        received += len(answer(connection))
    assert received > len(BODY)


# --- many connections -----------------------------------------------------------------------------
@pytest.mark.parametrize("limit", ["MOST_CONNECTIONS", "MOST_OF_ONE"])
def test_one_connection_too_many_is_told_to_come_later(
    port: int, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(heads, "HEAD_S", 30.0)
    monkeypatch.setattr(heads, limit, 20)
    with contextlib.ExitStack() as stack:
        held = [stack.enter_context(connect(port)) for _ in range(20)]
        for each in held:
            each.sendall(b"GET / HTTP/1.1\r\n")
        time.sleep(0.2)
        with connect(port) as late:
            refused = problem(answer(late))
        assert (refused.code, refused.status) == ("unavailable", 503)
        assert refused.retry_after
        held.pop().close()
        time.sleep(0.2)
        with connect(port) as again:
            again.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert answer(again, 100).startswith(b"HTTP/1.1 200")
