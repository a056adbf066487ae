"""One BLAS thread while a check runs.

With two threads OpenBLAS was up to a hundred times slower on the thin products of a check while
the machine was busy (measured)."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]

_lock = threading.Lock()
_users = 0
_controller: ThreadpoolController | None = None
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last of all nested or concurrent users leaves.

    The limit is the process's, as BLAS's is. Costs about 20 microseconds after the first call."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _users, _controller, _limit
    with _lock:
        if _controller is None:
            _controller = ThreadpoolController()
        if _users == 0:
            _take_control()
            _limit = _controller.limit(limits=1, user_api="blas")
        _users += 1


def _leave() -> None:
    global _users, _limit
    with _lock:
        _users -= 1
        if _users == 0:
            _take_control()
            _limit.restore_original_limits()
            _take_control()
            _limit = None


def _take_control() -> None:
    """threadpoolctl obeys only the thread that set a limit first; the last to leave is another."""
    for library in _controller.lib_controllers if _controller else ():
        clear = getattr(library, "clear_controlling_thread", None)
        if clear is not None:
            clear(force=True)
