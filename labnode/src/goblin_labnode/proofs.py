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

import msgspec

from goblin_labnode.config import write_private

LIFETIME_S = 60.0


class Proofs:
    """The proofs that are there now. Safe for use by several threads."""

    def __init__(self, journal: Path, clock: Callable[[], float] = time.monotonic) -> None:
        """`journal` names what is there, so that a killed process leaves nothing for ever."""
        self._journal = journal
        self._clock = clock
        self._lock = threading.Lock()
        self._made: dict[Path, float] = {}
        for path in _read(journal):
            with contextlib.suppress(OSError):
                path.unlink()
        journal.unlink(missing_ok=True)

    def write(self, result: Path) -> tuple[str, str]:
        """Path and content of a new proof beside `result`; no path where none can be written."""
        nonce = secrets.token_hex(16)
        proof = result.with_name(f".{secrets.token_hex(8)}.shared")
        with self._lock:
            try:
                with self._journal.open("ab") as journal:
                    journal.write(msgspec.json.encode(str(proof)) + b"\n")
                write_private(proof, nonce.encode("ascii"))
            except OSError:
                return "", nonce
            self._made[proof] = self._clock()
        return str(proof), nonce

    def sweep(self, lifetime: float = LIFETIME_S) -> None:
        """Remove what has been there for so many seconds."""
        with self._lock:
            old = [path for path, made in self._made.items() if self._clock() >= made + lifetime]
            for path in old:
                del self._made[path]
                with contextlib.suppress(OSError):
                    path.unlink()
            if not self._made:
                self._journal.unlink(missing_ok=True)


def _read(journal: Path) -> list[Path]:
    try:
        lines = journal.read_bytes().splitlines()
    except FileNotFoundError:
        return []
    found = []
    for line in lines:
        with contextlib.suppress(msgspec.DecodeError):  # the last one may be torn
            found.append(Path(msgspec.json.decode(line, type=str)))
    return found
