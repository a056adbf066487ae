"""From a request and the network's figures to a plan, and what `explain()` says about it."""

from __future__ import annotations

from goblin_labnode.requests import Request
from goblin_labnode.speed import ASSUMED_FLOPS_PER_S
from goblin_wire.control import Explanation, TimeRange
from goblin_wire.lab import NetworkSnapshot
from goblin_wire.problems import MemoryTooSmall, Problem, UnsupportedComputation
from goblin_wire.protocol import MIB
from opgraph.errors import PlanError
from opgraph.partition.choice import choose_plan
from opgraph.partition.estimate import Estimate, estimate
from opgraph.partition.figures import LabFigures, NetworkFigures
from opgraph.partition.product import ProductPlan
from opgraph.verification.choosing import planned_sentence

ASSUMED_DEVICES = 4
"""What is planned for while nobody is online."""
ASSUMED_MEMORY = 2048 * MIB

HOME_DOWN_BYTES_PER_S = 100e6 / 8
"""Links are not measured: a volunteer at home, a lab with a gigabit."""
HOME_UP_BYTES_PER_S = 20e6 / 8
LAB_LINK_BYTES_PER_S = 1e9 / 8
LOOPBACK_BYTES_PER_S = 1e9
"""All links, where the lab's endpoint is on loopback."""
_SPEED_OF_CHECKS = 0.1
"""The checks stream: they reach about this share of the speed of a product."""


def network_figures(
    snapshot: NetworkSnapshot, *, memory: int | None, loopback: bool
) -> NetworkFigures:
    """Figures to plan for; `memory` is a forced cap on one unit in bytes."""
    online = snapshot.devices > 0
    available = snapshot.memory_low if online and snapshot.memory_low else ASSUMED_MEMORY
    return NetworkFigures(
        devices=snapshot.devices if online else ASSUMED_DEVICES,
        memory_bytes=min(available, memory) if memory else available,
        flops_per_s=snapshot.flops_median
        if online and snapshot.flops_median
        else ASSUMED_FLOPS_PER_S,
        down_bytes_per_s=LOOPBACK_BYTES_PER_S if loopback else HOME_DOWN_BYTES_PER_S,
        up_bytes_per_s=LOOPBACK_BYTES_PER_S if loopback else HOME_UP_BYTES_PER_S,
        round_trip_s=0.005 if loopback else 0.05,
    )


def lab_figures(flops_per_s: float, *, loopback: bool) -> LabFigures:
    link = LOOPBACK_BYTES_PER_S if loopback else LAB_LINK_BYTES_PER_S
    return LabFigures(
        flops_per_s=flops_per_s,
        uplink_bytes_per_s=link,
        downlink_bytes_per_s=link,
        verify_flops_per_s=flops_per_s * _SPEED_OF_CHECKS,
    )


def make_plan(request: Request, network: NetworkFigures, lab: LabFigures) -> ProductPlan:
    """Raises `MemoryTooSmall` or `UnsupportedComputation`."""
    try:
        return choose_plan(request.m, request.k, request.n, request.dtype, network, lab)
    except PlanError as error:
        kind = MemoryTooSmall if error.code == "memory_too_small" else UnsupportedComputation
        raise kind(error.message, reason=error.code) from None


def explain(
    request: Request,
    snapshot: NetworkSnapshot,
    network: NetworkFigures,
    lab: LabFigures,
    retention: str,
) -> Explanation:
    """The plan in figures and sentences; an impossible one says why instead of raising."""
    explanation = Explanation(
        shape=request.shape,
        dtype=request.dtype,
        possible=True,
        network=snapshot,
        grade=request.grade,
        retention=retention,
    )
    try:
        plan = make_plan(request, network, lab)
    except Problem as problem:
        explanation.possible = False
        explanation.problem, explanation.problem_code = problem.detail[:500], problem.code
        return explanation
    _describe_plan(explanation, plan)
    _describe_estimate(explanation, estimate(plan, network, lab))
    return explanation


def _describe_plan(explanation: Explanation, plan: ProductPlan) -> None:
    explanation.units = len(plan.tiles)
    explanation.flops = plan.flops
    explanation.slices = len(plan.slice_cuts) - 1
    if plan.tiles:
        largest = max(plan.tiles, key=lambda tile: tile.shape[0] * tile.shape[1])
        explanation.tile = list(largest.shape)
    explanation.verification = verification_sentence(plan)


def _describe_estimate(explanation: Explanation, found: Estimate) -> None:
    explanation.down_bytes, explanation.up_bytes = found.down_bytes, found.up_bytes
    explanation.unit_memory, explanation.lab_disk = found.memory_bytes, found.lab_disk_bytes
    explanation.estimate = TimeRange(low_s=found.seconds[0], high_s=found.seconds[1])
    explanation.lab_alone_s = found.lab_alone_seconds
    explanation.slower = found.faster_alone
    explanation.verdict = found.verdict[:500]
    explanation.exposure = exposure_sentence(found.exposure.a, found.exposure.b)


def verification_sentence(plan: ProductPlan) -> str:
    """What is verified, and the blind spot that is expected for data of independent signs."""
    if not plan.tiles:
        return "Nothing is computed by others: the lab node writes the result itself."
    columns = max(tile.shape[1] for tile in plan.tiles)
    return planned_sentence(plan.slice_cuts, columns, plan.dtype)


def exposure_sentence(left: float, right: float) -> str:
    """`left`, `right`: the largest share of each input that one account can see, 0 to 1."""
    return (
        f"One account alone may see up to {100 * left:.0f} % of the left and {100 * right:.0f} % of"
        " the right input. Numbers are not encrypted while they are computed on."
    )
