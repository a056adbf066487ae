"""A plain pass-through of TCP that keeps every byte, to see what really travels."""

import contextlib
import socket
import threading
from typing import Self

from tests.network.addresses import HOST

PIECE = 1 << 20


class Recorder:
    """Listens on `port` and passes everything on to `target`; `bytes` holds both directions."""

    def __init__(self, target: int) -> None:
        self.bytes = bytearray()
        self._target = target
        self._lock = threading.Lock()
        self._listener = socket.create_server((HOST, 0))
        self._open: list[socket.socket] = []
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for connection in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            try:
                far = socket.create_connection((HOST, self._target))
            except OSError:
                near.close()
                continue
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(source, sink), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while piece := source.recv(PIECE):
                with self._lock:
                    self.bytes += piece
                sink.sendall(piece)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)
