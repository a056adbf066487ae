"""A machine gets another name, or is removed: its work is handed on, its credit stays.

A removed machine is refused with its next message and forgets who it was; to be lent again it joins
again. Its token ends with it, unless another machine of the account came with the same one.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction

from accounts.text import clean_name
from workunits import hosts, quorum
from workunits.changes import Changes
from workunits.database import rows, run, together
from workunits.snapshot import lock_units_of_leases

CODE = "removed"
SENTENCE = "The volunteer removed the machine."

_RENAME = """
UPDATE workunits_host SET label = %(label)s
WHERE account_id = %(account)s AND uid = %(uid)s AND removed IS NULL"""

_REMOVE = """
UPDATE workunits_host SET removed = now(), label = ''
WHERE account_id = %(account)s AND removed IS NULL
  AND (%(uid)s::uuid IS NULL OR uid = %(uid)s::uuid)
RETURNING id, token_id"""

_WAS_REMOVED = """
SELECT 1 AS found FROM workunits_host
WHERE account_id = %(account)s AND uid = %(uid)s AND removed IS NOT NULL"""

_OPEN_LEASES = """
SELECT lease_id FROM workunits_pendinglease
WHERE account_id = %(account)s AND host_id = ANY(%(hosts)s) AND open AND live"""

_DEVICES = "DELETE FROM workunits_device WHERE host_id = ANY(%(hosts)s)"

_END_TOKENS = """
UPDATE accounts_apitoken t SET revoked = now()
WHERE t.id = ANY(%(tokens)s::bigint[]) AND t.account_id = %(account)s AND t.revoked IS NULL
  AND NOT EXISTS (SELECT 1 FROM workunits_host h
                  WHERE h.account_id = %(account)s AND h.token_id = t.id AND h.removed IS NULL)"""

_LABELS = "UPDATE workunits_host SET label = '' WHERE account_id = %(account)s AND label <> ''"


def rename(account: int, uid: UUID, label: str) -> bool:
    """Call the account's machine so (blank: by its id); false where there is none."""
    named = clean_name(label, hosts.LABEL_MOST)
    return run(_RENAME, {"account": account, "uid": uid, "label": named}) > 0


def remove(account: int, uid: UUID) -> bool:
    """Remove the account's machine; false where there is none, or it was removed before."""
    return _remove(account, uid) > 0


def was_removed(account: int, uid: UUID) -> bool:
    """Whether the account had this machine and removed it."""
    return bool(rows(_WAS_REMOVED, {"account": account, "uid": uid}))


def remove_all(account: int) -> int:
    """Remove all machines of an account, and every name that it gave one; how many there were."""
    with transaction.atomic():
        removed = _remove(account, None)
        run(_LABELS, {"account": account})
    return removed


def _remove(account: int, uid: UUID | None) -> int:
    with transaction.atomic():
        # The turn of the account's exchanges: none of them gives the machine a lease meanwhile.
        together([hosts.lock(account, lasting=True)])
        gone = rows(_REMOVE, {"account": account, "uid": uid})
        if gone:
            of = {"account": account, "hosts": [each.id for each in gone]}
            _hand_on([each.lease_id for each in rows(_OPEN_LEASES, of)])
            run(_DEVICES, of)
            tokens = [each.token_id for each in gone if each.token_id is not None]
            run(_END_TOKENS, {"account": account, "tokens": tokens})
    return len(gone)


def _hand_on(leases: list[UUID]) -> None:
    changes = Changes()
    held = lock_units_of_leases(leases) if leases else {}
    mine = set(leases)
    for unit in held.values():
        for lease in mine & unit.copies.keys():
            changes.happen(unit, quorum.Returned(lease, CODE, SENTENCE))
    changes.write()
