"""Jobs, their units, and the units that want a lease."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from goblin_wire.states import Grade, Policy, UnitState
from workunits.models.base import one_of, soft_link


class JobState(StrEnum):
    """A job as the site sees it; its finer states are known to the lab node only."""

    OPEN = "open"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    FINISHED = "finished"


class Job(models.Model):
    """A computation of one lab: sizes only, no names."""

    id = models.BigAutoField(primary_key=True)
    lab = models.ForeignKey("research_access.Lab", models.CASCADE, related_name="+")
    uid = models.UUIDField()
    """The id that the lab made."""
    kind = models.CharField(max_length=32)
    units = models.BigIntegerField()
    """Units announced; they are registered as they become ready."""
    registered = models.BigIntegerField(default=0)
    flops = models.BigIntegerField()
    grade = models.CharField(max_length=16, default=Grade.STANDARD)
    state = models.CharField(max_length=16, default=JobState.OPEN)
    code = models.CharField(max_length=40, default="ok")
    reason = models.CharField(max_length=500, default="")
    swept = models.BooleanField(default=True)
    """Whether the units of a cancelled job were cancelled too."""
    created = models.DateTimeField(auto_now_add=True)
    closed = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("job")
        verbose_name_plural = _("jobs")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lab", "uid"], name="job_lab_uid"),
            one_of("state", JobState, table="job"),
            one_of("grade", Grade, table="job"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["id"], condition=models.Q(swept=False), name="job_unswept"),
            models.Index(fields=["lab"], condition=models.Q(state=JobState.OPEN), name="job_open"),
            models.Index(fields=["lab", "-id"], name="job_lab_newest"),
        ]

    def __str__(self) -> str:
        return gettext("job %(id)s") % {"id": self.uid.hex[:12]}


class JobHour(models.Model):
    """What became of a job's units in one hour (UTC).

    Written by the statement that moves the units, so the two cannot differ. The sum over the hours
    is the job's tally, the sum over the jobs what the network verified in that hour.
    """

    id = models.BigAutoField(primary_key=True)
    job = soft_link("workunits.Job")
    hour = models.DateTimeField()
    units = models.BigIntegerField()
    """Verified."""
    flops = models.DecimalField(max_digits=60, decimal_places=0)
    input_bytes = models.DecimalField(max_digits=60, decimal_places=0)
    """What these units read; a machine that had some of it already was sent less."""
    output_bytes = models.DecimalField(max_digits=60, decimal_places=0)
    put_aside = models.BigIntegerField()
    """Units that were quarantined, less those that are so no more."""

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["job", "hour"], name="jobhour_once")
        ]
        indexes: ClassVar = [models.Index(fields=["hour"], name="jobhour_hour")]

    def __str__(self) -> str:
        return f"job {self.job_id} in the hour from {self.hour}"


class Unit(models.Model):
    """A task: what it costs, how it is verified, and where it stands."""

    id = models.BigAutoField(primary_key=True)
    job = soft_link("workunits.Job")
    lab = soft_link("research_access.Lab")
    uid = models.UUIDField()
    """The id that the lab made."""
    position = models.BigIntegerField()
    manifest = models.CharField(max_length=64)
    flops = models.BigIntegerField()
    memory = models.BigIntegerField()
    input_bytes = models.BigIntegerField()
    output_bytes = models.BigIntegerField()
    policy = models.CharField(max_length=16)
    catalogue = models.BigIntegerField()
    copies = models.SmallIntegerField()
    state = models.CharField(max_length=16, default=UnitState.OPEN)
    wanted = models.SmallIntegerField()
    """Leases that may still be given out now."""
    issued = models.SmallIntegerField(default=0)
    """Leases given out so far; the next one's copy index."""
    spared = models.SmallIntegerField(default=0)
    """Copies below this index no longer count against the caps (released by an operator)."""
    code = models.CharField(max_length=40, default="ok")
    chosen = models.UUIDField(null=True)
    """The lease whose outputs are used."""

    class Meta:
        verbose_name = _("unit")
        verbose_name_plural = _("units")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lab", "uid"], name="unit_lab_uid"),
            one_of("state", UnitState, table="unit"),
            one_of("policy", Policy, table="unit"),
            models.CheckConstraint(
                condition=models.Q(wanted__gte=0, issued__gte=0, copies__gte=1),
                name="unit_counts_sane",
            ),
        ]
        indexes: ClassVar = [
            models.Index(fields=["job", "position"], name="unit_job_position"),
            # By the code and not by the state, which every lease of a unit moves.
            models.Index(
                fields=["id"],
                condition=~models.Q(code__in=["ok", "job_cancelled"]),
                name="unit_put_aside",
            ),
        ]

    def __str__(self) -> str:
        return gettext("unit %(id)s") % {"id": self.pk}


class Opening(models.Model):
    """A unit that wants a lease; rank 0 (a copy exists already) is served before rank 1."""

    unit = models.OneToOneField(
        Unit, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    job = soft_link("workunits.Job")
    rank = models.SmallIntegerField()
    position = models.BigIntegerField()
    memory = models.BigIntegerField()
    catalogue = models.BigIntegerField()

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["job", "rank", "position"], name="opening_order"),
            models.Index(fields=["job", "memory"], name="opening_memory"),
        ]

    def __str__(self) -> str:
        return f"opening of unit {self.unit_id}"
