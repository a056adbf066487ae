"""What researchers and reviewers say to each other, and what helps reviewers to say it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

from research_access.models.request import AccessRequest


class Message(models.Model):
    """One message about a request, of its applicant or of a reviewer."""

    id = models.BigAutoField(primary_key=True)
    request = models.ForeignKey(AccessRequest, on_delete=models.PROTECT, related_name="messages")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+", verbose_name=_("by")
    )
    text = models.TextField(_("text"), max_length=4000, blank=True, default="")
    """Empty once an account of the two was erased."""
    created = models.DateTimeField(_("when"), db_default=Now(), editable=False)

    class Meta:
        verbose_name = _("message")
        verbose_name_plural = _("messages")
        indexes: ClassVar = [models.Index(fields=["request", "id"], name="message_of_request")]

    def __str__(self) -> str:
        return f"message {self.pk}"


class SavedReply(models.Model):
    """A text that reviewers use often, in both languages."""

    id = models.BigAutoField(primary_key=True)
    title = models.CharField(_("title"), max_length=120, unique=True)
    text_en = models.TextField(_("text in English"), max_length=4000)
    text_vi = models.TextField(_("text in Vietnamese"), max_length=4000)

    class Meta:
        verbose_name = _("saved reply")
        verbose_name_plural = _("saved replies")
        ordering: ClassVar = ["title"]

    def __str__(self) -> str:
        return self.title

    def text(self, language: str) -> str:
        """The text in a language; English where it is neither."""
        return self.text_vi if language.startswith("vi") else self.text_en


class Viewing(models.Model):
    """That a reviewer has a request open."""

    id = models.BigAutoField(primary_key=True)
    request = models.ForeignKey(AccessRequest, on_delete=models.CASCADE, related_name="viewings")
    reviewer = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+"
    )
    since = models.DateTimeField(db_default=Now())
    """When the page was opened."""
    seen = models.DateTimeField(db_default=Now())
    """When it was open still."""

    class Meta:
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["request", "reviewer"], name="one_viewing_a_reviewer"),
        ]

    def __str__(self) -> str:
        return f"viewing {self.pk}"
