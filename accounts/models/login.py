"""One-time links with which a person logs in."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now


class LoginLink(models.Model):
    """A link that was given to a person; only the hash of its secret is kept."""

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="login_links"
    )
    secret_hash = models.CharField(max_length=64, unique=True)
    created = models.DateTimeField(db_default=Now(), editable=False)
    expires = models.DateTimeField()
    used = models.DateTimeField(null=True, editable=False)

    def __str__(self) -> str:
        return f"login link {self.pk}"
