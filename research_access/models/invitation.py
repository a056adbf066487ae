"""Invitations into labs."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from research_access.models.lab import Lab


class Invitation(models.Model):
    """A pending invitation of one address into one lab. It is deleted once it was accepted, taken
    back or has expired, and with it the address; of the link only the hash of its token is kept."""

    id = models.BigAutoField(primary_key=True)
    lab = models.ForeignKey(Lab, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField(_("e-mail address"), max_length=254)
    """Folded, as `accounts.addresses.folded` gives it."""
    token_hash = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    created = models.DateTimeField(db_default=Now(), editable=False)
    expires = models.DateTimeField()

    class Meta:
        verbose_name = _("invitation")
        verbose_name_plural = _("invitations")
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["lab", "email"], name="one_invitation_an_address"),
        ]
        indexes: ClassVar = [
            models.Index(fields=["email"], name="invitation_email"),
            models.Index(fields=["expires"], name="invitation_expires"),
        ]

    def __str__(self) -> str:
        return f"invitation {self.pk}"
