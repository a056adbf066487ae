"""What happened in a job: who computed, what was refused, what was checked and moved."""

from __future__ import annotations

from typing import Any

import msgspec

from goblin_wire import control
from gpugoblin import cards, words
from gpugoblin.lines import labelled

_MOST = 12
"""Volunteers and refusals that are listed in print; `to_dict()` has all."""
_ID = 12
"""The beginning of a volunteer's pseudonym that is printed."""


class Report:
    """Print it, or read `to_dict()`; `facts` are the lab node's own figures."""

    def __init__(self, facts: control.Report) -> None:
        self.facts = facts

    def to_dict(self) -> dict[str, Any]:
        """Every figure by its name."""
        names = self.facts.__struct_fields__
        return {name: msgspec.to_builtins(getattr(self.facts, name)) for name in names}

    def rows(self) -> list[tuple[str, str]]:
        """Label and text of each line."""
        facts = self.facts
        return [
            (
                "verified",
                (
                    f"{facts.verified} of {words.count(facts.units, 'unit')}"
                    f" ({facts.grade.value}); {facts.reissued} issued again,"
                    f" {len(facts.refusals)} refused"
                ),
            ),
            (
                "repaired",
                (
                    f"{facts.repaired_rows} of {words.count(facts.rows, 'row')}"
                    " computed again by the lab node"
                ),
            ),
            ("residual", _residual(facts)),
            ("cannot see", facts.blind_spot),
            (
                "time",
                (
                    f"{words.seconds(facts.seconds)}, of it checking"
                    f" {words.seconds(facts.check_seconds)}; {words.speed(facts.flops_per_s)}"
                ),
            ),
            (
                "bytes",
                (
                    f"{words.size(facts.bytes_down)} to the volunteers,"
                    f" {words.size(facts.bytes_up)} back; planned"
                    f" {words.size(facts.bytes_planned)} in all"
                ),
            ),
            ("exposure", facts.exposure),
            *(("volunteer", _share(each)) for each in facts.volunteers[:_MOST]),
            *(
                ("refused", f"{each.volunteer[:_ID]}: {each.reason}")
                for each in facts.refusals[:_MOST]
            ),
        ]

    def __str__(self) -> str:
        lines = [f"Report of {self._title}: {self._standing}"]
        for label, text in self.rows():
            if text:
                lines += labelled(label, text)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        tone = {"done": "good", "failed": "bad"}.get(self.facts.state.value, "wait")
        rows = [row for row in self.rows() if row[1]]
        title = f"Report of {self._title}"
        return cards.card(title, self.facts.state.value, tone, self.facts.reason, rows)

    @property
    def _title(self) -> str:
        return self.facts.name or self.facts.job

    @property
    def _standing(self) -> str:
        reason = f". {self.facts.reason}" if self.facts.reason else ""
        return f"{self.facts.state.value}{reason}"


def _residual(facts: control.Report) -> str:
    if facts.max_residual is None:
        return "told once the check vectors are retired"
    return f"largest {facts.max_residual:.3g} of its scale"


def _share(share: control.Share) -> str:
    units = words.count(share.units, "unit")
    saw = f"; saw {_seen(share)}" if share.exposure else ""
    return f"{share.volunteer[:_ID]}: {units}, {words.flops(share.flops)}{saw}"


def _seen(share: control.Share) -> str:
    """The lab node lists the left input first, and one that is on both sides once."""
    sides = ("left", "right") if len(share.exposure) == 2 else ("the input",)
    parts = zip(sides, share.exposure.values(), strict=False)
    return ", ".join(f"{side} {words.share(part)}" for side, part in parts)
