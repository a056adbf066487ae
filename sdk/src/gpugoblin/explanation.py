"""What a computation will take, before anything is computed."""

from __future__ import annotations

from typing import Any

import msgspec

from goblin_wire import control
from goblin_wire.fields import sentence
from goblin_wire.lab import NetworkSnapshot
from goblin_wire.states import Grade
from gpugoblin import cards, words
from gpugoblin.array import Array
from gpugoblin.errors import BadMessage
from gpugoblin.lines import labelled
from opgraph.partition.estimate import Estimate
from opgraph.partition.figures import NetworkFigures
from opgraph.partition.product import ProductPlan
from opgraph.verification.choosing import planned_sentence


class Explanation:
    """The plan in figures and sentences: print it, or read `to_dict()`.

    `possible` is false where no plan fits; then `problem` says why. `slower` says that the lab's
    own machine is expected to be faster than the network.
    """

    def __init__(self, label: str, facts: control.Explanation, *, assumed: bool) -> None:
        self.label = label
        self.facts = facts
        self.assumed = assumed

    @property
    def possible(self) -> bool:
        return self.facts.possible

    @property
    def problem(self) -> str:
        return self.facts.problem

    @property
    def slower(self) -> bool:
        return self.facts.slower

    @property
    def verdict(self) -> str:
        return self.facts.verdict

    def to_dict(self) -> dict[str, Any]:
        """Every figure by its name; bytes, flops and seconds as plain numbers."""
        names = self.facts.__struct_fields__
        figures = {name: msgspec.to_builtins(getattr(self.facts, name)) for name in names}
        return {"computation": self.label, "assumed": self.assumed, **figures}

    def rows(self) -> list[tuple[str, str]]:
        """Label and text of each line."""
        facts = self.facts
        if not facts.possible:
            return [("network", _network(facts.network, self.assumed))]
        return [
            ("plan", _plan(facts)),
            ("arithmetic", words.flops(facts.flops)),
            (
                "bytes",
                (
                    f"{words.size(facts.down_bytes)} to the volunteers,"
                    f" {words.size(facts.up_bytes)} back"
                ),
            ),
            ("memory", f"{words.size(facts.unit_memory)} of a volunteer for one unit"),
            ("disk", f"{words.size(facts.lab_disk)} of the lab"),
            ("network", _network(facts.network, self.assumed)),
            ("time", _time(facts)),
            ("verification", f"{facts.grade.value}. {facts.verification}"),
            ("exposure", facts.exposure),
            ("kept", facts.retention),
        ]

    def __str__(self) -> str:
        head = f"{self.label}  ->  {_result(self.facts)}"
        verdict = self.facts.verdict or "A plan exists."
        if not self.facts.possible:
            head += f"   <-- {self.facts.problem_code}"
            verdict = f"NOT POSSIBLE: {self.facts.problem}"
        lines = [head, *labelled("", verdict)]
        for label, text in self.rows():
            if text:
                lines += labelled(label, text)
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        possible = self.facts.possible
        tone = "bad" if not possible else "wait" if self.facts.slower else "good"
        status = "not possible" if not possible else "a plan"
        return cards.card(
            f"{self.label} → {_result(self.facts)}",
            status,
            tone,
            self.facts.verdict if possible else self.facts.problem,
            [row for row in self.rows() if row[1]],
        )


def named_grade(name: str) -> Grade:
    """The grade of verification with this name. Raises `BadMessage`."""
    try:
        return Grade(name)
    except ValueError:
        names = " or ".join(grade.value for grade in Grade)
        raise BadMessage(f"The grade of verification is {names}, not {name!r}.") from None


def planned(
    array: Array, plan: ProductPlan, found: Estimate, network: NetworkFigures, grade: str
) -> Explanation:
    """The explanation of a plan that was made in this process."""
    largest = max((tile.shape for tile in plan.tiles), key=_area, default=())
    facts = control.Explanation(
        shape=list(array.shape),
        dtype=array.dtype.name,
        possible=True,
        units=len(plan.tiles),
        tile=list(largest),
        slices=len(plan.slice_cuts) - 1,
        flops=plan.flops,
        down_bytes=found.down_bytes,
        up_bytes=found.up_bytes,
        unit_memory=found.memory_bytes,
        lab_disk=found.lab_disk_bytes,
        network=_snapshot(network),
        grade=named_grade(grade),
        verification=_verification(plan),
        exposure=(
            f"One account alone may see up to {words.share(found.exposure.a)} of the left and"
            f" {words.share(found.exposure.b)} of the right input. Numbers are not encrypted while"
            " they are computed on."
        ),
        estimate=control.TimeRange(low_s=found.seconds[0], high_s=found.seconds[1]),
        lab_alone_s=found.lab_alone_seconds,
        slower=found.faster_alone,
        verdict=sentence(found.verdict),
    )
    return Explanation(array.source.label, facts, assumed=True)


def impossible(array: Array, code: str, text: str, grade: str) -> Explanation:
    """The explanation of what cannot be planned."""
    facts = control.Explanation(
        shape=list(array.shape),
        dtype=array.dtype.name,
        possible=False,
        problem=sentence(text),
        problem_code=code,
        grade=named_grade(grade),
    )
    return Explanation(array.source.label, facts, assumed=True)


def _plan(facts: control.Explanation) -> str:
    if not facts.units:
        return "no units: the result needs no arithmetic"
    tile = words.shape(facts.tile)
    slices = words.count(facts.slices, "slice")
    return f"{words.count(facts.units, 'unit')} of up to {tile}, streaming {slices} of K each"


def _verification(plan: ProductPlan) -> str:
    """What is verified, and the blind spot that is expected for data of independent signs."""
    if not plan.tiles:
        return "Nothing is computed by others: the lab node writes the result itself."
    columns = max(tile.shape[1] for tile in plan.tiles)
    return planned_sentence(plan.slice_cuts, columns, plan.dtype)


def _network(network: NetworkSnapshot, assumed: bool) -> str:
    if not network.devices:
        if assumed:
            return ""
        if network.last_seen_s is None:
            return "0 machines online, none was ever seen: the job would wait for the first"
        return f"0 machines online, last seen {words.duration(network.last_seen_s)} ago"
    kind = "assumed" if assumed else "online now"
    speed = words.speed(network.flops_median)
    memory = words.size(network.memory_low)
    return f"{words.count(network.devices, 'machine')} {kind}: {speed} each, {memory} for a unit"


def _time(facts: control.Explanation) -> str:
    alone = f"about {words.seconds(facts.lab_alone_s)} on the lab's own machine"
    if facts.estimate is None:
        return alone
    return f"{words.seconds(facts.estimate.low_s, facts.estimate.high_s)} on the network, {alone}"


def _result(facts: control.Explanation) -> str:
    return f"{words.shape(facts.shape)} {facts.dtype}"


def _snapshot(network: NetworkFigures) -> NetworkSnapshot:
    return NetworkSnapshot(
        devices=network.devices,
        memory_low=network.memory_bytes,
        memory_median=network.memory_bytes,
        flops_low=network.flops_per_s,
        flops_median=network.flops_per_s,
    )


def _area(shape: tuple[int, int]) -> int:
    return shape[0] * shape[1]
