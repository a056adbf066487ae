"""What labs have used of their quota today. The day is that of UTC, as where units are leased."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from research_access.models import Lab
from workunits.models import LabDay


@dataclass(frozen=True)
class Quota:
    """Floating point operations of one lab today: verified, and allowed."""

    used: float
    allowed: int

    @property
    def percent(self) -> int:
        """Used of allowed, at most 100."""
        return min(100, round(100 * self.used / self.allowed)) if self.allowed else 100


def quotas(labs: Iterable[Lab]) -> dict[int, Quota]:
    """By the labs' numbers, in one query."""
    rows = list(labs)
    today = datetime.now(UTC).date()
    days = LabDay.objects.filter(lab__in=[lab.pk for lab in rows], day=today)
    used = dict(days.values_list("lab_id", "flops"))
    return {lab.pk: Quota(used.get(lab.pk, 0.0), lab.daily_flops) for lab in rows}
