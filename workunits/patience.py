"""Calls that may hang for long, made so that whoever asks waits only for so long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

T = TypeVar("T")
MOST = 8
"""Calls under way at once in one process; there is no way to end one that hangs."""

_lock = threading.Lock()
_under_way: set[object] = set()


def begin(key: object, call: Callable[[], T]) -> Future[T] | None:
    """Make the call in a thread of its own.

    None where one for `key` is still under way, or too many others are: one partner that never
    answers holds one thread, whatever number of times it makes us ask.
    """
    with _lock:
        if key in _under_way or len(_under_way) >= MOST:
            return None
        _under_way.add(key)
    future: Future[T] = Future()
    threading.Thread(target=_run, args=(key, call, future), name="patience", daemon=True).start()
    return future


def within(seconds: float, key: object, call: Callable[[], T]) -> T | None:
    """What the call gives, or none where it takes longer. Its exceptions pass through."""
    future = begin(key, call)
    return None if future is None else result(future, seconds)


def result(future: Future[T], seconds: float) -> T | None:
    """The result once it is there, at the latest after `seconds`."""
    try:
        return future.result(seconds)
    except TimeoutError:
        if future.done():
            raise
        return None


def _run(key: object, call: Callable[[], T], future: Future[T]) -> None:
    try:
        found = call()
    except BaseException as error:
        _over(key)
        future.set_exception(error)
    else:
        _over(key)
        future.set_result(found)


def _over(key: object) -> None:
    with _lock:
        _under_way.discard(key)
