"""How the network is: what the scheduler measured last, and a day by the hour."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from gpugoblin_site import charts
from gpugoblin_site.charts import Chart, Series
from workunits import incidents, statistics
from workunits.models import Incident, Measured
from workunits.statistics import HourFigures

HOURS = 24


@dataclass(frozen=True, slots=True)
class IncidentFigures:
    """An incident as a reader meets it; `ended` is none while it lasts."""

    began: datetime
    ended: datetime | None
    text: str
    written: datetime

    @property
    def lasted(self) -> timedelta | None:
        return None if self.ended is None else self.ended - self.began


@dataclass(frozen=True, slots=True)
class NetworkStatus:
    """`measured` is none before the scheduler's first look."""

    measured: Measured | None
    is_old: bool
    hours: list[HourFigures]
    lasting: list[IncidentFigures]
    ended: list[IncidentFigures]
    """The last incidents, the newest first."""

    @property
    def is_empty(self) -> bool:
        """Nobody is on line and nothing was verified: there is no network yet."""
        now = self.measured
        silent = now is None or not (now.machines or now.labs or now.open_leases or now.verified)
        return silent and not any(hour.units for hour in self.hours)

    @property
    def flops(self) -> int:
        """Verified in the hours that are shown."""
        return sum(int(hour.flops) for hour in self.hours)

    @property
    def units(self) -> int:
        return sum(hour.units for hour in self.hours)

    @property
    def chart(self) -> Chart:
        """The hours as bars."""
        verified = Series(_("Verified"), [int(hour.flops) for hour in self.hours])
        title = _("Verified operations by the hour")
        return self._chart(title, verified, unit="flops")

    @property
    def machines_chart(self) -> Chart:
        """The most machines that were on line in each hour."""
        machines = Series(_("Machines"), [hour.machines for hour in self.hours])
        return self._chart(_("Machines on line, the most in each hour"), machines)

    def _chart(self, title: str, series: Series, unit: str = "number") -> Chart:
        at = [hour.hour for hour in self.hours]
        axis = charts.hours_at_axis(at)
        return Chart(title, charts.hours(at), [series], unit=unit, first=_("Hour"), short=axis)

    @property
    def at(self) -> datetime | None:
        return None if self.measured is None else self.measured.at


def network_status() -> NetworkStatus:
    """Three queries, however large the network is."""
    measured = statistics.latest()
    is_old = measured is not None and statistics.is_old(measured)
    told = [_figures(each) for each in incidents.shown()]
    return NetworkStatus(
        measured,
        is_old,
        statistics.last_hours(HOURS),
        [each for each in told if each.ended is None],
        [each for each in told if each.ended is not None],
    )


def _figures(incident: Incident) -> IncidentFigures:
    text = incidents.in_language(incident, get_language() or "en")
    return IncidentFigures(incident.began, incident.ended, text, incident.changed)
