"""Proofs that somebody shares the lab node's file system: files that live for a minute.

Each has a name of its own, so that two who ask at the same time do not disturb each other.
"""

from __future__ import annotations

import contextlib
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

from goblin_labnode.config import write_private

LIFETIME_S = 60.0


class Proofs:
    """The proofs that are there now. Safe for use by several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._made: dict[Path, float] = {}

    def write(self, result: Path) -> tuple[str, str]:
        """Path and content of a new proof beside `result`; no path where none can be written."""
        nonce = secrets.token_hex(16)
        proof = result.with_name(f".{secrets.token_hex(8)}.shared")
        try:
            write_private(proof, nonce.encode("ascii"))
        except OSError:
            return "", nonce
        with self._lock:
            self._made[proof] = self._clock()
        return str(proof), nonce

    def sweep(self, lifetime: float = LIFETIME_S) -> None:
        """Remove what has been there for so many seconds."""
        with self._lock:
            old = [path for path, made in self._made.items() if self._clock() >= made + lifetime]
            for path in old:
                del self._made[path]
        for path in old:
            with contextlib.suppress(OSError):
                path.unlink()
