"""Capabilities: signed by the site for each lease, read back where the database lost one."""

from __future__ import annotations

import time
from uuid import UUID

from accounts.authentication import Principal
from goblin_wire import capability
from goblin_wire.capability import Claims
from goblin_wire.exchange import LabAddress, Lease
from goblin_wire.problems import Problem
from goblin_wire.states import LeaseRole
from gpugoblin_site import keys
from workunits.database import Row
from workunits.pseudonyms import pseudonym

# The constructor of an enumeration is dear for what every lease needs.
_ROLES = {role.value: role for role in LeaseRole}


def lease_message(row: Row, principal: Principal, host: UUID) -> Lease:
    """The lease as it travels, its capability signed now.

    `row`: lease_id, device, device_class, role, seconds, copy; unit_uid, flops, memory,
    input_bytes, output_bytes, manifest; lab_key, endpoint, certificate.
    """
    return Lease(
        lease=row.lease_id.hex,
        unit=row.unit_uid.hex,
        device=row.device,
        role=_ROLES[row.role],
        seconds=row.seconds,
        flops=row.flops,
        memory=row.memory,
        input_bytes=row.input_bytes,
        output_bytes=row.output_bytes,
        lab=LabAddress(
            lab=row.lab_key.hex, endpoint=row.endpoint, certificate=row.certificate or None
        ),
        capability=_signed(row, principal, host),
    )


def _signed(row: Row, principal: Principal, host: UUID) -> str:
    key = keys.signing_key()
    return capability.issue(
        key,
        Claims(
            kid=key.kid,
            lab=row.lab_key.hex,
            lease=row.lease_id.hex,
            role=_ROLES[row.role],
            copy=row.copy,
            unit=row.unit_uid.hex,
            manifest=row.manifest,
            output_bytes=row.output_bytes,
            host=host.hex,
            volunteer=pseudonym(row.lab_key, principal.account_key),
            device_class=row.device_class,
            issued=time.time(),
        ),
    )


def read(token: str) -> Claims | None:
    """The claims of a capability that this site signed and that is still valid, else none."""
    try:
        return capability.read(token, keys.site_keys(), now=time.time())
    except Problem:
        return None
