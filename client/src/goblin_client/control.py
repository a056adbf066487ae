"""How the other commands speak to a running client: a Unix socket in the state directory."""

from __future__ import annotations

import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from goblin_client.errors import ClientError

_log = logging.getLogger(__name__)

MAX_BYTES = 1024 * 1024
TIMEOUT_S = 10.0


class NotRunning(ClientError):
    """No goblin-client runs in this state directory."""


class Command(msgspec.Struct, kw_only=True, omit_defaults=True):
    """`name`: status, pause, resume or leave; `until`: Unix time for pause, none for no end."""

    name: str
    until: float | None = None


Answer = dict[str, Any]


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    # A socket's path may have about 100 characters; a relative name is always short enough.
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


class ControlServer:
    """Answers commands; `handle` is called in a thread of this object."""

    def __init__(self, path: Path, handle: Callable[[Command], Answer]) -> None:
        self._handle = handle
        self._socket = socket.socket(socket.AF_UNIX)
        path.unlink(missing_ok=True)
        with _inside(path.parent):
            self._socket.bind(path.name)
            Path(path.name).chmod(0o600)
        self._socket.listen(4)
        threading.Thread(target=self._serve, name="control", daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.settimeout(TIMEOUT_S)
                connection.sendall(msgspec.json.encode(self._answer(connection)) + b"\n")

    def _answer(self, connection: socket.socket) -> Answer:
        try:
            command = msgspec.json.decode(_line(connection), type=Command)
        except (msgspec.DecodeError, RecursionError):
            return {"error": "The command is not understood."}
        try:
            return self._handle(command)
        except Exception:
            # One command that fails must not leave the client deaf to the next.
            _log.exception("the command %s failed", command.name[:20])
            return {"error": "The command failed; the client's output says why."}

    def close(self) -> None:
        self._socket.close()


def ask(path: Path, command: Command) -> Answer:
    """The running client's answer. Raises `NotRunning`."""
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(TIMEOUT_S)
            with _inside(path.parent):
                connection.connect(path.name)
            connection.sendall(msgspec.json.encode(command) + b"\n")
            answer = msgspec.json.decode(_line(connection), type=Answer)
    except (OSError, msgspec.DecodeError):
        raise NotRunning(f"No goblin-client answers in {path.parent}.") from None
    if "error" in answer:
        raise ClientError(str(answer["error"]))
    return answer


def _line(connection: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n") and len(received) < MAX_BYTES:
        piece = connection.recv(65536)
        if not piece:
            break
        received += piece
    return bytes(received)
