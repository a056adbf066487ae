"""Our side of the exchange: one message at a time, numbered, repeated until it is answered."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

from goblin_client import __version__
from goblin_wire.exchange import Done, ExchangeReply, ExchangeRequest, Holding, Returned, Want
from goblin_wire.protocol import MAX_BATCH, MAX_HOLDING, PROTOCOL
from goblin_wire.states import Activity

REFUSALS = frozenset(
    {
        "token_missing",
        "token_invalid",
        "token_expired",
        "wrong_scope",
        "account_suspended",
        "unsupported_protocol",
        "host_removed",
    }
)
"""Codes after which it is of no use to come back."""
REMOVED = "host_removed"
MESSAGE_FAULTS = frozenset(
    {
        "bad_message",
        "not_json",
        "too_large",
        "conflict",
        "wrong_length",
        "length_required",
        "unsupported_media",
    }
)
"""Codes that blame the message: it is not repeated, another one is made."""
QUICK_S = 0.5
QUICK_WAITS = 10
"""So many waits in a row may end at once; then they are as rare as polls, one per second."""
LONGEST_PAUSE_S = 30.0
POLL_SPREAD = 0.2


@dataclass
class Conversation:
    """Times are seconds of the scheduler's clock."""

    host: str
    seq: int
    nonce: Callable[[], str] = field(default=lambda: secrets.token_hex(8))
    label: str = ""
    """How the person calls this machine; told with the first message of a host id."""
    told: Activity | None = None
    """What the site knows that we do."""
    spoken_at: float = 0.0
    """When the site last answered."""
    pending: ExchangeRequest | None = None
    """The message that has no answer yet."""
    sent_at: float | None = None
    """When `pending` left; none while it waits to be repeated."""
    returned: list[Returned] = field(default_factory=list)
    wait_url: str = ""
    ticket: str = ""
    waiting_since: float | None = None
    wait_from: float = 0.0
    next_poll: float = 0.0
    poll_after: float = 1.0
    woken: bool = False
    dry: bool = False
    """The site had less than was wanted."""
    quick_waits: float = 0.0
    """Waits that ended at once and brought nothing; forgotten at a rate of one per second."""
    waited_at: float = 0.0
    failed_waits: int = 0
    round_trip: float = 0.05
    chance: Callable[[], float] = field(default=random.random)
    """Between 0 and 1; clients that were told the same do not come back at the same moment."""

    def compose(
        self,
        holding: list[Holding],
        done: list[Done],
        want: list[Want],
        now: float,
        *,
        activity: Activity = Activity.RUNNING,
        resumes_s: float = 0.0,
    ) -> ExchangeRequest:
        """The next message, which is now pending."""
        self.seq += 1
        self.woken = False
        self.pending = ExchangeRequest(
            protocol=PROTOCOL,
            host=self.host,
            seq=self.seq,
            nonce=self.nonce(),
            version=__version__,
            label=self.label if self.seq == 1 else "",
            activity=activity,
            resumes_s=resumes_s,
            holding=holding[:MAX_HOLDING],
            returned=self.returned[:MAX_BATCH],
            done=done[:MAX_BATCH],
            want=want[:16],
        )
        self.sent_at = now
        return self.pending

    def repeat(self, now: float) -> ExchangeRequest:
        assert self.pending is not None  # noqa: S101
        self.sent_at = now
        return self.pending

    def answered(self, reply: ExchangeReply, now: float) -> ExchangeRequest | None:
        """Take the answer; returns the message that it belongs to."""
        request, self.pending = self.pending, None
        if request is None:
            return None
        if self.sent_at is not None:
            self.round_trip = 0.7 * self.round_trip + 0.3 * (now - self.sent_at)
        self.sent_at = None
        self.told, self.spoken_at = request.activity, now
        del self.returned[: len(request.returned)]
        self.wait_url, self.ticket = reply.wait_url, reply.ticket
        self.poll_after = max(0.05, reply.poll_after_ms / 1000)
        self.next_poll = now + self._pause()
        wanted = sum(want.units for want in request.want)
        self.dry = wanted > len(reply.leases) + len(reply.again)
        if reply.leases:
            self.quick_waits = 0.0
        return request

    def _pause(self) -> float:
        """Until the next poll. Without the waiting address they become ever more rare."""
        if not self.failed_waits:
            # Never earlier than the site asked for.
            return self.poll_after * (1.0 + POLL_SPREAD * self.chance())
        pause = max(self.poll_after, 2.0 ** min(10, self.failed_waits))
        return self._spread(min(LONGEST_PAUSE_S, pause))

    def _spread(self, pause: float) -> float:
        """Between half of the pause and the whole."""
        return pause * (0.5 + 0.5 * self.chance())

    def unanswered(self) -> None:
        self.sent_at = None

    def drop(self) -> None:
        """Give the message up; what it said will be said by the next one."""
        self.pending = self.sent_at = None

    def lose_name(self) -> None:
        """Say nothing until we have another host id."""
        self.drop()
        self.host = ""

    def rename(self, host: str) -> None:
        """Go on as another host."""
        self.drop()
        self.host, self.seq = host, 0
        self.woken = True

    def can_wait(self, now: float) -> bool:
        idle = self.pending is None and self.waiting_since is None
        return idle and bool(self.wait_url and self.ticket) and now >= self.wait_from

    def begin_wait(self, now: float) -> tuple[str, str]:
        self.waiting_since = now
        ticket, self.ticket = self.ticket, ""
        return self.wait_url, ticket

    def waited(self, failed: bool, now: float) -> None:
        """The wait is over. One that keeps ending at once is not repeated at once."""
        quick = self.waiting_since is not None and now - self.waiting_since < QUICK_S
        self.waiting_since = None
        self.quick_waits = max(0.0, self.quick_waits - (now - self.waited_at))
        self.waited_at = now
        if quick and self.dry:
            self.quick_waits += 1
            self.wait_from = now + self._spread(max(0.0, self.quick_waits - QUICK_WAITS))
        self.failed_waits = self.failed_waits + 1 if failed else 0
        if failed:
            self.wait_from = self.next_poll = now + self._pause()
        else:
            self.woken = True
