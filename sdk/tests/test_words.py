"""Numbers for people."""

from __future__ import annotations

import pytest

from gpugoblin import words


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1 KiB"), (1536, "1.50 KiB"), (64 << 20, "64 MiB"),
     (10.5 * (1 << 30), "10.5 GiB"), (1 << 62, "4096 PiB")],
)  # fmt: skip
def test_bytes(count: float, text: str) -> None:
    assert words.size(count) == text


def test_operations() -> None:
    assert words.flops(1_099_511_627_776) == "1.10 Tflop"
    assert words.speed(97.2e9) == "97.2 Gflop/s"
    assert words.flops(12) == "12 flop"


def test_times() -> None:
    assert words.seconds(9.0, 9.01) == "9 s"
    assert words.seconds(360, 540) == "6 to 9 min"
    assert words.seconds(30, 540) == "30 s to 9 min"
    assert words.seconds(-1) == "0 s"


def test_shapes_and_counts() -> None:
    assert words.shape([8192, 4096]) == "8192 x 4096"
    assert words.shape(()) == "scalar"
    assert words.count(1, "unit") == "1 unit"
    assert words.count(2000, "unit") == "2,000 units"
    assert words.share(0.25) == "25 %"
