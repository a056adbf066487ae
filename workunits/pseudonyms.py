"""What a lab calls a volunteer: the same for all work of one account, different for each lab."""

from __future__ import annotations

import hmac
from functools import lru_cache
from uuid import UUID

from gpugoblin_site import keys

LENGTH = 24


@lru_cache(maxsize=16_384)
def pseudonym(lab_key: UUID, account_key: UUID) -> str:
    """Keyed hash of lab and account; without the site's secret it leads to neither."""
    message = b"volunteer" + lab_key.bytes + account_key.bytes
    return hmac.new(keys.pseudonym_secret(), message, "sha256").hexdigest()[:LENGTH]
