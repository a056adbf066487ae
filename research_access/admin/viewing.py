"""Who has a request open: noted when the page is opened, and every few seconds while it is."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.utils import timezone

from accounts.models import Account
from research_access.models import AccessRequest, Viewing

BEAT_S = 15
"""How often an open page says that it is open still."""
UNDO_BEAT_S = 5
"""While a decision can be undone, so that the time which is left is seen to pass."""
LOOKING = timedelta(minutes=2)
"""Without a sign for so long, the page was closed; one without scripts gives just the first."""


def look(request: AccessRequest, reviewer: Account) -> None:
    """Note that the reviewer has the request open now."""
    now = timezone.now()
    mine = Viewing.objects.filter(request=request, reviewer=reviewer, seen__gt=now - LOOKING)
    if mine.update(seen=now):
        return
    Viewing.objects.filter(seen__lte=now - LOOKING).delete()
    Viewing.objects.bulk_create(
        [Viewing(request=request, reviewer=reviewer, since=now, seen=now)],
        update_conflicts=True,
        unique_fields=["request", "reviewer"],
        update_fields=["since", "seen"],
    )


def others(requests: Iterable[AccessRequest], reviewer: Account) -> dict[int, list[Viewing]]:
    """Which colleagues have these requests open, by the request's number; one query."""
    found: dict[int, list[Viewing]] = {}
    rows = (
        Viewing.objects.filter(
            request__in=[row.pk for row in requests], seen__gt=timezone.now() - LOOKING
        )
        .exclude(reviewer=reviewer)
        .select_related("reviewer__person")
        .order_by("since")
    )
    for row in rows:
        found.setdefault(row.request_id, []).append(row)
    return found
