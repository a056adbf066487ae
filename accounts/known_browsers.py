"""Browsers that have logged in to an address before: their requests for codes are counted apart, so
that strangers who ask for codes of an address do not keep its owner out.

A browser keeps a mark for each address in a cookie: a random number, the day, and a keyed hash of
both with the address. No address can be read or guessed from it. The database knows nothing of it
and nobody is looked up, so an address with an account and one without are answered alike.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Iterator
from typing import NamedTuple

from accounts.limits import hidden

COOKIE = "known"
LASTS_DAYS = 180
MOST = 5
"""Addresses that one browser is known for; the ones it logged in to last."""
_NUMBER_BYTES = 12
_DIGITS = 6
_DAY_S = 24 * 3600


class _Mark(NamedTuple):
    number: str
    day: str
    proof: str

    @property
    def text(self) -> str:
        return ".".join(self)

    def is_of(self, email: str) -> bool:
        return hmac.compare_digest(self.proof, _proof(self.number, self.day, email))

    @property
    def is_fresh(self) -> bool:
        day = self.day if self.day.isdigit() and len(self.day) <= _DIGITS else "0"
        return int(day) > _today() - LASTS_DAYS


def number_of(cookie: str, email: str) -> str:
    """What a browser with this cookie is counted by for an address; empty where it is not known."""
    return next((mark.number for mark in _marks(cookie) if mark.is_of(email)), "")


def with_mark(cookie: str, email: str) -> str:
    """The cookie of a browser that has just logged in; known before, it keeps its number."""
    number = number_of(cookie, email) or secrets.token_urlsafe(_NUMBER_BYTES)
    day = str(_today())
    mark = _Mark(number, day, _proof(number, day, email))
    return _written([mark, *_others(cookie, email)])


def without_mark(cookie: str, email: str) -> str:
    """The cookie once the account of an address was deleted."""
    return _written(_others(cookie, email))


def _others(cookie: str, email: str) -> list[_Mark]:
    return [mark for mark in _marks(cookie) if not mark.is_of(email)]


def _written(marks: list[_Mark]) -> str:
    return "!".join(mark.text for mark in marks[:MOST])


def _marks(cookie: str) -> Iterator[_Mark]:
    """What is written like a mark and is not too old; whose it is shows its proof."""
    for text in cookie.split("!", MOST)[:MOST]:
        parts = text.split(".")
        if text.isascii() and len(parts) == len(_Mark._fields) and _Mark(*parts).is_fresh:
            yield _Mark(*parts)


def _proof(number: str, day: str, email: str) -> str:
    return hidden("known browser", f"{number}\0{day}\0{email}")


def _today() -> int:
    return int(time.time()) // _DAY_S
