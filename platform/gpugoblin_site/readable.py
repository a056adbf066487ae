"""Quantities as people read them, in the reader's language: 2.4 PFLOP, 1.5 GiB, 3 min 20 s."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.utils import formats, timezone
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

SPACE = "\N{NO-BREAK SPACE}"
_SI = ("", "k", "M", "G", "T", "P", "E", "Z")
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIMES = (
    pgettext_lazy("time", "d"),
    pgettext_lazy("time", "h"),
    pgettext_lazy("time", "min"),
    pgettext_lazy("time", "s"),
)


def number(value: float, places: int = 0) -> str:
    """A number with the reader's decimal sign and groups of three digits."""
    # Rounded first, since Django cuts off.
    rounded = round(value, places) if places else round(value)
    return formats.number_format(rounded, places, use_l10n=True, force_grouping=True)


def flops(value: float, *, short: bool = False) -> str:
    """Floating-point operations in three digits, `2.40 PFLOP`; `short` drops zeros at the end."""
    size, prefix = _scaled(value, 1000, _SI)
    return f"{_three_digits(size, exact=not prefix, short=short)}{SPACE}{prefix}FLOP"


def amount_of_bytes(value: float, *, short: bool = False) -> str:
    """Bytes in powers of 1024, `1.50 GiB`; `short` drops zeros at the end."""
    size, unit = _scaled(value, 1024, _BINARY)
    return f"{_three_digits(size, exact=unit == 'B', short=short)}{SPACE}{unit}"


def duration(value: timedelta | float) -> str:
    """A span of time in its two largest units: `3 min 20 s`; below a second `< 1 s`."""
    exact = value.total_seconds() if isinstance(value, timedelta) else value
    if 0 < exact < 1:
        return f"<{SPACE}1{SPACE}{_TIMES[-1]}"
    seconds = round(exact)
    minutes, second = divmod(max(seconds, 0), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    parts = list(zip((days, hour, minute, second), _TIMES, strict=True))
    first = next((at for at, (count, _unit) in enumerate(parts) if count), len(parts) - 1)
    shown = [part for at, part in enumerate(parts[first : first + 2]) if part[0] or at == 0]
    return SPACE.join(f"{number(count)}{SPACE}{unit}" for count, unit in shown)


def ago(moment: datetime) -> str:
    """How long since a moment, in its largest unit: `3 min ago`."""
    seconds = round((timezone.now() - moment).total_seconds())
    if seconds < 0:
        return _("in %(duration)s") % {"duration": duration(_largest(-seconds))}
    return _("%(duration)s ago") % {"duration": duration(_largest(seconds))}


def _largest(seconds: int) -> int:
    for unit in (86400, 3600, 60):
        if seconds >= unit:
            return seconds // unit * unit
    return seconds


def _scaled(value: float, base: int, units: tuple[str, ...]) -> tuple[float, str]:
    size, at = float(value), 0
    # What would be shown as 1,000 is shown as 1 of the next unit.
    while abs(size) >= base - 0.5 and at < len(units) - 1:
        size, at = size / base, at + 1
    return size, units[at]


def _three_digits(size: float, *, exact: bool, short: bool) -> str:
    places = 0 if exact or abs(size) >= 99.95 else 1 if abs(size) >= 9.995 else 2
    if short:
        digits = f"{size:.{places}f}".rstrip("0") if places else ""
        places = len(digits.partition(".")[2])
    return number(size, places)
