"""Whether a lab's endpoint is really the lab's, and can be reached from outside."""

from __future__ import annotations

import secrets
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from goblin_wire.addresses import resolve_endpoint
from goblin_wire.capability import signature_is_valid
from goblin_wire.data import ProbeReply, probe_bytes
from goblin_wire.http import HttpClient
from goblin_wire.lab import Reachability
from goblin_wire.problems import EndpointRefused, Problem
from workunits.database import row, run

TIMEOUT_S = 5.0
MAX_REPLY_BYTES = 4096

_NODE = """
SELECT n.public_key, n.endpoint, n.certificate, l.key AS lab_key
FROM workunits_labnode n JOIN research_access_lab l ON l.id = n.lab_id WHERE n.lab_id = %(lab)s"""

_STORE = """
UPDATE workunits_labnode
SET reachable = %(reachable)s, probe_code = %(code)s, probe_reason = %(reason)s, probed_at = now()
WHERE lab_id = %(lab)s AND endpoint = %(endpoint)s"""


class Target(NamedTuple):
    """A lab's data listener, as its node described it."""

    lab_key: UUID
    endpoint: str
    certificate: str | None
    public_key: str


def probe(lab: int) -> Reachability:
    """Probe the lab's endpoint now and remember what came of it."""
    node = row(_NODE, {"lab": lab})
    if node is None:
        return Reachability()
    found = ask(Target(node.lab_key, node.endpoint, node.certificate, node.public_key))
    run(
        _STORE,
        {
            "lab": lab,
            "endpoint": node.endpoint,
            "reachable": found.reachable,
            "code": found.code,
            "reason": found.reason[:500],
        },
    )
    return found


def mark_unreachable(lab: int) -> None:
    """Remember that a probe failed in a way that nobody foresaw."""
    run(
        "UPDATE workunits_labnode SET reachable = false, probe_code = 'internal',"
        " probe_reason = 'The probe failed; it is tried again.', probed_at = now()"
        " WHERE lab_id = %(lab)s",
        {"lab": lab},
    )


def ask(target: Target) -> Reachability:
    """Fetch a signed nonce; every failure is told with a code and a sentence."""
    try:
        _require_signed_nonce(target)
    except Problem as problem:
        return Reachability(reachable=False, code=problem.code, reason=problem.detail[:500])
    return Reachability(reachable=True, code="ok")


def _require_signed_nonce(target: Target) -> None:
    certificate = target.certificate or None
    endpoint = resolve_endpoint(
        target.endpoint,
        allow_private=settings.GOBLIN_ALLOW_PRIVATE_ENDPOINTS,
        certificate=certificate,
    )
    nonce = secrets.token_hex(16)
    client = HttpClient.for_endpoint(
        endpoint, certificate=certificate, user_agent="gpugoblin-site", read_timeout=TIMEOUT_S
    )
    try:
        reply = client.call(
            "GET", f"/v1/probe?nonce={nonce}", None, ProbeReply, limit=MAX_REPLY_BYTES
        )
    finally:
        client.close()
    lab = target.lab_key.hex
    genuine = (
        reply.lab == lab
        and reply.nonce == nonce
        and signature_is_valid(
            target.public_key, probe_bytes(lab, nonce), bytes.fromhex(reply.signature)
        )
    )
    if not genuine:
        raise EndpointRefused("What answers at the endpoint is not this lab's node.")
