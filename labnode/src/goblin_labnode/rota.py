"""Threads for work in the background."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterator

_log = logging.getLogger(__name__)

Steps = Iterator[None]


class Rota(threading.Thread):
    """Runs several jobs' work by turns, a step of each at a time, so that none waits for another.

    `failed` is told the key and the exception of steps that raised; they are not run again.
    """

    def __init__(self, name: str, failed: Callable[[str, Exception], None]) -> None:
        super().__init__(name=name, daemon=True)
        self._failed = failed
        self._ready = threading.Condition()
        self._turns: deque[tuple[str, Steps]] = deque()
        self._current = ""
        self._stopped = False

    def add(self, key: str, steps: Steps) -> None:
        """Begin work; what is still there under this key is dropped."""
        with self._ready:
            self._drop(key)
            self._turns.append((key, steps))
            self._ready.notify()

    def remove(self, key: str) -> None:
        """Take no further step for this key; one that runs now is finished."""
        with self._ready:
            self._drop(key)

    def stop(self) -> None:
        with self._ready:
            self._stopped = True
            self._ready.notify()

    def run(self) -> None:
        while True:
            with self._ready:
                self._ready.wait_for(lambda: self._turns or self._stopped)
                if self._stopped:
                    return
                key, steps = self._turns.popleft()
                self._current = key
            more = self._step(key, steps)
            with self._ready:
                if more and self._current == key:
                    self._turns.append((key, steps))
                self._current = ""

    def _step(self, key: str, steps: Steps) -> bool:
        try:
            next(steps)
        except StopIteration:
            return False
        except Exception as error:
            self._failed(key, error)
            return False
        return True

    def _drop(self, key: str) -> None:
        self._turns = deque(turn for turn in self._turns if turn[0] != key)
        if self._current == key:
            self._current = ""


class Worker(threading.Thread):
    """Calls `turn` again and again until stopped. A failure is logged and does not end it.

    `turn` returns how many seconds may pass before the next one; `wake` ends such a pause.
    """

    def __init__(self, name: str, turn: Callable[[], float]) -> None:
        super().__init__(name=name, daemon=True)
        self._turn = turn
        self._wake = threading.Event()
        self._stopped = False

    def wake(self) -> None:
        self._wake.set()

    def stop(self) -> None:
        self._stopped = True
        self._wake.set()

    @property
    def stopped(self) -> bool:
        return self._stopped

    def run(self) -> None:
        while not self._stopped:
            self._wake.clear()
            try:
                pause = self._turn()
            except Exception:
                _log.exception("%s failed; it goes on", self.name)
                pause = 5.0
            if pause > 0 and not self._stopped:
                self._wake.wait(pause)
