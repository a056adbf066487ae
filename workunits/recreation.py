"""Leases that the site made and then lost in a crash, made again from their capabilities."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from goblin_wire.capability import Claims
from workunits.database import row, rows, run
from workunits.pseudonyms import pseudonym

_KNOWN = """
SELECT id FROM workunits_lease
WHERE id = ANY(%(leases)s) AND (%(account)s::bigint IS NULL OR account_id = %(account)s)"""

_UNIT = """
SELECT u.id, l.key AS lab_key FROM workunits_unit u JOIN research_access_lab l ON l.id = u.lab_id
WHERE l.key = %(lab)s AND u.uid = %(unit)s AND u.manifest = %(manifest)s"""

_HOSTS = """
SELECT h.id, h.account_id, a.key
FROM workunits_host h JOIN accounts_account a ON a.id = h.account_id
WHERE h.uid = %(uid)s"""

# It comes back as expired: the unit may have gone out again meanwhile, and a late report has its
# own rules.
_MAKE = """
INSERT INTO workunits_lease (id, unit_id, account_id, host_id, copy, role, device, device_class,
                             state, counts, code, reason, seconds, created)
VALUES (%(lease)s, %(unit)s, %(account)s, %(host)s, %(copy)s, %(role)s, 'cpu', %(class)s,
        'expired', false, 'ok', '', 0, now())
ON CONFLICT (id) DO NOTHING"""


def known(leases: Iterable[UUID], *, account: int | None = None) -> set[UUID]:
    """Those of the leases that exist (and are the account's)."""
    parameters = {"leases": list(leases), "account": account}
    return {found.id for found in rows(_KNOWN, parameters)}


def recreate(claims: Claims, *, lab: int | None = None, account: int | None = None) -> bool:
    """Make the lease again; false where its unit, host or account is not what the claims say.

    `account`: the volunteer who asks, `lab`: the lab's key must be this lab's.
    """
    unit = row(
        _UNIT,
        {
            "lab": UUID(hex=claims.lab),
            "unit": UUID(hex=claims.unit),
            "manifest": claims.manifest,
        },
    )
    if unit is None or (lab is not None and not _is_lab(lab, claims)):
        return False
    for host in rows(_HOSTS, {"uid": UUID(hex=claims.host)}):
        mine = account is None or host.account_id == account
        if mine and pseudonym(unit.lab_key, host.key) == claims.volunteer:
            _make(claims, unit.id, host.account_id, host.id)
            return True
    return False


def _is_lab(lab: int, claims: Claims) -> bool:
    found = row("SELECT key FROM research_access_lab WHERE id = %(lab)s", {"lab": lab})
    return found is not None and found.key.hex == claims.lab


def _make(claims: Claims, unit: int, account: int, host: int) -> None:
    run(
        _MAKE,
        {
            "lease": UUID(hex=claims.lease),
            "unit": unit,
            "account": account,
            "host": host,
            "copy": claims.copy,
            "role": claims.role.value,
            "class": claims.device_class,
        },
    )
