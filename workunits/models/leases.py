"""Leases: all that ever were, and those whose host waits to hear more."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from goblin_wire.states import LeaseRole, LeaseState
from workunits.models.base import one_of, soft_link


class Lease(models.Model):
    """One copy of a unit, given to one host. The id is time-ordered and made by the process."""

    id = models.UUIDField(primary_key=True)
    unit = soft_link("workunits.Unit")
    account = soft_link("accounts.Account")
    host = soft_link("workunits.Host")
    copy = models.SmallIntegerField()
    role = models.CharField(max_length=16, default=LeaseRole.COMPUTE)
    device = models.CharField(max_length=8)
    device_class = models.CharField(max_length=200, default="")
    state = models.CharField(max_length=16, default=LeaseState.OPEN)
    counts = models.BooleanField(default=True)
    """Live or finished: the account gets no second lease on the unit. False once it expired, was
    handed back, superseded or ended."""
    code = models.CharField(max_length=40, default="ok")
    reason = models.CharField(max_length=500, default="")
    outputs = ArrayField(models.CharField(max_length=64), null=True)
    """Digests that the client reported."""
    seconds = models.FloatField(default=0.0)
    """The time that it was given at first, and that a renewal gives."""
    created = models.DateTimeField()

    class Meta:
        verbose_name = _("lease")
        verbose_name_plural = _("leases")
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["unit", "account"], condition=Q(counts=True), name="lease_unit_account_once"
            ),
            one_of("state", LeaseState, table="lease"),
            one_of("role", LeaseRole, table="lease"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["unit", "account"], name="lease_unit_account"),
            models.Index(
                fields=["unit"], condition=Q(code="cost_mismatch"), name="lease_cost_mismatch"
            ),
            # Not by state: an index that mentions it would make each move of a lease dearer.
            models.Index(
                fields=["account", "created"], condition=~Q(code="ok"), name="lease_remarked"
            ),
        ]

    def __str__(self) -> str:
        return gettext("lease %(id)s") % {"id": self.pk.hex[-8:]}


class PendingLease(models.Model):
    """A lease in flight, or one whose end its host has not been told yet."""

    lease = models.OneToOneField(
        Lease, models.DO_NOTHING, primary_key=True, db_constraint=False, related_name="+"
    )
    account = soft_link("accounts.Account")
    host = soft_link("workunits.Host")
    lab = soft_link("research_access.Lab")
    flops = models.BigIntegerField()
    output_bytes = models.BigIntegerField()
    open = models.BooleanField(default=True)
    """Not reported yet."""
    live = models.BooleanField(default=True)
    """Open or reported: it counts in the lab's window."""
    seconds = models.FloatField()
    """What a renewal gives."""
    deadline = models.DateTimeField()
    """When it expires, or, once reported, lapses."""
    progress = models.FloatField(default=0.0)
    bytes_done = models.BigIntegerField(default=0)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["account", "host"], name="pending_account_host"),
            models.Index(fields=["lab"], name="pending_lab"),
        ]

    def __str__(self) -> str:
        return f"pending lease {self.lease_id}"
