"""What operators have switched off, and who switched what when."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from gpugoblin_site.fixed_history import FixedHistory
from workunits.models.base import one_of


class SwitchKind(StrEnum):
    """What a switch stops: nothing is leased to it, or from it, while it is on."""

    EVERYTHING = "everything"
    VERSION = "version"
    ACCOUNT = "account"
    HOST = "host"
    LAB = "lab"


OF_A_ROW = [SwitchKind.ACCOUNT.value, SwitchKind.HOST.value, SwitchKind.LAB.value]


class Switched(models.Model):
    """What a switch and its moves have in common."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=16)
    target = models.BigIntegerField(default=0)
    """The row id of the account, host or lab; else 0."""
    version = models.CharField(max_length=200, blank=True, default="")
    """The client version, as the client states it; else empty."""
    sentence_en = models.CharField(max_length=500)
    sentence_vi = models.CharField(max_length=500)
    """What the people concerned read, in their language."""
    reason = models.CharField(max_length=1000)
    """For operators; nobody else reads it."""
    by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return gettext("switch %(id)s") % {"id": self.pk}


class Switch(Switched):
    """A switch that is on. The row goes when it is lifted; `SwitchMove` remembers."""

    since = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("switch")
        verbose_name_plural = _("switches")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["kind", "target", "version"], name="switch_once"),
            one_of("kind", SwitchKind, table="switch"),
            models.CheckConstraint(
                condition=Q(kind=SwitchKind.EVERYTHING.value, target=0, version="")
                | Q(kind=SwitchKind.VERSION.value, target=0) & ~Q(version="")
                | Q(
                    kind__in=OF_A_ROW,
                    target__gt=0,
                    version="",
                ),
                name="switch_names_what",
            ),
        ]


class SwitchMove(FixedHistory, Switched):
    """One switching, on or off: who, when, why. Append-only, here and by a trigger in the
    database."""

    on = models.BooleanField()
    at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("move of a switch")
        verbose_name_plural = _("history of switches")
        indexes: ClassVar = [
            models.Index(fields=["kind", "target", "version"], name="switch_move_of"),
        ]
        constraints: ClassVar = [one_of("kind", SwitchKind, table="switchmove")]
