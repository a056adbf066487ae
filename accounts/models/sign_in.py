"""Sign-ins of programs that wait for a person."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from goblin_wire.states import SignInState
from goblin_wire.tokens import Scope


class SignIn(models.Model):
    """One attempt of a program to get a token. Both codes are kept as hashes."""

    id = models.BigAutoField(primary_key=True)
    device_hash = models.CharField(max_length=64, unique=True)
    user_code_hash = models.CharField(max_length=64, unique=True)
    scope = models.CharField(max_length=16, choices=[(s.value, s.value) for s in Scope])
    program = models.CharField(max_length=200)
    label = models.CharField(max_length=200, blank=True, default="")
    lab = models.ForeignKey(
        "research_access.Lab", on_delete=models.CASCADE, null=True, blank=True, related_name="+"
    )
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="+"
    )
    """Who confirmed or denied it."""
    state = models.CharField(
        max_length=16,
        choices=[(s.value, s.value) for s in SignInState],
        default=SignInState.PENDING.value,
    )
    created = models.DateTimeField(db_default=Now(), editable=False)
    expires = models.DateTimeField()

    class Meta:
        indexes: ClassVar = [models.Index(fields=["expires"], name="sign_in_expires")]

    def __str__(self) -> str:
        return f"sign-in {self.pk} ({self.state})"
