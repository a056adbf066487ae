"""What is no longer needed is deleted; the scheduler calls this every hour."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.sessions.models import Session
from django.utils import timezone

from accounts import limits, sign_in
from accounts.models import LoginLink

LINKS_KEPT = timedelta(days=1)


def purge() -> int:
    """Delete ended sign-ins, links, sessions and counters; how many rows that were."""
    now = timezone.now()
    links = LoginLink.objects.filter(expires__lt=now - LINKS_KEPT).delete()[0]
    sessions = Session.objects.filter(expire_date__lt=now).delete()[0]
    return sign_in.purge() + limits.purge() + links + sessions
