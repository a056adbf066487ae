"""`goblin-lab serve`: both listeners in one process, until a signal."""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import fcntl
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from typing import Any

import uvicorn

from goblin_labnode.config import Config, ConfigError, Folder
from goblin_labnode.control_listener import ControlListener
from goblin_labnode.data_listener import DataListener
from goblin_labnode.heads import GuardedProtocol, allow_many_connections
from goblin_labnode.keys import load_control_key, load_secrets
from goblin_labnode.node import Node
from goblin_labnode.ports import listen
from goblin_labnode.service import Service

_log = logging.getLogger(__name__)

CONTROL_HOST = "127.0.0.1"
_GRACE_S = 3


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: one process holds two servers."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(folder: Folder, config: Config) -> None:
    """Run until SIGTERM or SIGINT. Raises `ConfigError` or `PortTaken` before it has begun."""
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: sys.exit(0))
    faulthandler.register(signal.SIGUSR1)  # `kill -USR1` shows what every thread does
    allow_many_connections()
    lock = _lock(folder)
    try:
        data = listen(config.data_host, config.data_port)
        control = listen(CONTROL_HOST, config.control_port)
        node = Node(folder, config, load_secrets(folder))
        with asyncio.Runner(loop_factory=_loop_factory()) as runner:
            runner.run(_serve(Service(node), data, control))
    finally:
        os.close(lock)


async def _serve(service: Service, data: socket.socket, control: socket.socket) -> None:
    node = service.node
    loop = asyncio.get_running_loop()
    node.changes.attach(loop)
    key = load_control_key(node.folder)
    servers = [
        _Server(_settings(DataListener(service).app(), node, tls=not node.config.plain_http)),
        _Server(_settings(ControlListener(service, key).app(), node, tls=False)),
    ]

    def leave() -> None:
        for server in servers:
            server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, leave)
    service.start()
    _log.info(
        "data listener at %s, control listener at http://%s:%d",
        node.config.endpoint,
        CONTROL_HOST,
        control.getsockname()[1],
    )
    await asyncio.gather(servers[0].serve([data]), servers[1].serve([control]))
    service.stop()
    node.close()


def _settings(app: Any, node: Node, *, tls: bool) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=GuardedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_GRACE_S,
        backlog=512,
        ssl_certfile=str(node.folder.certificate) if tls else None,
        ssl_keyfile=str(node.folder.certificate_key) if tls else None,
    )


def _loop_factory() -> Any:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


def _lock(folder: Folder) -> int:
    """One process per folder."""
    descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(descriptor)
        raise ConfigError(f"Another lab node runs on {folder.path} already.") from None
    return descriptor


def is_running(folder: Folder) -> bool:
    """Whether a lab node serves this folder now."""
    try:
        os.close(_lock(folder))
    except ConfigError:
        return True
    return False
