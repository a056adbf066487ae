"""Quantities in the words of the reader."""

from datetime import timedelta

import pytest
from django.utils import timezone, translation

from gpugoblin_site import readable


def spaced(text: str) -> str:
    return text.replace(readable.SPACE, " ")


@pytest.mark.parametrize(
    ("value", "english", "vietnamese"),
    [
        (0, "0 FLOP", "0 FLOP"),
        (999, "999 FLOP", "999 FLOP"),
        (999.6, "1.00 kFLOP", "1,00 kFLOP"),
        (2.4e15, "2.40 PFLOP", "2,40 PFLOP"),
        (12.34e12, "12.3 TFLOP", "12,3 TFLOP"),
        (999.94e9, "1.00 TFLOP", "1,00 TFLOP"),
        (1.5e27, "1,500,000 ZFLOP", "1.500.000 ZFLOP"),
    ],
)
def test_flops(value: float, english: str, vietnamese: str) -> None:
    with translation.override("en"):
        assert spaced(readable.flops(value)) == english
    with translation.override("vi"):
        assert spaced(readable.flops(value)) == vietnamese


def test_a_short_amount_drops_zeros_only_at_its_end() -> None:
    with translation.override("en"):
        assert spaced(readable.flops(2.5e15, short=True)) == "2.5 PFLOP"
        assert spaced(readable.flops(2e15, short=True)) == "2 PFLOP"
        assert spaced(readable.flops(100e15, short=True)) == "100 PFLOP"
        assert spaced(readable.amount_of_bytes(1536, short=True)) == "1.5 KiB"


def test_bytes_go_by_1024() -> None:
    with translation.override("en"):
        assert spaced(readable.amount_of_bytes(1023)) == "1,023 B"
        assert spaced(readable.amount_of_bytes(1024)) == "1.00 KiB"
        assert spaced(readable.amount_of_bytes(5 << 30)) == "5.00 GiB"


@pytest.mark.parametrize(
    ("seconds", "english", "vietnamese"),
    [
        (0, "0 s", "0 giây"),
        (0.004, "< 1 s", "< 1 giây"),
        (0.7, "< 1 s", "< 1 giây"),
        (59.4, "59 s", "59 giây"),
        (60, "1 min", "1 phút"),
        (200, "3 min 20 s", "3 phút 20 giây"),
        (3600 * 24 * 3 + 59, "3 d", "3 ngày"),
        (3600 * 25, "1 d 1 h", "1 ngày 1 giờ"),
        (-5, "0 s", "0 giây"),
    ],
)
def test_durations_have_two_units(seconds: float, english: str, vietnamese: str) -> None:
    with translation.override("en"):
        assert spaced(readable.duration(seconds)) == english
        assert spaced(readable.duration(timedelta(seconds=seconds))) == english
    with translation.override("vi"):
        assert spaced(readable.duration(seconds)) == vietnamese


def test_ago_names_the_largest_unit_and_knows_the_future() -> None:
    now = timezone.now()
    with translation.override("en"):
        assert spaced(readable.ago(now - timedelta(minutes=3, seconds=20))) == "3 min ago"
        assert spaced(readable.ago(now + timedelta(hours=2, minutes=1))) == "in 2 h"
    with translation.override("vi"):
        assert spaced(readable.ago(now - timedelta(days=2))) == "2 ngày trước"
