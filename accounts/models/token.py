"""API tokens of programs."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from goblin_wire.tokens import Scope


class ApiToken(models.Model):
    """A token's row; of the token itself only the hash of its secret is kept."""

    id = models.BigAutoField(primary_key=True)
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="tokens",
        verbose_name=_("account"),
    )
    scope = models.CharField(
        _("for"),
        max_length=16,
        choices=[(Scope.VOLUNTEER.value, _("volunteer")), (Scope.LAB.value, _("lab"))],
    )
    lab = models.ForeignKey(
        "research_access.Lab",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="tokens",
        verbose_name=_("lab"),
    )
    prefix = models.CharField(_("begins with"), max_length=16, unique=True)
    secret_hash = models.CharField(max_length=64)
    label = models.CharField(_("label"), max_length=200, blank=True, default="")
    created = models.DateTimeField(_("created"), db_default=Now(), editable=False)
    expires = models.DateTimeField(_("ends"))
    last_used = models.DateTimeField(_("last used"), null=True, editable=False)
    revoked = models.DateTimeField(_("revoked"), null=True, editable=False)

    class Meta:
        verbose_name = _("token")
        verbose_name_plural = _("tokens")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(scope=Scope.VOLUNTEER.value, lab__isnull=True)
                | models.Q(scope=Scope.LAB.value, lab__isnull=False),
                name="token_lab_iff_lab_scope",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.scope} token {self.prefix}"
