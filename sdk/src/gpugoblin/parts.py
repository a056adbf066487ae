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

    def __init__(self, facts: control.Part, rank: int) -> None:
        """`rank`: the number of axes of the result."""
        self.facts = facts
        self.number = facts.number
        self.volunteer = facts.volunteer
        """Pseudonym of who computed it, the same within this lab."""
        self.repaired_rows = facts.repaired_rows
        self.slice = _slices(facts, rank)
        """Where in the result it lies."""

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
    for info in changes(connection, job):
        finished = False
        while not finished:
            page = _page(connection, job, after)
            for facts in page.parts:
                after = max(after, facts.number)
                yield Part(facts, len(info.shape))
            if page.finished:
                return
            finished = not page.parts


def _slices(facts: control.Part, rank: int) -> tuple[slice, ...]:
    """A tile of a vector or a scalar is told as one of a matrix of one column or one row."""
    spans = [slice(*span) for span in zip(facts.start, facts.stop, strict=True)]
    if len(spans) == rank:
        return tuple(spans)
    longer = [span for span in spans if (span.start, span.stop) != (0, 1)]
    return tuple([*longer, slice(0, 1)][:rank])


def _page(connection: Connection, job: str, after: int) -> PartList:
    return connection.call("GET", f"/v1/jobs/{segment(job)}/parts?after={after}", None, PartList)
