"""Numbers for people: bytes, operations, times, shares."""

from __future__ import annotations

from opgraph.partition.estimate import duration, time_range

BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
DECIMAL = ("", "k", "M", "G", "T", "P", "E")


def size(count: float) -> str:
    """Bytes, as `256 MiB`."""
    return _scaled(count, 1024, BINARY)


def flops(count: float) -> str:
    """Floating-point operations, as `1.10 Tflop`."""
    return _scaled(count, 1000, [f"{letter}flop" for letter in DECIMAL])


def speed(flops_per_s: float) -> str:
    """Floating-point operations a second, as `97.2 Gflop/s`."""
    return f"{flops(flops_per_s)}/s"


def seconds(low: float, high: float | None = None) -> str:
    """A time, or a range of it where both ends differ in what is shown."""
    first = max(low, 0.0)
    return time_range(first, first if high is None else max(high, 0.0))


def shape(lengths: tuple[int, ...] | list[int]) -> str:
    """A shape, as `8192 x 4096`; `scalar` where there are no axes."""
    return " x ".join(str(length) for length in lengths) or "scalar"


def count(number: int, noun: str) -> str:
    """A number with its noun: `1 unit`, `16 units`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def share(part: float) -> str:
    """A share of 1 in percent."""
    return f"{100 * part:.0f} %"


def _scaled(number: float, step: int, units: tuple[str, ...] | list[str]) -> str:
    power = 0
    while abs(number) >= step and power < len(units) - 1:
        number /= step
        power += 1
    whole, _, part = f"{number:.{2 if number < 10 else 1}f}".partition(".")
    return f"{whole}{f'.{part}' if part.strip('0') else ''} {units[power]}"


__all__ = ["count", "duration", "flops", "seconds", "shape", "share", "size", "speed"]
