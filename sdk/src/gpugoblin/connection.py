"""The conversation with one lab node: a client per thread, patience with short absences."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar
from urllib.parse import quote

import gpugoblin
from goblin_wire.backoff import Backoff
from goblin_wire.control import LabInfo
from goblin_wire.http import HttpClient
from goblin_wire.protocol import OLDEST_PROTOCOL, PROTOCOL
from gpugoblin import places
from gpugoblin.errors import (
    Problem,
    TokenInvalid,
    Unavailable,
    UnknownLab,
    Unreachable,
    UnsupportedProtocol,
    typed,
)

T = TypeVar("T")
PATIENCE_S = 15.0
"""How long a call that may be repeated is tried while the lab node restarts."""
READ_TIMEOUT_S = 30.0


class Connection:
    """How to reach one lab node. May be shared between threads."""

    def __init__(self, place: str, key: str | None = None) -> None:
        self.place = place
        self._key = key
        self._local = threading.local()
        self._met = False

    def call(
        self,
        method: str,
        path: str,
        message: Any,
        reply: type[T],
        *,
        patience: float = PATIENCE_S,
        read_timeout: float = READ_TIMEOUT_S,
    ) -> T:
        """One message and its answer.

        A call is repeated for `patience` seconds while the lab node cannot be reached; 0 for one
        that must not be repeated. Raises the problem that the lab node names.
        """
        return self.patient(
            lambda client: client.call(method, path, message, reply, read_timeout=read_timeout),
            patience,
        )

    def patient(self, action: Callable[[HttpClient], T], patience: float = PATIENCE_S) -> T:
        """Run `action` with this thread's client, again while the lab node cannot be reached."""
        deadline = time.monotonic() + patience
        backoff = Backoff(first=0.2, longest=2.0)
        while True:
            try:
                return action(self._client())
            except (Unreachable, Unavailable) as problem:
                self.forget()
                wait = backoff.failed(problem.retry_after)
                if time.monotonic() + wait > deadline:
                    raise self._absent(problem) from None
                time.sleep(wait)
            except Problem as problem:
                raise self._explained(problem) from None

    def info(self, patience: float = PATIENCE_S) -> LabInfo:
        """Who the lab node is. Raises `UnsupportedProtocol` with both sides' versions."""
        info = self.call("GET", "/v1/lab", None, LabInfo, patience=patience)
        if not OLDEST_PROTOCOL <= info.protocol <= PROTOCOL:
            raise UnsupportedProtocol(_difference(info))
        return info

    def forget(self) -> None:
        """Close this thread's connections; the next call looks the lab node up again."""
        client = getattr(self._local, "client", None)
        if client is not None:
            client.close()
            self._local.client = None

    def _client(self) -> HttpClient:
        client: HttpClient | None = getattr(self._local, "client", None)
        if client is None:
            found = self._address()
            client = self._local.client = HttpClient(
                found.url,
                authorization=f"Bearer {found.key}",
                user_agent=f"gpugoblin/{gpugoblin.__version__}",
                trust_environment=not found.url.startswith("http://"),
            )
        return client

    def _address(self) -> places.Address:
        try:
            found = places.address(self.place, self._key)
        except UnknownLab as problem:
            if self._met:  # it was there before, so it is being started anew
                raise Unreachable(problem.detail) from None
            raise
        self._met = True
        return found

    def _absent(self, problem: Problem) -> Problem:
        start = (
            f" Start it with `goblin-lab serve {self.place}`." if "://" not in self.place else ""
        )
        return type(problem)(
            f"The lab node does not answer. {problem.detail}{start} Jobs that were submitted go on"
            " once it is back.",
            retry_after=problem.retry_after,
            **problem.facts,
        )

    def _explained(self, problem: Problem) -> Problem:
        if isinstance(problem, TokenInvalid):
            self.forget()
            return TokenInvalid(
                f"The lab node did not accept the key for {self.place}; the right one stands in"
                " control.key in its folder."
            )
        return typed(problem)


def segment(text: str) -> str:
    """A name as one part of a path."""
    return quote(text, safe="")


def _difference(info: LabInfo) -> str:
    return (
        f"The lab node runs {info.version} and speaks protocol {info.protocol}; this is gpugoblin"
        f" {gpugoblin.__version__}, which speaks {OLDEST_PROTOCOL} to {PROTOCOL}. Install the"
        f" current version {'here' if info.protocol > PROTOCOL else 'of the lab node'}."
    )
