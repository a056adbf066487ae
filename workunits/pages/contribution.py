"""What an account contributed: exact sums, by day and by kind of computation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import NamedTuple

from django.utils import timezone
from django.utils.translation import gettext as _

from gpugoblin_site import charts
from gpugoblin_site.charts import Chart, Series
from workunits.database import row, rows
from workunits.pages import words

CHART_DAYS = 30

_TOTALS = """
SELECT coalesce(sum(flops), 0) AS flops, coalesce(sum(units), 0)::bigint AS units,
       min(day) AS first, max(day) AS last
FROM workunits_creditday WHERE account_id = %(account)s"""

_BY_KIND = """
SELECT kind, sum(flops) AS flops, sum(units)::bigint AS units
FROM workunits_creditday WHERE account_id = %(account)s GROUP BY kind ORDER BY 2 DESC, kind"""

_BY_DAY = """
SELECT day, sum(flops) AS flops, sum(units)::bigint AS units
FROM workunits_creditday WHERE account_id = %(account)s AND day > %(after)s::date
GROUP BY day ORDER BY day"""

_EVERY_DAY = """
SELECT day, kind, flops, units FROM workunits_creditday
WHERE account_id = %(account)s ORDER BY day, kind"""

_PLACE = """
SELECT accepted, rejected FROM workunits_standing WHERE account_id = %(account)s"""


class Sum(NamedTuple):
    """Verified floating-point operations and results."""

    flops: int
    units: int


class Day(NamedTuple):
    """One day (UTC)."""

    day: date
    flops: int
    units: int


class Kind(NamedTuple):
    """One kind of computation."""

    kind: words.Text
    flops: int
    units: int


@dataclass(frozen=True, slots=True)
class Contribution:
    """`days` are the last `CHART_DAYS`, those without anything too; the sums are over all time."""

    total: Sum
    first: date | None
    rejected: int
    kinds: list[Kind]
    days: list[Day]

    @property
    def recent(self) -> Sum:
        """Of the days that are shown."""
        return Sum(sum(day.flops for day in self.days), sum(day.units for day in self.days))

    @property
    def chart(self) -> Chart:
        """The days as bars."""
        verified = Series(_("Verified"), [day.flops for day in self.days])
        labels = charts.days([day.day for day in self.days])
        title = _("Verified operations by day (UTC)")
        return Chart(title, labels, [verified], unit="flops", first=_("Day (UTC)"))


def contribution(account: int) -> Contribution:
    """The sums of the account, in four queries."""
    of = {"account": account}
    total, place = row(_TOTALS, of), row(_PLACE, of)
    assert total is not None  # noqa: S101 - an aggregate always gives a row
    kinds = [Kind(words.kind(e.kind), int(e.flops), e.units) for e in rows(_BY_KIND, of)]
    return Contribution(
        total=Sum(int(total.flops), total.units),
        first=total.first,
        rejected=0 if place is None else place.rejected,
        kinds=kinds,
        days=_last_days(account),
    )


def _last_days(account: int) -> list[Day]:
    today = timezone.now().date()
    every = [today - timedelta(days=back) for back in range(CHART_DAYS - 1, -1, -1)]
    after = every[0] - timedelta(days=1)
    found = {e.day: e for e in rows(_BY_DAY, {"account": account, "after": after})}
    return [
        Day(day, int(found[day].flops), found[day].units) if day in found else Day(day, 0, 0)
        for day in every
    ]


def every_day(account: int) -> Iterator[tuple[date, words.Text, int, int]]:
    """Day, kind, verified results and flops: everything there is, for the file."""
    for each in rows(_EVERY_DAY, {"account": account}):
        yield each.day, words.kind(each.kind), each.units, int(each.flops)
