"""Volunteers' machines: one host per state directory, devices inside it."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

READY = "ready"
WORKING = "working"
"""It holds leases."""
PAUSED = "paused"
STOPPING = "stopping"


class Host(models.Model):
    """A client's state directory, its place in the conversation, and its figures."""

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey("accounts.Account", models.CASCADE, related_name="+")
    uid = models.UUIDField()
    """The id that the client made."""
    seq = models.BigIntegerField(default=-1)
    nonce = models.CharField(max_length=64, default="")
    answered = ArrayField(models.UUIDField(), default=list)
    """Leases of the last answer, so that a retry gets the same."""
    granted = models.SmallIntegerField(default=0)
    """How many of them, from the first on, were new."""
    version = models.CharField(max_length=200, default="")
    label = models.CharField(max_length=100, db_default="")
    """How its person calls it; personal, so it goes with the person."""
    token_id = models.BigIntegerField(null=True)
    """The token that it came with last."""
    doing = models.CharField(max_length=40, db_default=READY)
    """As of its last message: one of the words above, or the code of why it got no work."""
    doing_since = models.DateTimeField(db_default=Now())
    resumes = models.DateTimeField(null=True)
    """When a paused one goes on by itself."""
    removed = models.DateTimeField(null=True)
    """Removed by its person: what it says is refused from then on."""
    created = models.DateTimeField(auto_now_add=True)
    last_seen = models.DateTimeField()
    devices_seen = models.DateTimeField(null=True)
    """When the rows of its devices were written last."""
    failed_in_row = models.IntegerField(default=0)
    """Leases that brought nothing since the last accepted one."""
    failed_at = models.DateTimeField(null=True)
    rejected = models.BigIntegerField(default=0)
    accepted = models.BigIntegerField(default=0)

    class Meta:
        verbose_name = _("machine")
        verbose_name_plural = _("machines")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["account", "uid"], name="host_account_uid")
        ]
        indexes: ClassVar = [
            models.Index(fields=["uid"], name="host_uid"),
            # Moved only by a refusal: the updates of every exchange touch no index.
            models.Index(fields=["id"], condition=models.Q(rejected__gt=0), name="host_refused"),
        ]

    def __str__(self) -> str:
        return gettext("machine %(id)s") % {"id": self.uid.hex[:12]}


class Device(models.Model):
    """What one device of a host last said it could take; the network's figures come from it."""

    id = models.BigAutoField(primary_key=True)
    host = models.ForeignKey(Host, models.CASCADE, related_name="devices")
    name = models.CharField(max_length=8)
    device_class = models.CharField(max_length=200, default="")
    memory = models.BigIntegerField()
    flops_per_s = models.FloatField()
    catalogue = models.BigIntegerField()
    last_seen = models.DateTimeField()

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["host", "name"], name="device_host_name")
        ]
        indexes: ClassVar = [models.Index(fields=["last_seen"], name="device_last_seen")]

    def __str__(self) -> str:
        return f"{self.name} of host {self.host_id}"
