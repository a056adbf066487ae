"""Where in a job's line of open units the next ones are.

Units leave the line at its head. Until the database has cleaned up after them, a look from the very
beginning walks over all that have left, at a hundred thousand units a minute a hundred thousand,
and over all that simultaneous claims are just taking. So in a long line a process goes on, for a
second, behind what it gave out last. A unit that comes back before that, or that a second machine
shall compute, is seen when the second is over, or at once when too little is found behind.
"""

from __future__ import annotations

import time
from typing import NamedTuple

FRESH_S = 1.0
LONG = 1024
"""With fewer units gone from the line a look from the beginning costs nothing."""
_MOST = 1000


class Place(NamedTuple):
    """A place in a line: whether a copy exists already (0, served first) or not (1), and where."""

    rank: int
    position: int


BEGINNING = Place(0, -1)
_heads: dict[int, tuple[Place, float]] = {}


def head(job: int) -> Place:
    """From where to look for units of the job."""
    place, until = _heads.get(job, (BEGINNING, 0.0))
    return place if time.monotonic() < until else BEGINNING


def note(job: int, start: Place, last: Place) -> None:
    """Remember the last unit that was given out, found by a look from `start`."""
    if last.rank == 0 or last.position < LONG:
        return
    if len(_heads) >= _MOST:
        _heads.clear()
    until = time.monotonic() + FRESH_S
    if start != BEGINNING and job in _heads:
        until = _heads[job][1]
    _heads[job] = (Place(1, last.position + 1), until)
