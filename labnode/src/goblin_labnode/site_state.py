"""What this lab node knows of the site and, through it, of the network."""

from __future__ import annotations

import threading
import time

from goblin_wire.lab import NetworkSnapshot, Reachability, SiteKey
from goblin_wire.protocol import LAB_SEEN_S


class SiteState:
    """The site as it answered last. Written by the threads that talk to it, read by all."""

    def __init__(self, keys: list[SiteKey], offset: float) -> None:
        """`offset`: seconds that the site's clock is ahead of ours."""
        self._lock = threading.Lock()
        self.offset = offset
        self.keys = {each.kid: each.key for each in keys}
        self.network = NetworkSnapshot()
        self.reachability = Reachability()
        self.flops_left_today = 0
        self.notice = ""
        """Why the site gives out none of the lab's units, if it says so."""
        self.trouble: tuple[str, str] | None = ("unreachable", "The site was not reached yet.")
        """Code and sentence of what keeps us from the site; none while it answers."""
        self.trouble_since = time.time()
        self._answered = 0.0

    def now(self) -> float:
        """The site's clock, Unix seconds."""
        return time.time() + self.offset

    def seen_recently(self) -> bool:
        return time.monotonic() - self._answered < LAB_SEEN_S and self._answered > 0

    def answered(
        self,
        network: NetworkSnapshot,
        reachability: Reachability,
        keys: list[SiteKey],
        flops_left_today: int,
        site_seconds: float,
    ) -> bool:
        """Take what the site said; returns whether anything that people see has changed."""
        with self._lock:
            before = (self.network, self.reachability, self.trouble)
            self.network, self.reachability = network, reachability
            self.flops_left_today = flops_left_today
            if keys:
                self.keys = {each.kid: each.key for each in keys}
            if site_seconds:
                self.offset = site_seconds - time.time()
            self._answered = time.monotonic()
            self.trouble = None
            return before != (self.network, self.reachability, self.trouble)

    def noted(self, notice: str) -> bool:
        """Take what the site says to the lab's people; returns whether it is news."""
        with self._lock:
            is_news = notice != self.notice
            self.notice = notice
            return is_news

    def reached(self) -> None:
        """The site answered something."""
        with self._lock:
            self._answered = time.monotonic()
            self.trouble = None

    def failed(self, code: str, sentence: str) -> bool:
        """Note what went wrong; returns whether it is news."""
        with self._lock:
            news = self.trouble is None or self.trouble[0] != code
            if self.trouble is None:
                self.trouble_since = time.time()
            self.trouble = (code, sentence)
            return news
