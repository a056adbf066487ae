"""Versions of jobs, for whoever waits for news of one."""

from __future__ import annotations

import asyncio
import threading
import time


class Changes:
    """A number per job that only grows, across restarts too; waiting for it costs nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: dict[str, int] = {}
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._started = int(time.time() * 1000)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop in which `wait` is called."""
        self._loop = loop

    def version(self, job: str) -> int:
        with self._lock:
            return self._versions.get(job, self._started)

    def note(self, job: str) -> None:
        """Something about the job has changed. From any thread."""
        with self._lock:
            version = self._versions.get(job, self._started)
            self._versions[job] = max(version + 1, int(time.time() * 1000))
            waiting = bool(self._waiting.get(job))
        if waiting and self._loop is not None:
            self._loop.call_soon_threadsafe(self._wake, job)

    async def wait(self, job: str, after: int, seconds: float) -> None:
        """Return once the version is above `after`, at the latest after `seconds`."""
        event = asyncio.Event()
        with self._lock:
            self._waiting.setdefault(job, set()).add(event)
        try:
            if self.version(job) <= after:
                await asyncio.wait_for(event.wait(), seconds)
        except TimeoutError:
            pass
        finally:
            self._forget(job, event)

    def _wake(self, job: str) -> None:
        with self._lock:
            events = list(self._waiting.get(job, ()))
        for event in events:
            event.set()

    def _forget(self, job: str, event: asyncio.Event) -> None:
        with self._lock:
            waiting = self._waiting.get(job, set())
            waiting.discard(event)
            if not waiting:
                self._waiting.pop(job, None)
