"""What a plan is made for: the volunteers' machines and the lab's own."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class NetworkFigures:
    """The volunteers' devices. All but `devices` are for one device; memory is a low quantile."""

    devices: int
    memory_bytes: int
    flops_per_s: float
    down_bytes_per_s: float
    up_bytes_per_s: float
    round_trip_s: float = 0.05


@dataclass(frozen=True, slots=True)
class LabFigures:
    """The lab's machine: its own speed at such a product, the speed of its checks, its link."""

    flops_per_s: float
    uplink_bytes_per_s: float
    downlink_bytes_per_s: float
    verify_flops_per_s: float
