"""Threads that do one thing after the other, each for one partner."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable

Job = Callable[[], None]
log = logging.getLogger("goblin_client")
IDLE_S = 120.0


class Lane:
    """A thread for jobs of one kind; it ends when it had nothing to do for a while."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.Queue[Job] = queue.Queue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def submit(self, job: Job) -> None:
        with self._lock:
            self._jobs.put(job)
            if self._thread is None:
                # A daemon: a transfer that hangs must not keep the program from ending.
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            except Exception:
                log.exception("a job failed that should have told of its failure")

    def _next(self) -> Job | None:
        try:
            return self._jobs.get(timeout=IDLE_S)
        except queue.Empty:
            with self._lock:
                if self._jobs.empty():
                    self._thread = None
                    return None
            return self._jobs.get()
