from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opgraph.partition.estimate import Estimate, check_flops, duration, estimate
from opgraph.partition.figures import LabFigures, NetworkFigures
from opgraph.partition.product import plan_product

GIGABIT, HOME = 125e6, 12.5e6


def judged(
    size: int, devices: int, link: float, lab_speed: float, lab_link: float = GIGABIT
) -> Estimate:
    network = NetworkFigures(devices, 8 << 30, 1e12, link, link / 4)
    lab = LabFigures(lab_speed, lab_link, lab_link, 2e10)
    return estimate(plan_product(size, size, size, "float32", network), network, lab)


def test_a_product_over_home_links_is_faster_at_home() -> None:
    found = judged(8192, 16, HOME, 197e9)
    assert found.faster_alone
    assert found.verdict.startswith("Faster on your own machine: about 5.6 s there, ")
    assert found.lab_alone_seconds == pytest.approx(2 * 8192**3 / 197e9)


def test_a_lab_with_a_slow_machine_and_fast_links_should_use_the_network() -> None:
    found = judged(65_536, 64, GIGABIT, 50e9, lab_link=20 * GIGABIT)
    assert not found.faster_alone
    assert found.verdict.startswith("Faster on the network: ")
    assert found.seconds[1] < found.lab_alone_seconds


def test_between_the_two_it_says_perhaps() -> None:
    low, high = judged(16_384, 16, GIGABIT, 1e11).seconds
    found = judged(16_384, 16, GIGABIT, 2 * 16_384**3 / ((low + high) / 2))
    assert found.verdict.startswith("Perhaps faster on your own machine: ")
    assert not found.faster_alone


@pytest.mark.parametrize(
    ("limit", "network", "lab"),
    [
        ("the lab's uplink", (9e9, 1e12, 1e12), (1e7, 1e12, 1e15)),
        ("the lab's downlink", (9e15, 1e12, 1e12), (1e12, 1e7, 1e15)),
        ("the volunteers' arithmetic", (1e9, 1e12, 1e12), (1e12, 1e12, 1e15)),
        ("the volunteers' downloads", (1e15, 1e7, 1e12), (1e12, 1e12, 1e15)),
        ("the volunteers' uploads", (1e15, 1e12, 1e6), (1e12, 1e12, 1e15)),
        ("verification", (1e15, 1e12, 1e12), (1e12, 1e12, 1e6)),
    ],
)
def test_what_limits_is_named(
    limit: str, network: tuple[float, float, float], lab: tuple[float, float, float]
) -> None:
    speed, down, up = network
    volunteers = NetworkFigures(4, 2 << 30, speed, down, up)
    plan = plan_product(4096, 4096, 4096, "float32", volunteers)
    found = estimate(plan, volunteers, LabFigures(1e11, *lab))
    assert found.limited_by == limit
    assert limit in found.verdict


def test_bytes_memory_and_disk_are_those_of_the_plan() -> None:
    volunteers = NetworkFigures(2, 2 << 30, 1e11, 1e8, 1e8)
    plan = plan_product(8192, 8192, 8192, "float32", volunteers)
    found = estimate(plan, volunteers, LabFigures(1e11, 1e8, 1e8, 1e10))
    assert found.units == len(plan.tiles)
    assert found.down_bytes == plan.down_bytes(2)
    assert found.up_bytes == 4 * 8192**2
    assert found.memory_bytes == plan.memory_bytes
    assert found.lab_disk_bytes == 4 * 8192**2 + 4 * 4 * 2048 * 4096
    assert found.exposure == plan.exposure(2)
    assert json.loads(json.dumps(found.to_dict()))["seconds"] == list(found.seconds)


def test_a_check_is_a_small_part_of_the_product() -> None:
    plan = plan_product(8192, 8192, 8192, "float32", NetworkFigures(2, 2 << 30, 1, 1, 1))
    assert 0.002 < check_flops(plan) / plan.flops < 0.01


def test_nothing_to_compute_is_said() -> None:
    volunteers = NetworkFigures(2, 2 << 30, 1e11, 1e8, 1e8)
    plan = plan_product(8, 0, 8, "float32", volunteers)
    found = estimate(plan, volunteers, LabFigures(1e11, 1e8, 1e8, 1e10))
    assert found.seconds == (0, 0)
    assert found.limited_by == "nothing"
    assert found.verdict.startswith("There is nothing to compute")


@given(
    st.integers(1, 20_000),
    st.integers(1, 20_000),
    st.integers(1, 20_000),
    st.integers(1, 50),
    st.floats(1e5, 1e10),
)
def test_the_range_is_one_and_the_verdict_agrees_with_it(
    m: int, k: int, n: int, devices: int, link: float
) -> None:
    volunteers = NetworkFigures(devices, 1 << 30, 1e11, link, link)
    plan = plan_product(m, k, n, "float64", volunteers)
    found = estimate(plan, volunteers, LabFigures(1e11, link, link, 1e10))
    low, high = found.seconds
    assert 0 < low <= high
    assert found.faster_alone == (found.lab_alone_seconds <= low)
    assert found.faster_alone == found.verdict.startswith("Faster on your own machine")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0123, "0.012 s"),
        (5.58, "5.6 s"),
        (119, "119 s"),
        (125, "2.1 min"),
        (7199, "120 min"),
        (10_000, "2.8 h"),
        (200_000, "2.3 d"),
        (86_400 * 250, "250 d"),
    ],
)
def test_durations_are_for_people(seconds: float, text: str) -> None:
    assert duration(seconds) == text
