from __future__ import annotations

from dataclasses import replace

import pytest

from opgraph.errors import PlanError
from opgraph.partition.choice import choose_plan
from opgraph.partition.estimate import estimate
from opgraph.partition.figures import LabFigures, NetworkFigures
from opgraph.partition.product import plan_product

GIGABIT, HOME = 125e6, 12.5e6
LOOPBACK = NetworkFigures(2, 2 << 30, 1.2e11, 1e9, 1e9, 0.005)
FAST_LAB = LabFigures(2.4e11, 1e9, 1e9, 2e10)


@pytest.mark.parametrize("size", [2048, 4096, 8192])
def test_where_arithmetic_decides_every_device_is_planned_for(size: int) -> None:
    plan = choose_plan(size, size, size, "float32", LOOPBACK, FAST_LAB)
    assert plan == plan_product(size, size, size, "float32", LOOPBACK)


def test_where_the_uplink_decides_tiles_are_larger() -> None:
    network = NetworkFigures(64, 2 << 30, 1e12, HOME, HOME / 5)
    lab = LabFigures(2e11, GIGABIT, GIGABIT, 2e10)
    size = 65_536
    all_devices = plan_product(size, size, size, "float32", network)
    plan = choose_plan(size, size, size, "float32", network, lab)
    assert len(plan.tiles) < len(all_devices.tiles)
    assert sum(estimate(plan, network, lab).seconds) < 0.8 * sum(
        estimate(all_devices, network, lab).seconds
    )
    assert len(plan.tiles) >= network.devices


def test_empty_products_and_impossible_ones() -> None:
    assert choose_plan(0, 5, 5, "float64", LOOPBACK, FAST_LAB).tiles == ()
    with pytest.raises(PlanError):
        choose_plan(5, 5, 5, "float64", replace(LOOPBACK, devices=0), FAST_LAB)
    with pytest.raises(PlanError):
        choose_plan(5, 5, 5, "float64", replace(LOOPBACK, memory_bytes=8), FAST_LAB)
