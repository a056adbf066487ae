"""What a product will take on a network, and whether the lab should rather compute it itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from opgraph.cost import flops
from opgraph.partition.figures import LabFigures, NetworkFigures
from opgraph.partition.product import ProductPlan
from opgraph.partition.traffic import Exposure
from opgraph.tensors import INTEGERS, itemsize

UPLINK = "the lab's uplink"

CHECK_VECTORS = 8
"""Secret vectors of the check; a ninth product gives the scale of each row."""
EXACT_VECTORS = 40
"""Of integers, at most; there is no scale."""

INTEGER_SLOWNESS = {1: 1.5, 2: 2.5, 4: 7.0, 8: 15.0}
"""CPU time of a product of integers of so many bytes over that of float32, for numbers of the full
width (measured at 2048 on one thread: 1.2 to 1.7, 2.2 to 2.8, 7, 15); small numbers take less."""

RESULTS_IN_FLIGHT = 2
"""Uploaded results per device that the lab keeps until they are checked."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds from submission to the verified product, bytes, and the verdict in a sentence.

    `seconds` is a range: at best everything overlaps and panels are fetched once per device, at
    worst nothing does. `limited_by` names what takes longest at best. `lab_disk_bytes` is the
    product and the results that wait for their check; `memory_bytes` is what a volunteer needs.
    """

    units: int
    seconds: tuple[float, float]
    lab_alone_seconds: float
    down_bytes: int
    up_bytes: int
    memory_bytes: int
    lab_disk_bytes: int
    exposure: Exposure
    limited_by: str
    faster_alone: bool
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """The estimate as JSON values."""
        return {**asdict(self), "seconds": list(self.seconds)}


def estimate(plan: ProductPlan, network: NetworkFigures, lab: LabFigures) -> Estimate:
    """The estimate for a plan. Rates must be above 0."""
    parts = _overlapped(plan, network, lab)
    limited_by = max(parts, key=lambda name: parts[name])
    latency = _first_and_last(plan, network, lab)
    low = parts[limited_by] + latency
    high = max(low, _one_after_another(plan, network, lab) + latency)
    alone = 2 * plan.m * plan.k * plan.n * _slowness(plan.dtype) / lab.flops_per_s
    return Estimate(
        units=len(plan.tiles),
        seconds=(low, high),
        lab_alone_seconds=alone,
        down_bytes=plan.down_bytes(network.devices),
        up_bytes=plan.up_bytes,
        memory_bytes=plan.memory_bytes,
        lab_disk_bytes=_lab_disk_bytes(plan, network),
        exposure=plan.exposure(network.devices),
        limited_by=limited_by if plan.tiles else "nothing",
        faster_alone=alone <= low,
        verdict=_verdict(plan, low, high, alone, limited_by),
    )


def check_flops(plan: ProductPlan) -> int:
    """Operations of verifying every tile on the lab's machine."""
    blocks = len(plan.column_cuts) - 1
    prepared = plan.k * plan.n + blocks * plan.m * plan.k
    if plan.dtype in INTEGERS:
        return 2 * EXACT_VECTORS * (prepared + plan.m * plan.n)
    return 2 * (CHECK_VECTORS + 1) * prepared + 2 * CHECK_VECTORS * plan.m * plan.n


def _slowness(dtype: str) -> float:
    return INTEGER_SLOWNESS[itemsize(dtype)] if dtype in INTEGERS else 1.0


def _overlapped(plan: ProductPlan, network: NetworkFigures, lab: LabFigures) -> dict[str, float]:
    """Seconds of each thing that goes on at the same time as the others."""
    devices = _busy(plan, network)
    down = plan.down_bytes(network.devices)
    most = max(plan.flops / devices, _largest_flops(plan)) * _slowness(plan.dtype)
    return {
        "the volunteers' arithmetic": most / network.flops_per_s,
        "the volunteers' downloads": down / devices / network.down_bytes_per_s,
        "the volunteers' uploads": plan.up_bytes / devices / network.up_bytes_per_s,
        UPLINK: down / lab.uplink_bytes_per_s,
        "the lab's downlink": plan.up_bytes / lab.downlink_bytes_per_s,
        "verification": check_flops(plan) / lab.verify_flops_per_s if plan.tiles else 0.0,
    }


def _one_after_another(plan: ProductPlan, network: NetworkFigures, lab: LabFigures) -> float:
    """Seconds when every device fetches, computes and sends in turn and finds nothing cached."""
    if not plan.tiles:
        return 0.0
    devices = _busy(plan, network)
    rounds = -(-len(plan.tiles) // devices)
    down = plan.down_bytes(cached=False) / len(plan.tiles)
    up = plan.up_bytes / len(plan.tiles)
    unit = (
        _largest_flops(plan) * _slowness(plan.dtype) / network.flops_per_s
        + down / min(network.down_bytes_per_s, lab.uplink_bytes_per_s / devices)
        + up / min(network.up_bytes_per_s, lab.downlink_bytes_per_s / devices)
        + 2 * network.round_trip_s
    )
    return rounds * unit + check_flops(plan) / lab.verify_flops_per_s


def _first_and_last(plan: ProductPlan, network: NetworkFigures, lab: LabFigures) -> float:
    """Seconds before the first product can begin and after the last has ended."""
    if not plan.tiles:
        return 0.0
    first = sum(panel.nbytes for panel in plan.panels(plan.tiles[0])[:2])
    m, n = plan.tiles[-1].shape
    last = m * n * itemsize(plan.dtype)
    down = min(network.down_bytes_per_s, lab.uplink_bytes_per_s / _busy(plan, network))
    return first / down + last / network.up_bytes_per_s + 4 * network.round_trip_s


def _busy(plan: ProductPlan, network: NetworkFigures) -> int:
    return max(1, min(network.devices, len(plan.tiles)))


def _largest_flops(plan: ProductPlan) -> int:
    largest = max(plan.tiles, key=lambda tile: tile.shape[0] * tile.shape[1], default=None)
    return 0 if largest is None else flops(plan.graph(largest))


def _lab_disk_bytes(plan: ProductPlan, network: NetworkFigures) -> int:
    size = itemsize(plan.dtype)
    largest = max((tile.shape[0] * tile.shape[1] for tile in plan.tiles), default=0)
    waiting = min(len(plan.tiles), RESULTS_IN_FLIGHT * network.devices)
    return (plan.m * plan.n + waiting * largest) * size


def _verdict(plan: ProductPlan, low: float, high: float, alone: float, limited_by: str) -> str:
    if not plan.tiles:
        return "There is nothing to compute: the lab node writes the result itself."
    network = f"{time_range(low, high)} on the network"
    if alone <= low:
        return (
            f"Faster on your own machine: about {duration(alone)} there, {network},"
            f" where {limited_by} will take longest."
        )
    if alone <= high:
        return (
            f"Perhaps faster on your own machine: about {duration(alone)} there, {network},"
            f" limited by {limited_by}."
        )
    return (
        f"Faster on the network: {network}, about {duration(alone)} on your own machine;"
        f" limited by {limited_by}."
    )


def time_range(low: float, high: float) -> str:
    """Two lengths of time as `1 to 1.6 s`, or one where both read the same."""
    first, second = duration(low), duration(high)
    if first == second:
        return first
    number, unit = first.split(" ")
    return f"{number} to {second}" if second.endswith(f" {unit}") else f"{first} to {second}"


def duration(seconds: float) -> str:
    """A length of time for people, to two digits."""
    for size, name in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return (
                f"{seconds / size:.2g} {name}"
                if seconds < 100 * size
                else f"{seconds / size:.0f} {name}"
            )
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"
