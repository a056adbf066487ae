"""The outbox: every mail of the site, from the moment that it was decided until it is forgotten."""

from __future__ import annotations

import uuid
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _


class MailState(models.TextChoices):
    WAITING = "waiting", _("waiting")
    SENDING = "sending", _("being sent")
    SENT = "sent", _("sent")
    FAILED = "failed", _("failed")
    BOUNCED = "bounced", _("came back")
    CANCELLED = "cancelled", _("cancelled")


class MailCode(models.TextChoices):
    """Why a mail waits, failed or came back."""

    NONE = "", _("nothing to report")
    UNREACHABLE = "unreachable", _("the mail server was not reached")
    SETTINGS = "settings", _("the mail server refuses this site: its settings must be mended")
    LATER = "later", _("the mail server asked to try later")
    REFUSED = "refused", _("the recipient's address was refused")
    RETURNED = "returned", _("a report said that it could not be delivered")
    EXPIRED = "expired", _("it was too old to be of use")
    GAVE_UP = "gave_up", _("it was tried for days")
    UNSURE = "unsure", _("whether the mail server took it is not known")
    ERASED = "erased", _("the account was deleted")


class OutboxMail(models.Model):
    """One mail to one person. Its moves are made by `outbox`, `delivery` and `bounces` only."""

    id = models.BigAutoField(primary_key=True)
    uid = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    """The left side of its Message-ID, the same at every try."""
    key = models.CharField(_("key"), max_length=200, unique=True)
    """What it is about; the same key again is the same mail."""
    account = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        related_name="+",
        verbose_name=_("account"),
    )
    address = models.CharField(_("address"), max_length=254)
    language = models.CharField(_("language"), max_length=8)
    template = models.CharField(_("kind of mail"), max_length=80)
    subject = models.CharField(_("subject"), max_length=300)
    body = models.TextField(_("text"))
    secret = models.BooleanField(default=False)
    """Holds a code or a link that lets somebody in: its text is gone also if it did not arrive."""
    state = models.CharField(
        _("state"), max_length=16, choices=MailState.choices, default=MailState.WAITING
    )
    due = models.DateTimeField(_("due"))
    expires = models.DateTimeField(_("useless after"), null=True)
    claim = models.UUIDField(null=True, editable=False)
    """The attempt that is under way; an attempt whose claim was taken away sends nothing."""
    claimed = models.DateTimeField(null=True, editable=False)
    handed = models.DateTimeField(null=True, editable=False)
    """When its text began to be handed to the mail server."""
    attempts = models.IntegerField(_("attempts"), default=0)
    code = models.CharField(
        _("reason"), max_length=16, choices=MailCode.choices, blank=True, default=MailCode.NONE
    )
    detail = models.CharField(
        _("what the mail server said"), max_length=500, blank=True, default=""
    )
    created = models.DateTimeField(_("written"), db_default=Now(), editable=False)
    finished = models.DateTimeField(_("since"), null=True)
    """When it got its last state: sent, failed, bounced or cancelled."""

    class Meta:
        verbose_name = _("mail")
        verbose_name_plural = _("mails")
        constraints: ClassVar = [
            models.CheckConstraint(
                condition=models.Q(state__in=MailState.values), name="mail_state_known"
            ),
        ]
        indexes: ClassVar = [
            models.Index(
                fields=["due"], condition=models.Q(state=MailState.WAITING), name="mail_due"
            ),
            models.Index(
                fields=["claimed"], condition=models.Q(state=MailState.SENDING), name="mail_sending"
            ),
            models.Index(fields=["finished"], name="mail_finished"),
            models.Index(fields=["address"], name="mail_address"),
        ]

    def __str__(self) -> str:
        return gettext("mail %(number)s") % {"number": self.pk}
