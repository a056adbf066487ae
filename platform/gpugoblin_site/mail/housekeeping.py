"""Mails are forgotten once nobody can still ask about them; the scheduler calls this every hour."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from gpugoblin_site.mail.models import MailState, OutboxMail

DONE_KEPT = timedelta(days=30)
TROUBLE_KEPT = timedelta(days=90)


def purge() -> int:
    """Delete mails that ended long ago; how many."""
    now = timezone.now()
    done = (MailState.SENT, MailState.CANCELLED)
    trouble = (MailState.FAILED, MailState.BOUNCED)
    old = OutboxMail.objects.filter(state__in=done, finished__lt=now - DONE_KEPT)
    older = OutboxMail.objects.filter(state__in=trouble, finished__lt=now - TROUBLE_KEPT)
    return old.delete()[0] + older.delete()[0]
