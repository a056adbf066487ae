"""The record of what became of requests: rows that nobody can change."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from gpugoblin_site.fixed_history import FixedHistory
from research_access.models.request import AccessRequest


class Decision(FixedHistory):
    """One move of a request: who, when, from where to where, why. Append-only, here and by a
    trigger in the database. It names nobody, so it outlives the erasure of an account."""

    id = models.BigAutoField(primary_key=True)
    request = models.ForeignKey(AccessRequest, on_delete=models.PROTECT, related_name="decisions")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="decisions",
        verbose_name=_("by"),
    )
    from_state = models.CharField(_("from"), max_length=16)
    to_state = models.CharField(_("to"), max_length=16)
    reason = models.TextField(_("reason"), max_length=4000, blank=True, default="")
    daily_flops = models.BigIntegerField(_("operations a day"), null=True, blank=True)
    """Set by an approval."""
    undoes = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, editable=False, related_name="undone_by"
    )
    """The decision that this one takes back."""
    created = models.DateTimeField(_("when"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("decision")
        verbose_name_plural = _("decisions")
        indexes: ClassVar = [
            models.Index(fields=["request", "id"], name="decision_of_request"),
            models.Index(fields=["to_state", "id"], name="decision_of_state"),
        ]

    def __str__(self) -> str:
        return f"{self.from_state} to {self.to_state}"
