"""Requests for access."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from accounts.text import fold
from goblin_wire.states import RequestState

OPEN_STATES = (
    RequestState.DRAFT.value,
    RequestState.SUBMITTED.value,
    RequestState.INFO_ASKED.value,
)
SEARCHED = ("name", "institution", "field")


class Kind(models.TextChoices):
    """What of the catalogue a researcher wants to use; only products can be computed now."""

    PRODUCTS = "products", _("Products of large matrices")
    GRAPHS = "graphs", _("Other graphs of operators (planned, not available yet)")
    TRAINING = "training", _("Training of models (planned, not available yet)")


class AccessRequest(models.Model):
    """What a researcher asks for. Its moves are made by `research_access.services` only.

    The texts are personal: an erasure of the account clears them. The decisions stay.
    """

    id = models.BigAutoField(primary_key=True)
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="access_requests",
        verbose_name=_("account"),
    )
    state = models.CharField(
        _("state"),
        max_length=16,
        choices=[(s.value, s.value) for s in RequestState],
        default=RequestState.DRAFT.value,
    )
    name = models.CharField(_("name"), max_length=200, blank=True, default="")
    institution = models.CharField(_("institution"), max_length=200, blank=True, default="")
    position = models.CharField(_("position"), max_length=120, blank=True, default="")
    web_page = models.CharField(_("web page"), max_length=500, blank=True, default="")
    field = models.CharField(_("field of research"), max_length=200, blank=True, default="")
    purpose = models.TextField(
        _("what will be computed"), max_length=10_000, blank=True, default=""
    )
    """What is to be computed, for what, and how the results are used."""
    kinds = models.JSONField(_("kinds of the catalogue"), default=list, blank=True)
    """A list of values of `Kind`."""
    size = models.TextField(_("size"), max_length=2000, blank=True, default="")
    """How large the operands are, and how many computations there will be."""
    daily_flops = models.BigIntegerField(_("operations a day"), null=True, blank=True)
    """Floating point operations a day that are asked for; none: the default."""
    no_confidential = models.BooleanField(_("no confidential data"), default=False)
    noncommercial = models.BooleanField(_("not commercial"), null=True, blank=True)
    """None: not answered yet."""
    version = models.IntegerField(default=0, editable=False)
    """Grows with every change of an answer, so that two open pages notice each other."""
    search = models.CharField(max_length=1900, blank=True, default="", editable=False)
    """Name, institution and field as `accounts.text.fold` gives them, line by line."""
    institution_search = models.CharField(
        max_length=600, blank=True, default="", editable=False, db_index=True
    )
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    submitted = models.DateTimeField(_("submitted"), null=True, editable=False)
    """When it was sent first."""
    changed = models.DateTimeField(_("changed"), db_default=Now(), editable=False)
    erased = models.DateTimeField(null=True, editable=False)
    """When its texts were cleared because the account was deleted."""

    class Meta:
        verbose_name = _("access request")
        verbose_name_plural = _("access requests")
        permissions: ClassVar = [("review_accessrequest", "Can decide on access requests")]
        indexes: ClassVar = [models.Index(fields=["state", "submitted"], name="request_queue")]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in RequestState]),
                name="request_state_known",
            ),
            models.UniqueConstraint(
                fields=["account"],
                condition=models.Q(state__in=OPEN_STATES),
                name="one_open_request_an_account",
            ),
        ]

    def __str__(self) -> str:
        told = ", ".join(part for part in (self.name, self.institution) if part)
        return told or f"request {self.key.hex[:12]}"

    def save(self, **options: Any) -> None:
        """Keep the form that is searched beside the texts."""
        self.search = "\n".join(fold(getattr(self, name)) for name in SEARCHED)
        self.institution_search = fold(self.institution)
        changed = options.get("update_fields")
        if changed is not None and set(SEARCHED) & set(changed):
            options["update_fields"] = {*changed, "search", "institution_search"}
        super().save(**options)

    @property
    def is_open(self) -> bool:
        """Whether it is still being written or decided on."""
        return self.state in OPEN_STATES
