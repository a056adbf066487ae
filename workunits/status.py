"""What a volunteer sees of the account: machines, figures, and why results were refused."""

from __future__ import annotations

from accounts.authentication import Principal
from goblin_wire.volunteer import HostStatus, Refusal, VolunteerStatus
from workunits.database import row, rows

MAX_HOSTS = 100
MAX_REFUSALS = 20

_STANDING = """
SELECT accepted, rejected, flops FROM workunits_standing WHERE account_id = %(account)s"""

_HOSTS = f"""
SELECT h.uid, h.version, h.accepted, h.rejected,
       extract(epoch FROM now() - h.last_seen)::float8 AS silent,
       (SELECT count(*) FROM workunits_pendinglease p
        WHERE p.account_id = h.account_id AND p.host_id = h.id AND p.live AND p.open) AS open,
       (SELECT count(*) FROM workunits_pendinglease p
        WHERE p.account_id = h.account_id AND p.host_id = h.id AND p.live AND NOT p.open)
         AS reported
FROM workunits_host h WHERE h.account_id = %(account)s AND h.removed IS NULL
ORDER BY h.last_seen DESC LIMIT {MAX_HOSTS}"""  # noqa: S608

_REFUSALS = f"""
SELECT l.id, l.state, l.code, l.reason, extract(epoch FROM now() - l.created)::float8 AS age
FROM workunits_lease l
WHERE l.account_id = %(account)s AND NOT (l.code = 'ok')
  AND l.state IN ('rejected', 'returned')
ORDER BY l.created DESC LIMIT {MAX_REFUSALS}"""  # noqa: S608


def volunteer_status(principal: Principal) -> VolunteerStatus:
    """Only what belongs to the account."""
    parameters = {"account": principal.account_id}
    standing = row(_STANDING, parameters)
    status = VolunteerStatus(
        hosts=[
            HostStatus(
                host=each.uid.hex,
                version=each.version,
                last_seen_s=max(0.0, each.silent),
                open=each.open,
                reported=each.reported,
                accepted=each.accepted,
                rejected=each.rejected,
            )
            for each in rows(_HOSTS, parameters)
        ],
        refusals=[
            Refusal(
                lease=each.id.hex,
                state=each.state,
                code=each.code,
                reason=each.reason,
                age_s=max(0.0, each.age),
            )
            for each in rows(_REFUSALS, parameters)
        ],
    )
    if standing is not None:
        status.accepted = standing.accepted
        status.rejected = standing.rejected
        status.flops = standing.flops
    return status
