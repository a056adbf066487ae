"""What a chart shows; `{% chart %}` draws it (plotting.py), with a table of the same data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from gpugoblin_site import readable


class Unit(NamedTuple):
    """How the values of a chart are written, and which steps its axis may have."""

    exact: Callable[[float], str]
    """In the table."""
    short: Callable[[float], str]
    """At the axis, where values are round."""
    base: int = 10
    """Round steps are round in powers of this."""
    whole: bool = False


def _short_flops(value: float) -> str:
    return readable.flops(value, short=True)


def _short_bytes(value: float) -> str:
    return readable.amount_of_bytes(value, short=True)


UNITS = {
    "number": Unit(readable.number, readable.number, whole=True),
    "flops": Unit(readable.flops, _short_flops),
    "bytes": Unit(readable.amount_of_bytes, _short_bytes, base=1024),
    "seconds": Unit(readable.duration, readable.duration, base=60),
}


@dataclass(frozen=True)
class Series:
    """One row of values; None where nothing was measured."""

    name: str | Promise
    values: Sequence[float | None]


@dataclass(frozen=True)
class Chart:
    """What is shown, in order from left to right: a label and a value of each series.

    `kind` is `bars` for amounts of a span of time, `lines` for what was measured at its end;
    `unit` is a key of `UNITS`; `first` heads the column of labels in the table.
    """

    title: str | Promise
    labels: Sequence[str]
    series: Sequence[Series]
    kind: str = "bars"
    unit: str = "number"
    first: str | Promise = field(default=_("Time"))
    short: Sequence[str] = ()
    """The labels as the axis writes them, where they differ."""

    def __post_init__(self) -> None:
        if self.kind not in ("bars", "lines") or self.unit not in UNITS:
            raise ValueError(f"no such chart: {self.kind} of {self.unit}")
        if self.short and len(self.short) != len(self.labels):
            raise ValueError("every label needs its short form")
        if any(len(each.values) != len(self.labels) for each in self.series):
            raise ValueError("every series needs a value for every label")


def hours(moments: Sequence[datetime]) -> list[str]:
    """Labels of hours, in the reader's zone: `14:00`, and the day where one begins."""
    labels = []
    for moment in moments:
        local = timezone.localtime(moment)
        clock = date_format(local, "H:i")
        labels.append(f"{_day(local)} {clock}" if local.hour == 0 else clock)
    return labels


def hours_at_axis(moments: Sequence[datetime]) -> list[str]:
    """The same short: where a day begins, its name stands for midnight."""
    local = [timezone.localtime(moment) for moment in moments]
    return [_day(each) if each.hour == 0 else date_format(each, "H:i") for each in local]


def days(moments: Sequence[date]) -> list[str]:
    """Labels of days: `24 Nov`."""
    return [_day(moment) for moment in moments]


def _day(moment: date) -> str:
    # Translators: a day without its year, as Django's date filter writes it
    return date_format(moment, str(_("j M")))
