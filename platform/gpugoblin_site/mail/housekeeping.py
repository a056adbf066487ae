"""Mails are forgotten once nobody can still ask about them; the scheduler calls this every hour."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from gpugoblin_site.mail.models import MailState, OutboxMail

DONE_KEPT = timedelta(days=30)
TROUBLE_KEPT = timedelta(days=90)
STRANGERS_KEPT = timedelta(days=1)
"""Mails to addresses without an account: codes that nobody typed, invitations."""


def purge() -> int:
    """Delete mails that ended long ago; how many."""
    now = timezone.now()
    done = (MailState.SENT, MailState.CANCELLED)
    trouble = (MailState.FAILED, MailState.BOUNCED)
    old = OutboxMail.objects.filter(state__in=done, finished__lt=now - DONE_KEPT)
    older = OutboxMail.objects.filter(state__in=trouble, finished__lt=now - TROUBLE_KEPT)
    strangers = OutboxMail.objects.filter(account=None, finished__lt=now - STRANGERS_KEPT)
    return sum(found.delete()[0] for found in (old, older, strangers))
