"""What the home page says about this moment."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Sum
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from gpugoblin_site import readable
from workunits.models import Hour, Measured

SHOWN_FOR = timedelta(minutes=15)
"""Figures that the scheduler found longer ago say nothing about now."""


class Figure(NamedTuple):
    """One number and what it counts."""

    label: str | Promise
    value: str


class Now(NamedTuple):
    """The network as the scheduler saw it last."""

    at: datetime
    figures: list[Figure]


def network_now() -> Now | None:
    """None where nobody takes part at this moment, or nobody has looked lately."""
    now = timezone.now()
    seen = Measured.objects.filter(at__gt=now - SHOWN_FOR).first()
    if seen is None or not (seen.machines or seen.open_leases):
        return None
    day = Hour.objects.filter(hour__gt=now - timedelta(hours=24)).aggregate(flops=Sum("flops"))
    return Now(
        seen.at,
        [
            Figure(_("machines on line"), readable.number(seen.machines)),
            Figure(_("labs on line"), readable.number(seen.labs)),
            Figure(_("units in computation"), readable.number(seen.open_leases)),
            Figure(_("verified in 24 hours"), readable.flops(float(day["flops"] or 0))),
        ],
    )
