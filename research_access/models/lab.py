"""Labs and who belongs to them."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from research_access.models.decision import Decision
from research_access.models.request import AccessRequest


class LabState(models.TextChoices):
    ACTIVE = "active", _("active")
    SUSPENDED = "suspended", _("suspended")


class LabRole(models.TextChoices):
    OWNER = "owner", _("owner")
    MEMBER = "member", _("member")


class Lab(models.Model):
    """A research group with a lab node. It rests on an approved request."""

    id = models.BigAutoField(primary_key=True)
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    name = models.CharField(_("name"), max_length=120)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        related_name="owned_labs",
        verbose_name=_("owner"),
    )
    """Who answers for it; members with the role `owner` may manage it as well."""
    request = models.ForeignKey(
        AccessRequest, on_delete=models.PROTECT, related_name="labs", verbose_name=_("request")
    )
    state = models.CharField(
        _("state"), max_length=16, choices=LabState.choices, default=LabState.ACTIVE
    )
    suspended_by = models.ForeignKey(
        Decision, on_delete=models.PROTECT, null=True, editable=False, related_name="+"
    )
    """The revocation that suspended it; none where an operator did."""
    daily_flops = models.BigIntegerField(_("operations a day"))
    """Floating point operations that may be leased for it in 24 hours."""
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("lab")
        verbose_name_plural = _("labs")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(daily_flops__gte=0), name="lab_quota_not_negative"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=LabState.values), name="lab_state_known"
            ),
            models.UniqueConstraint(fields=["request", "name"], name="lab_name_once_a_request"),
        ]

    def __str__(self) -> str:
        return self.name


class LabMember(models.Model):
    """An account that may act for a lab; members earn no credit from it."""

    id = models.BigAutoField(primary_key=True)
    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="members")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="memberships",
        verbose_name=_("account"),
    )
    role = models.CharField(
        _("role"), max_length=16, choices=LabRole.choices, default=LabRole.MEMBER
    )
    created = models.DateTimeField(_("since"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("member of a lab")
        verbose_name_plural = _("members of labs")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lab", "account"], name="one_membership_a_lab"),
        ]

    def __str__(self) -> str:
        return f"{self.account} in {self.lab} ({self.role})"
