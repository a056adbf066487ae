"""The computing process: takes units from a pipe, one after the other, and ends with the pipe."""

from __future__ import annotations

import errno
import os
import queue
import signal
import sys
import threading
from typing import IO

from goblin_client.compute.backends import Backend, DeviceUnusable, open_backend
from goblin_client.compute.limits import give_way, limit_memory
from goblin_client.compute.messages import (
    Awaiting,
    Begin,
    Cancel,
    Failed,
    Feed,
    Progress,
    Ready,
    Refused,
    Released,
    Report,
    next_order,
    send,
)
from goblin_client.compute.outputs import OutputMemory
from goblin_client.compute.probe import cpu_kind, examine, measure_speed
from goblin_client.compute.unit import InputMissing, UnitRun
from goblin_client.errors import disk_code
from opgraph.errors import ExecutionCancelled, OpgraphError

CANCEL_S = 2.0
"""A unit that was cancelled and goes on for longer takes the process with it."""
CANCELLED_EXIT = 75


class Worker:
    """The state that the reading thread and the computing thread share."""

    def __init__(self, orders: IO[bytes], reports: IO[bytes], threads: int) -> None:
        self._orders = orders
        self._reports = reports
        self._threads = threads
        self._memory = OutputMemory()
        self._writing = threading.RLock()
        self._changed = threading.Condition()
        self._queue: queue.SimpleQueue[Begin] = queue.SimpleQueue()
        self._blobs: dict[str, int] = {}
        """Lease -> inputs that are here. A lease that is missing was cancelled."""
        self._current = ""

    def report(self, message: Report) -> None:
        with self._writing:
            send(self._reports, message)

    def listen(self) -> None:
        """Read orders until the supervisor is gone; then end the process at once."""
        while (order := next_order(self._orders)) is not None:
            with self._changed:
                if isinstance(order, Begin):
                    self._blobs[order.lease] = order.blobs
                    self._queue.put(order)
                elif isinstance(order, Feed) and order.lease in self._blobs:
                    self._blobs[order.lease] = max(self._blobs[order.lease], order.blobs)
                elif isinstance(order, Cancel):
                    self._cancel(order.lease)
                self._changed.notify_all()
        os._exit(0)

    def _cancel(self, lease: str) -> None:
        self._blobs.pop(lease, None)
        if lease == self._current:
            timer = threading.Timer(CANCEL_S, self._give_up, (lease,))
            timer.daemon = True
            timer.start()

    def _give_up(self, lease: str) -> None:
        if self._current == lease and lease not in self._blobs:
            os._exit(CANCELLED_EXIT)

    def work(self, backend: Backend) -> None:
        """Compute unit after unit."""
        while True:
            order = self._queue.get()
            self._current = order.lease
            if not self._is_cancelled(order.lease):
                self._compute(order, backend)
            self._current = ""
            self._blobs.pop(order.lease, None)

    def _compute(self, order: Begin, backend: Backend) -> None:
        lease = order.lease
        run = UnitRun(
            order,
            backend,
            self._threads,
            self._memory,
            wait_for=lambda index: self._wait_for(lease, index),
            cancelled=lambda: self._is_cancelled(lease),
            progress=lambda share: self.report(Progress(lease=lease, share=share)),
            released=lambda index: self.report(Released(lease=lease, index=index)),
        )
        try:
            self.report(run.run())
        except ExecutionCancelled:
            return
        except MemoryError:
            self._failed(lease, "memory", "The unit needed more memory than this client may use.")
        except InputMissing:
            self._failed(lease, "input_missing", "An input is gone from the cache.")
        except OSError as error:
            code = "memory" if error.errno == errno.ENOMEM else disk_code(error)
            self._failed(lease, code, f"The system did not let it go on: {error.strerror}.")
        except OpgraphError as error:
            self._failed(lease, "failed", str(error))
        except Exception as error:
            out_of_memory = type(error).__name__ == "OutOfMemoryError"
            code = "memory" if out_of_memory else "failed"
            self._failed(lease, code, f"The device failed: {type(error).__name__}.")

    def _failed(self, lease: str, code: str, detail: str) -> None:
        self.report(Failed(lease=lease, code=code, detail=detail))

    def _is_cancelled(self, lease: str) -> bool:
        return lease not in self._blobs

    def _wait_for(self, lease: str, index: int) -> None:
        with self._changed:
            if self._blobs.get(lease, index + 1) <= index:
                self.report(Awaiting(lease=lease, index=index))
            while self._blobs.get(lease, index + 1) <= index:
                self._changed.wait()
        if self._is_cancelled(lease):
            raise ExecutionCancelled


def serve(device: str, memory: int, threads: int) -> None:
    """The whole life of a computing process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reports = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not get between the messages
    worker = Worker(sys.stdin.buffer, reports, threads)
    give_way()
    try:
        backend = open_backend(device, cpu_kind())
        device_class = examine(backend, threads)
        speed = measure_speed(backend, threads)
    except DeviceUnusable as error:
        worker.report(Refused(detail=str(error)))
        return
    allowed = backend.memory(memory)
    if device == "cpu":
        limit_memory(memory)
    threading.Thread(target=worker.listen, name="orders", daemon=True).start()
    worker.report(Ready(device_class=device_class, flops_per_s=speed, memory=allowed))
    worker.work(backend)
