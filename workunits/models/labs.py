"""The lab node behind a lab, and what a lab used per day."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _


class LabNode(models.Model):
    """How a lab's node is reached, when it was last heard, and how much it wants in flight."""

    lab = models.OneToOneField("research_access.Lab", models.CASCADE, primary_key=True)
    public_key = models.CharField(max_length=64)
    endpoint = models.CharField(max_length=500)
    certificate = models.CharField(max_length=64, null=True)
    version = models.CharField(max_length=200, default="")
    last_seen = models.DateTimeField()
    window_units = models.BigIntegerField(default=0)
    window_bytes = models.BigIntegerField(default=0)
    reachable = models.BooleanField(default=False)
    probe_code = models.CharField(max_length=40, default="not_probed")
    probe_reason = models.CharField(max_length=500, default="")
    probed_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = _("lab node")
        verbose_name_plural = _("lab nodes")

    def __str__(self) -> str:
        return gettext("node of lab %(id)s") % {"id": self.lab_id}


class LabDay(models.Model):
    """Flops verified for a lab on one day (UTC): its quota, and how well it was served."""

    id = models.BigAutoField(primary_key=True)
    lab = models.ForeignKey("research_access.Lab", models.CASCADE, related_name="+")
    day = models.DateField()
    flops = models.FloatField(default=0.0)
    units = models.BigIntegerField(default=0)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lab", "day"], name="labday_lab_day")
        ]

    def __str__(self) -> str:
        return f"lab {self.lab_id} on {self.day}"
