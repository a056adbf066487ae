"""One BLAS thread while anybody checks."""

from __future__ import annotations

import threading
import time

import numpy as np  # noqa: F401  (loads the BLAS that is limited)
from threadpoolctl import threadpool_info, threadpool_limits

from opgraph.verification.threads import one_blas_thread


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_limit_holds_inside_and_is_gone_outside() -> None:
    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        with one_blas_thread(), one_blas_thread():
            assert blas_threads() == {1}
        assert blas_threads() == before


def test_the_first_to_leave_does_not_lift_the_limit_of_others() -> None:
    entered, leave = threading.Event(), threading.Event()

    def hold() -> None:
        with one_blas_thread():
            entered.set()
            leave.wait(10)

    with threadpool_limits(limits=2, user_api="blas"):
        before = blas_threads()
        other = threading.Thread(target=hold)
        with one_blas_thread():
            other.start()
            entered.wait(10)
        assert blas_threads() == {1}
        leave.set()
        other.join(10)
        assert blas_threads() == before


def test_the_limit_is_cheap_enough_for_every_tile() -> None:
    with one_blas_thread():
        pass
    start = time.process_time()
    for _ in range(100):
        with one_blas_thread():
            pass
    assert time.process_time() - start < 0.1
