"""What labs read by cursor, the site's epoch, and the scheduler's sign of life."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.db import models
from django.db.models.functions import Now

from workunits.fields import CurrentTransaction, Xid8Field
from workunits.models.base import soft_link


class Event(models.Model):
    """Something that a lab wants to know.

    Transactions commit out of order, so rows carry their transaction's id and a reader takes only
    what lies below the oldest one that still runs, ordered by (xid, id).
    """

    id = models.BigAutoField(primary_key=True)
    xid = Xid8Field(db_default=CurrentTransaction())
    lab = soft_link("research_access.Lab")
    job = soft_link("workunits.Job")
    unit_id = models.BigIntegerField(null=True)
    lease_id = models.UUIDField(null=True)
    kind = models.CharField(max_length=40)
    code = models.CharField(max_length=40, default="ok")
    reason = models.CharField(max_length=500, default="")
    created = models.DateTimeField(db_default=Now())

    class Meta:
        indexes: ClassVar = [models.Index(fields=["lab", "xid", "id"], name="event_lab_order")]

    def __str__(self) -> str:
        return f"{self.kind} ({self.id})"


class SiteEpoch(models.Model):
    """One row. A new epoch (`manage.py restored`) tells labs that events may be missing."""

    id = models.SmallIntegerField(primary_key=True, default=1)
    epoch = models.UUIDField(default=uuid.uuid4)
    since = models.DateTimeField(auto_now=True)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=models.Q(id=1), name="epoch_single_row")
        ]

    def __str__(self) -> str:
        return self.epoch.hex


class Heartbeat(models.Model):
    """When a background process last did its work."""

    name = models.CharField(max_length=40, primary_key=True)
    beat = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.name} at {self.beat}"
