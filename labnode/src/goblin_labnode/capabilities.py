"""Who may read and write at the data listener: whoever shows the site's signature on a lease."""

from __future__ import annotations

import threading
from collections import OrderedDict

from goblin_labnode.site_state import SiteState
from goblin_wire.capability import Claims, read
from goblin_wire.problems import CapabilityForeign, CapabilityInvalid
from goblin_wire.protocol import CAPABILITY_SCHEME, CLOCK_SLACK_S

_KEPT = 4096


class Gate:
    """Checks capabilities; signatures that were good are remembered."""

    def __init__(self, lab: str, site: SiteState) -> None:
        self._lab = lab
        self._site = site
        self._lock = threading.Lock()
        self._good: OrderedDict[str, Claims] = OrderedDict()

    def claims(self, authorization: str | None, lease: str) -> tuple[str, Claims]:
        """The token and what it says. Raises `CapabilityInvalid`, `CapabilityExpired` or
        `CapabilityForeign`."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme != CAPABILITY_SCHEME or not token:
            raise CapabilityInvalid
        claims = self._known(token) or self._verify(token)
        if claims.lab != self._lab or claims.lease != lease:
            raise CapabilityForeign
        return token, claims

    def _known(self, token: str) -> Claims | None:
        with self._lock:
            claims = self._good.get(token)
        if claims is None or claims.kid not in self._site.keys:
            return None
        late = self._site.now() > claims.issued + claims.lifetime + CLOCK_SLACK_S
        return None if late else claims

    def _verify(self, token: str) -> Claims:
        claims = read(token, self._site.keys, now=self._site.now())
        with self._lock:
            self._good[token] = claims
            if len(self._good) > _KEPT:
                self._good.popitem(last=False)
        return claims
