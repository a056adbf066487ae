"""How fast this machine is itself, for the plan's comparison with the network."""

from __future__ import annotations

import threading
import time

import numpy

ASSUMED_FLOPS_PER_S = 5e10
"""Until it is measured."""
_PATIENCE_S = 3.0
_SIDE = 1536
_ROUNDS = 3


class Speed:
    """Measured once after a start, in the background; a plan that is asked for before waits."""

    def __init__(self) -> None:
        self._flops_per_s = ASSUMED_FLOPS_PER_S
        self._settled = threading.Event()
        self._settled.set()

    def begin(self) -> None:
        """A measurement will follow."""
        self._settled.clear()

    def measure(self) -> None:
        try:
            self._flops_per_s = measure_flops()
        finally:
            self._settled.set()

    @property
    def flops_per_s(self) -> float:
        """Floating-point operations per second of a float32 product with all threads."""
        self._settled.wait(_PATIENCE_S)
        return self._flops_per_s


def measure_flops() -> float:
    """The best of a few products, as others may compute meanwhile; in flops per second."""
    factor = numpy.ones((_SIDE, _SIDE), numpy.float32)
    product = factor @ factor
    best = float("inf")
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        numpy.matmul(factor, factor, out=product)
        best = min(best, time.perf_counter() - began)
    return 2.0 * _SIDE**3 / best
