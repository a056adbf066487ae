"""What the outbox says about itself."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import connection

from gpugoblin_site.metrics import Figures

_SQL = """
SELECT count(*) FILTER (WHERE state = 'waiting' AND due <= now()),
       count(*) FILTER (WHERE state = 'sending'),
       count(*) FILTER (WHERE state = 'failed' AND code <> 'expired'
                          AND finished > now() - interval '1 day'),
       count(*) FILTER (WHERE state = 'failed' AND code = 'expired'
                          AND finished > now() - interval '1 day'),
       count(*) FILTER (WHERE state = 'bounced' AND finished > now() - interval '1 day'),
       count(*) FILTER (WHERE state = 'sent' AND finished > now() - interval '1 day'),
       coalesce(extract(epoch FROM now() - min(created) FILTER (
           WHERE state IN ('waiting', 'sending') AND (due <= now() OR attempts > 0))), 0)::float8,
       coalesce(extract(epoch FROM now() - min(created) FILTER (
           WHERE state = 'waiting' AND code IN ('unreachable', 'settings'))), 0)::float8
  FROM gpugoblin_site_outboxmail
 WHERE finished IS NULL OR finished > now() - interval '1 day'"""


@dataclass(frozen=True)
class Summary:
    """Counts of mails; failed, expired, bounced and sent of the last 24 hours."""

    due: int
    sending: int
    failed: int
    expired: int
    """Were of no use any more when their turn came, as a code after 15 minutes: not delivered, and
    nothing that a delivery would mend."""
    bounced: int
    sent: int
    oldest_s: float
    """Seconds since the oldest mail was written that should have left."""
    stopped_s: float
    """Seconds since the oldest mail was written that waits because the mail server can't be used;
    mails with codes end by themselves, so this stays small for them and `oldest_s` does too."""

    @property
    def undelivered(self) -> int:
        """Could not be delivered."""
        return self.failed + self.bounced


def summary() -> Summary:
    with connection.cursor() as cursor:
        cursor.execute(_SQL)
        found = cursor.fetchone()
    assert found is not None  # noqa: S101 - it always gives a row
    return Summary(*found)


def figures() -> Figures:
    """For `/metrics`."""
    now = summary()
    return {
        "goblin_mail_due": ("Mails that should leave now.", now.due),
        "goblin_mail_oldest_seconds": (
            "Seconds since the oldest mail was written that should have left.",
            now.oldest_s,
        ),
        "goblin_mail_sent": ("Mails sent in the last 24 hours.", now.sent),
        "goblin_mail_stopped_seconds": (
            "Seconds since the oldest mail was written that the mail server keeps waiting.",
            now.stopped_s,
        ),
        "goblin_mail_failed": ("Mails that failed in the last 24 hours.", now.failed),
        "goblin_mail_expired": ("Mails that came to be of no use in 24 hours.", now.expired),
        "goblin_mail_bounced": ("Mails that came back in the last 24 hours.", now.bounced),
    }
