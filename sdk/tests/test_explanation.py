"""What is said before anything is computed."""

from __future__ import annotations

import json

import numpy
import pytest

import gpugoblin
from gpugoblin import NetworkFigures, errors

from .fake_control import FakeLab

HOME = NetworkFigures(
    devices=16, memory_bytes=2 << 30, flops_per_s=1e11, down_bytes_per_s=12.5e6,
    up_bytes_per_s=2.5e6,
)  # fmt: skip


LAB = gpugoblin.LabFigures(2e11, 1.25e8, 1.25e8, 2e10)


def big(side: int = 8192) -> gpugoblin.Array:
    return gpugoblin.assume((side, side)) @ gpugoblin.assume((side, side))


def test_an_assumed_network_needs_no_lab() -> None:
    found = gpugoblin.explain(big(), network=HOME, lab=LAB)
    text = str(found)
    for label in ("plan", "arithmetic", "bytes", "memory", "disk", "network", "time", "exposure"):
        assert f"\n  {label} " in text
    assert "16 machines assumed" in text
    assert "on the lab's own machine" in " ".join(text.split())
    assert found.slower
    assert found.verdict.startswith("Faster on your own machine")
    assert all(len(line) < 80 for line in text.splitlines())
    assert big().explain(network=HOME).to_dict()["flops"] == found.to_dict()["flops"]


def test_a_fast_network_and_a_slow_lab_are_told_so() -> None:
    fast = NetworkFigures(64, 8 << 30, 1e12, 1e9, 1e9, 0.001)
    slow = gpugoblin.LabFigures(1e9, 1e9, 1e9, 1e9)
    found = gpugoblin.explain(big(), network=fast, lab=slow)
    assert not found.slower
    assert found.verdict.startswith("Faster on the network")


def test_local_arrays_can_be_explained_too() -> None:
    found = gpugoblin.explain(gpugoblin.local.array(numpy.eye(4)) @ numpy.eye(4), network=HOME)
    assert found.possible
    assert "array @ array" in str(found)


def test_row_25_an_impossible_plan_prints_and_does_not_raise() -> None:
    tiny = NetworkFigures(4, 1000, 1e10, 1e7, 1e6)
    found = big().explain(network=tiny)
    assert not found.possible
    assert "assumed @ assumed  ->  8192 x 8192 float32   <-- memory_too_small" in str(found)
    assert "NOT POSSIBLE" in str(found)
    assert "not possible" in found._repr_html_()
    assert big().explain(network=HOME, memory=1000).problem


def test_row_25_submit_raises_the_text_that_explain_prints(lab: gpugoblin.Lab) -> None:
    lazy = lab.array(numpy.eye(4)) @ numpy.eye(4)
    found = lazy.explain(memory=10)
    assert not found.possible
    with pytest.raises(errors.MemoryTooSmall) as caught:
        lazy.submit(memory=10)
    assert caught.value.detail == found.problem
    assert found.problem in str(found)


def test_the_labs_own_plan(lab: gpugoblin.Lab, fake: FakeLab) -> None:
    fake.save("A.npy", numpy.eye(8))
    lazy = lab.open("A.npy") @ lab.open("A.npy")
    found = lazy.explain()
    assert "A.npy @ A.npy  ->  8 x 8 float64" in str(found)
    assert "2 machines online now" in str(found)
    assert "Kept for 30 days." in str(found)
    assert found.slower
    assert lazy.explain(network=HOME).assumed
    fake.devices = 0
    assert "0 machines online, last seen 2 h ago" in str(lazy.explain())


def test_a_product_without_units_is_explained_too() -> None:
    found = (gpugoblin.assume((4, 0)) @ gpugoblin.assume((0, 4))).explain(network=HOME, lab=LAB)
    assert found.possible
    assert "no units" in str(found)
    assert "Nothing is computed by others" in str(found)


def test_the_blind_spot_is_told() -> None:
    assert "wrong entry can hide" in big().explain(network=HOME, lab=LAB).to_dict()["verification"]


def test_a_lab_of_other_figures_can_be_assumed(lab: gpugoblin.Lab) -> None:
    found = (lab.array(numpy.eye(4)) @ numpy.eye(4)).explain(lab=LAB)
    assert found.assumed


def test_a_grade_that_does_not_exist_is_refused(lab: gpugoblin.Lab) -> None:
    with pytest.raises(errors.BadMessage, match="standard or full, not 'best'"):
        (lab.array(numpy.eye(4)) @ numpy.eye(4)).submit(grade="best")


def test_figures_are_plain_values() -> None:
    found = big().explain(network=HOME).to_dict()
    assert json.loads(json.dumps(found)) == found
    assert found["assumed"] is True
    assert found["estimate"]["low_s"] <= found["estimate"]["high_s"]


def test_the_card_escapes_what_it_shows() -> None:
    from gpugoblin import cards

    text = cards.card("<b>", "<i>", "good", "&", [("<x>", "<y>")], done=0.5, footer="<z>")
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert 'aria-valuenow="50.0"' in text
