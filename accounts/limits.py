"""Rate limits that all workers share: counters in the database, one statement each."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import RateLimit
from goblin_wire.problems import RateLimited
from gpugoblin_site import keys

_LINE_BITS = 64
_COUNT = """
INSERT INTO accounts_ratelimit AS r (key, count, ends)
VALUES (%(key)s, 1, now() + %(seconds)s * interval '1 second')
ON CONFLICT (key) DO UPDATE
   SET count = CASE WHEN r.ends <= now() THEN 1 ELSE r.count + 1 END,
       ends = CASE WHEN r.ends <= now() THEN excluded.ends ELSE r.ends END
RETURNING count, extract(epoch FROM ends - now())
"""


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` times in `window`, counted for each subject."""

    name: str
    most: int
    window: timedelta

    def count(self, subject: str) -> None:
        """Count one more for `subject`; raises `RateLimited` once there were too many.

        Must not be called inside a transaction that a refusal rolls back.
        """
        with connection.cursor() as cursor:
            cursor.execute(
                _COUNT, {"key": self.key(subject), "seconds": self.window.total_seconds()}
            )
            number, left = cursor.fetchone()
        self._refuse(number > self.most, float(left))

    def require(self, subject: str) -> None:
        """Raise `RateLimited` if `subject` has used up its times; counts nothing."""
        row = RateLimit.objects.filter(key=self.key(subject), ends__gt=timezone.now()).first()
        if row is not None:
            left = (row.ends - timezone.now()).total_seconds()
            self._refuse(row.count >= self.most, left)

    def key(self, subject: str) -> str:
        return hidden(self.name, subject)

    def _refuse(self, refused: bool, seconds: float) -> None:
        if refused:
            raise RateLimited(
                f"Too many attempts; try again in {max(1, round(seconds / 60))} minutes.",
                retry_after=max(1.0, round(seconds)),
            )


def hidden(kind: str, value: str) -> str:
    """A keyed hash (hexadecimal): equal values can be found, none can be read or guessed."""
    return hmac.new(keys.address_secret(), f"{kind}\0{value}".encode(), hashlib.sha256).hexdigest()


def client_address(request: HttpRequest) -> str:
    """Where the request came from; behind the configured proxies what the outermost one saw."""
    proxies = settings.GOBLIN_TRUSTED_PROXIES
    if proxies:
        seen = [part.strip() for part in request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        if len(seen) >= proxies and seen[-proxies]:
            return str(seen[-proxies])
    return str(request.META.get("REMOTE_ADDR", ""))


def network_of(address: str) -> str:
    """What counts as one network: an IPv4 address, or the 2^64 IPv6 addresses of one line."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    return str(ipaddress.ip_network((parsed, _LINE_BITS), strict=False).network_address)


def purge() -> int:
    """Delete the counters of ended windows; how many there were."""
    return RateLimit.objects.filter(ends__lte=timezone.now()).delete()[0]
