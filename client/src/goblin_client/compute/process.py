"""A computing process as its supervisor sees it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import IO, cast

from goblin_client.compute.messages import Order, Report, next_report, send

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)
EXACT = {"CUPY_TF32": "0", "NVIDIA_TF32_OVERRIDE": "0"}
"""Products of float32 are computed in float32, not in the 10 bits of TF32."""


class ComputeProcess:
    """Runs `goblin_client.compute`. Reports and the exit status go to the callbacks, which are
    called in a thread of this object."""

    def __init__(
        self,
        device: str,
        memory: int,
        threads: int,
        *,
        on_report: Callable[[Report], None],
        on_exit: Callable[[int], None],
    ) -> None:
        # To be called in the main thread: the kernel ends a child with the thread that made it.
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "goblin_client.compute",
                str(os.getpid()),
                device,
                str(memory),
                str(threads),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), **EXACT},
        )
        self.pid = self._process.pid
        self._on_report = on_report
        self._on_exit = on_exit
        self._closing = False
        threading.Thread(target=self._listen, name=f"{device}-reports", daemon=True).start()

    def send(self, order: Order) -> None:
        """Give an order. One to a process that just died is lost; its exit is told anyway."""
        with suppress(OSError, ValueError):
            send(cast("IO[bytes]", self._process.stdin), order)

    def _listen(self) -> None:
        with cast("IO[bytes]", self._process.stdout) as pipe:
            while (report := next_report(pipe)) is not None:
                self._on_report(report)
            # Whoever closes its pipe is of no use any more.
            self._process.kill()
            status = self._process.wait()
        self._close()
        if not self._closing:
            self._on_exit(status)

    def kill(self) -> None:
        """End the process at once, without a word to the callbacks."""
        self._closing = True
        with suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()
        self._close()

    def _close(self) -> None:
        with suppress(OSError):
            cast("IO[bytes]", self._process.stdin).close()
