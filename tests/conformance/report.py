"""What a part of the conformance tests found, and the table of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line: what ran where, how many questions, what was wrong, and how long it took."""

    part: str
    what: str
    ran: int
    wrong: tuple[str, ...]
    seconds: float


def printed(rows: Sequence[Row]) -> str:
    """The table, and before it everything that was wrong."""
    faults = [f"{row.part}, {row.what}: {fault}" for row in rows for fault in row.wrong]
    lines = [("part", "what", "ran", "wrong", "seconds")]
    lines += [
        (row.part, row.what, f"{row.ran:,}", str(len(row.wrong)), f"{row.seconds:.0f}")
        for row in rows
    ]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(cell.ljust(width) if at < 2 else cell.rjust(width)
                  for at, (cell, width) in enumerate(zip(line, widths, strict=True)))
        for line in lines
    ]  # fmt: skip
    return "\n".join([*faults, *table])
