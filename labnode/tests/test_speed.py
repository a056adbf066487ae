"""The lab's own speed: a plan that is asked for at once compares with what was measured."""

from __future__ import annotations

import threading
import time

import pytest

from goblin_labnode import speed as speeds
from goblin_labnode.speed import ASSUMED_FLOPS_PER_S, Speed, measure_flops


def test_without_a_measurement_a_figure_is_assumed_at_once() -> None:
    began = time.monotonic()
    assert Speed().flops_per_s == ASSUMED_FLOPS_PER_S
    assert time.monotonic() - began < 0.5


def test_a_plan_waits_for_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow() -> float:
        time.sleep(0.3)
        return 7.0

    monkeypatch.setattr(speeds, "measure_flops", slow)
    speed = Speed()
    speed.begin()
    threading.Thread(target=speed.measure).start()
    assert speed.flops_per_s == 7.0


def test_a_measurement_that_fails_or_never_ends_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails() -> float:
        raise MemoryError

    monkeypatch.setattr(speeds, "measure_flops", fails)
    monkeypatch.setattr(speeds, "_PATIENCE_S", 0.1)
    speed = Speed()
    speed.begin()
    assert speed.flops_per_s == ASSUMED_FLOPS_PER_S
    with pytest.raises(MemoryError):
        speed.measure()
    assert speed.flops_per_s == ASSUMED_FLOPS_PER_S


def test_this_machine_has_a_speed() -> None:
    assert measure_flops() > 1e8
