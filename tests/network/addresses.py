"""Free ports of the loopback address, and whether somebody answers there."""

import contextlib
import socket
import urllib.error
import urllib.request

HOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Different TCP ports that nobody uses now."""
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind((HOST, 0))
        return [int(probe.getsockname()[1]) for probe in probes]


def listens(port: int) -> bool:
    """Whether somebody accepts connections on the port."""
    try:
        socket.create_connection((HOST, port), timeout=1).close()
    except OSError:
        return False
    return True


def answers_ok(url: str) -> bool:
    """Whether a GET gives 200."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=5) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False
