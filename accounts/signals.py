"""What other rooms hear of accounts."""

from __future__ import annotations

from django.dispatch import Signal

erasing = Signal()
"""An account is being deleted: sent inside the transaction, with `account=`, while its person is
still known (`account.person`). Each room clears what it holds about the person; a receiver that
raises stops the deletion."""
