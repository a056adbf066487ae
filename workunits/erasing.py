"""What the deletion of an account means for machines and lab nodes."""

from __future__ import annotations

from typing import Any

from django.dispatch import receiver

from accounts.models import Account
from accounts.signals import erasing
from research_access.models import LabState
from workunits import removal
from workunits.models import LabNode


@receiver(erasing, dispatch_uid="workunits.erasing")
def clear(account: Account, **_signal: Any) -> None:
    """Remove the machines, and what tells where the lab nodes of labs are that end. Leases and
    credit stay: they hold no name."""
    removal.remove_all(account.pk)
    LabNode.objects.filter(lab__owner=account, lab__state=LabState.SUSPENDED).delete()
