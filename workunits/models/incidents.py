"""What went wrong with the network, as its status page tells it, and what was written when."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gpugoblin_site.fixed_history import FixedHistory


class Told(models.Model):
    """What an incident and each of its versions say."""

    id = models.BigAutoField(primary_key=True)
    began = models.DateTimeField()
    ended = models.DateTimeField(null=True, blank=True)
    """Empty while it lasts."""
    sentence_en = models.CharField(max_length=1000)
    sentence_vi = models.CharField(max_length=1000)
    """What everybody reads, in their language."""

    class Meta:
        abstract = True


class Incident(Told):
    """An incident as it is told now. It may be corrected, and never goes."""

    version = models.PositiveIntegerField(default=1)
    """How often it was written: 1 when it is new."""
    changed = models.DateTimeField()

    class Meta:
        verbose_name = _("incident")
        verbose_name_plural = _("incidents")
        indexes: ClassVar = [
            models.Index(fields=["-ended"], name="incident_ended"),
        ]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=Q(ended=None) | Q(ended__gte=F("began")), name="incident_ends_later"
            ),
        ]

    def __str__(self) -> str:
        return gettext("incident %(id)s") % {"id": self.pk}


class IncidentVersion(FixedHistory, Told):
    """An incident as it was told from `at` on: who wrote it. Append-only, here and by a trigger in
    the database."""

    incident = models.ForeignKey(Incident, models.PROTECT, related_name="versions")
    version = models.PositiveIntegerField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("version of an incident")
        verbose_name_plural = _("history of incidents")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["incident", "version"], name="incident_version_once"),
        ]

    def __str__(self) -> str:
        return gettext("incident %(id)s") % {"id": self.incident_id}
