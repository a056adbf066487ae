"""The socket by which commands reach a running client."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from goblin_client.control import Command, ControlServer, _inside, ask
from goblin_client.errors import ClientError


def handle(command: Command) -> dict[str, Any]:
    if command.name == "broken":
        raise ZeroDivisionError
    return {"name": command.name}


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    server = ControlServer(tmp_path / "control.sock", handle)
    yield tmp_path / "control.sock"
    server.close()


@pytest.mark.parametrize(
    "body",
    [
        b"\n",
        b"[]\n",
        b"\xff\n",
        b'{"name": 3}\n',
        b'{"name": "status", "x": ' + b"[" * 400_000 + b"\n",
        b"x" * 2_000_000,
        b"",
    ],
)
def test_what_is_no_command_leaves_it_listening(path: Path, body: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as connection:
        with _inside(path.parent):
            connection.connect(path.name)
        try:
            connection.sendall(body)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1000)
        except OSError:
            pass
    assert ask(path, Command(name="status")) == {"name": "status"}


def test_a_command_that_fails_leaves_it_listening(path: Path) -> None:
    with pytest.raises(ClientError, match="failed"):
        ask(path, Command(name="broken"))
    assert ask(path, Command(name="status")) == {"name": "status"}
