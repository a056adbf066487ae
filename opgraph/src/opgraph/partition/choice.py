"""The plan for a network and a lab together.

A plan for fewer devices than there are has larger tiles, which move fewer bytes. Where the lab's
uplink is what takes longest, that is faster, though some devices have less to do.
"""

from __future__ import annotations

from dataclasses import replace

from opgraph.partition.estimate import UPLINK, estimate
from opgraph.partition.figures import LabFigures, NetworkFigures
from opgraph.partition.product import ProductPlan, plan_product

DIVISORS = (2, 4)
"""Planned for at least a quarter of the devices: a lost unit must not cost too much."""


def choose_plan(
    m: int, k: int, n: int, dtype: str, network: NetworkFigures, lab: LabFigures
) -> ProductPlan:
    """The plan for all devices, or a coarser one where the uplink decides. Raises PlanError."""
    plan = plan_product(m, k, n, dtype, network)
    if estimate(plan, network, lab).limited_by != UPLINK:
        return plan

    def seconds(plan: ProductPlan) -> float:
        return sum(estimate(plan, network, lab).seconds)

    fewer = (
        plan_product(m, k, n, dtype, replace(network, devices=network.devices // divisor))
        for divisor in DIVISORS
        if network.devices >= divisor
    )
    return min(plan, *fewer, key=seconds)
