"""Waiting longer after each failure, with jitter. Pure: the caller brings the chance."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Backoff:
    """The state of one endpoint. Seconds throughout.

    The n-th failure in a row waits a random time between half and the whole of
    `first * 2^(n-1)`, at most `longest`; so many clients never come back at once.
    """

    first: float = 1.0
    longest: float = 300.0
    chance: Callable[[], float] = field(default=random.random)
    failures: int = 0

    def failed(self, retry_after: float | None = None) -> float:
        """Note a failure and return how long to wait; `retry_after` is a lower bound."""
        step = min(self.longest, self.first * 2.0 ** min(self.failures, 30))
        self.failures += 1
        return max(step * (0.5 + 0.5 * self.chance()), retry_after or 0.0)

    def succeeded(self) -> None:
        self.failures = 0
