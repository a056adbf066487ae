"""What is no longer needed is deleted; the scheduler calls this every hour."""

from __future__ import annotations

from django.utils import timezone

from accounts import limits, login, sign_in
from accounts.models import Session


def purge() -> int:
    """Delete ended log-ins, sign-ins, sessions and counters; how many rows that were."""
    sessions = Session.objects.filter(expire_date__lt=timezone.now()).delete()[0]
    return sign_in.purge() + login.purge() + limits.purge() + sessions
