"""Listening sockets, and who has a port that we wanted."""

from __future__ import annotations

import errno
import socket
from pathlib import Path

_LISTEN_STATE = "0A"


class PortTaken(Exception):
    """The port is in use."""


def listen(host: str, port: int) -> socket.socket:
    """A listening socket. Raises `PortTaken` with a sentence that names port and process."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(512)
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            raise PortTaken(f"Port {port} on {host} is in use{_by_whom(port)}.") from None
        raise PortTaken(f"Cannot listen on {host}:{port}: {error.strerror}.") from None
    listener.setblocking(False)
    return listener


def _by_whom(port: int) -> str:
    pid = owner(port)
    return "" if pid is None else f" by process {pid}"


def owner(port: int) -> int | None:
    """The process that listens on a port, as far as this user may see it (Linux)."""
    wanted = {f"socket:[{inode}]" for inode in _inodes(port)}
    if not wanted:
        return None
    for folder in Path("/proc").glob("[0-9]*/fd"):
        if _has_any(folder, wanted):
            return int(folder.parent.name)
    return None


def _inodes(port: int) -> set[str]:
    found: set[str] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            lines = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for line in lines:
            fields = line.split()
            if fields[3] == _LISTEN_STATE and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return found


def _has_any(folder: Path, wanted: set[str]) -> bool:
    try:
        return any(str(link.readlink()) in wanted for link in folder.iterdir())
    except OSError:
        return False
