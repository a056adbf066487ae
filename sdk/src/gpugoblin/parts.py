"""Verified tiles as they land."""

from __future__ import annotations

from collections.abc import Iterator

from goblin_wire import control
from goblin_wire.control import PartList
from gpugoblin import words
from gpugoblin.connection import Connection, segment
from gpugoblin.waiting import changes


class Part:
    """A verified tile, already in the result: `result[part.slice]` are its numbers."""

    def __init__(self, facts: control.Part) -> None:
        self.facts = facts
        self.number = facts.number
        self.volunteer = facts.volunteer
        """Pseudonym of who computed it, the same within this lab."""
        self.repaired_rows = facts.repaired_rows

    @property
    def slice(self) -> tuple[slice, ...]:
        """Where in the result it lies."""
        return tuple(
            slice(start, stop)
            for start, stop in zip(self.facts.start, self.facts.stop, strict=True)
        )

    @property
    def checks(self) -> str:
        """How it was verified."""
        repaired = self.repaired_rows
        again = f", {words.count(repaired, 'row')} computed again" if repaired else ""
        return f"{self.facts.policy}{again}"

    def __repr__(self) -> str:
        where = ", ".join(f"{part.start}:{part.stop}" for part in self.slice)
        return f"<part {self.number} [{where}] by {self.volunteer}, {self.checks}>"


def parts(connection: Connection, job: str) -> Iterator[Part]:
    """Every verified tile once, in the order of verification, until the job is finished."""
    after = 0
    for _ in changes(connection, job):
        finished = False
        while not finished:
            page = _page(connection, job, after)
            for facts in page.parts:
                after = max(after, facts.number)
                yield Part(facts)
            if page.finished:
                return
            finished = not page.parts


def _page(connection: Connection, job: str, after: int) -> PartList:
    return connection.call("GET", f"/v1/jobs/{segment(job)}/parts?after={after}", None, PartList)
