"""Requests for access, the decisions on them, and the labs that follow."""

from __future__ import annotations

import uuid
from typing import Any, ClassVar, NoReturn

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from goblin_wire.states import RequestState


class LabState(models.TextChoices):
    ACTIVE = "active"
    SUSPENDED = "suspended"


class LabRole(models.TextChoices):
    OWNER = "owner"
    MEMBER = "member"


class AccessRequest(models.Model):
    """What a researcher asks for. Its moves are made by `research_access.services` only."""

    id = models.BigAutoField(primary_key=True)
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="access_requests"
    )
    state = models.CharField(
        max_length=16,
        choices=[(s.value, s.value) for s in RequestState],
        default=RequestState.DRAFT.value,
    )
    title = models.CharField(max_length=200)
    institution = models.CharField(max_length=200, blank=True, default="")
    purpose = models.TextField(max_length=10_000, blank=True, default="")
    """What is to be computed, for what, and how the results are used."""
    daily_flops = models.BigIntegerField(null=True, blank=True)
    """Floating point operations a day that are asked for; none: the default."""
    created = models.DateTimeField(db_default=Now(), editable=False)
    submitted = models.DateTimeField(null=True, editable=False)
    changed = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        permissions: ClassVar = [("review_accessrequest", "Can decide on access requests")]
        indexes: ClassVar = [models.Index(fields=["state", "submitted"], name="request_queue")]
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(state__in=[s.value for s in RequestState]),
                name="request_state_known",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class HistoryIsFixed(Exception):
    """A decision can neither be changed nor deleted; make another one."""


class Decision(models.Model):
    """One move of a request: who, when, from where to where, why. Append-only, here and by a
    trigger in the database."""

    id = models.BigAutoField(primary_key=True)
    request = models.ForeignKey(AccessRequest, on_delete=models.PROTECT, related_name="decisions")
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="decisions"
    )
    from_state = models.CharField(max_length=16)
    to_state = models.CharField(max_length=16)
    reason = models.TextField(max_length=4000, blank=True, default="")
    daily_flops = models.BigIntegerField(null=True, blank=True)
    """Set by an approval."""
    created = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["request", "id"], name="decision_of_request")]

    def __str__(self) -> str:
        return f"{self.from_state} to {self.to_state}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise HistoryIsFixed(HistoryIsFixed.__doc__)
        super().save(*args, **kwargs)

    def delete(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        raise HistoryIsFixed(HistoryIsFixed.__doc__)


class Lab(models.Model):
    """A research group with a lab node. It rests on an approved request."""

    id = models.BigAutoField(primary_key=True)
    key = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="owned_labs"
    )
    request = models.ForeignKey(AccessRequest, on_delete=models.PROTECT, related_name="labs")
    state = models.CharField(max_length=16, choices=LabState.choices, default=LabState.ACTIVE)
    daily_flops = models.BigIntegerField()
    """Floating point operations that may be leased for it in 24 hours."""
    created = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(daily_flops__gte=0), name="lab_quota_not_negative"
            ),
            models.CheckConstraint(
                condition=models.Q(state__in=LabState.values), name="lab_state_known"
            ),
        ]

    def __str__(self) -> str:
        return self.name


class LabMember(models.Model):
    """An account that may act for a lab; members earn no credit from it."""

    id = models.BigAutoField(primary_key=True)
    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="members")
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=16, choices=LabRole.choices, default=LabRole.MEMBER)
    created = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lab", "account"], name="one_membership_a_lab"),
        ]

    def __str__(self) -> str:
        return f"{self.account} in {self.lab} ({self.role})"
