"""What would cost too much to find at every look; the scheduler writes it."""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Hour(models.Model):
    """What the network verified in one hour, and how many machines were there."""

    hour = models.DateTimeField(primary_key=True)
    """Its beginning (UTC)."""
    flops = models.DecimalField(max_digits=60, decimal_places=0)
    units = models.BigIntegerField()
    """Verified, as are the flops: sums of `JobHour`."""
    machines = models.IntegerField(default=0)
    """The most that were on line when it was looked."""

    def __str__(self) -> str:
        return f"{self.hour:%Y-%m-%d %H:00}"


class Measured(models.Model):
    """One row: the network as the scheduler saw it last."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    at = models.DateTimeField()
    machines = models.IntegerField()
    devices = models.IntegerField()
    labs = models.IntegerField()
    open_leases = models.BigIntegerField()
    reported = models.BigIntegerField()
    """Results that wait for a verdict."""
    waiting = models.BigIntegerField()
    """Units that want a lease; counted up to `statistics.MOST_WAITING`."""
    verified = models.BigIntegerField()
    """Units verified so far."""
    verified_flops = models.FloatField()
    quarantined = models.BigIntegerField()
    disputed = models.BigIntegerField()
    """Jobs that are paused since volunteers computed other costs."""
    verify_p50_s = models.FloatField(null=True)
    verify_p95_s = models.FloatField(null=True)
    """Seconds from report to verified; none without a result among the last events."""
    verify_results = models.IntegerField()
    """Of so many results."""
    leases_looked_at = models.IntegerField()
    refusals = models.JSONField()
    """`{"state/code": leases}` among the newest leases of a day."""
    versions = models.JSONField()
    """`{client version: machines on line}`."""

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="measured_single_row")
        ]

    def __str__(self) -> str:
        return f"figures of {self.at}"
