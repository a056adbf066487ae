"""Log-ins that wait for a code, and the codes; neither the codes nor the browsers can be read."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class LoginAttempt(models.Model):
    """An address that was typed in a browser. Nobody is looked up before a code came back, so an
    address with an account and one without leave the same row."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    browser_hash = models.CharField(max_length=64)
    email = models.EmailField(max_length=254)
    following = models.CharField(max_length=500, blank=True, default="")
    """The page to go to after the log-in."""
    created = models.DateTimeField(db_default=Now(), editable=False)
    expires = models.DateTimeField()
    """When the code that was sent last ends."""
    resent = models.PositiveSmallIntegerField(default=0)
    wrong = models.PositiveSmallIntegerField(default=0)
    used = models.DateTimeField(null=True, editable=False)

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["browser_hash", "created"], name="login_attempt_browser"),
            models.Index(fields=["email"], name="login_attempt_email"),
            models.Index(fields=["expires"], name="login_attempt_expires"),
        ]

    def __str__(self) -> str:
        return f"log-in attempt {self.pk}"


class LoginCode(models.Model):
    """A code of one attempt, or one that an operator made for whoever logs in to an account."""

    id = models.BigAutoField(primary_key=True)
    attempt = models.ForeignKey(
        LoginAttempt, on_delete=models.CASCADE, null=True, related_name="codes"
    )
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, related_name="login_codes"
    )
    code_hash = models.CharField(max_length=64)
    created = models.DateTimeField(db_default=Now(), editable=False)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True, editable=False)

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(attempt__isnull=True, account__isnull=False)
                | models.Q(attempt__isnull=False, account__isnull=True),
                name="login_code_of_attempt_or_account",
            ),
        ]

    def __str__(self) -> str:
        return f"log-in code {self.pk}"
