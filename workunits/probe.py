"""Whether a lab's endpoint is really the lab's, and can be reached from outside."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from goblin_wire.addresses import resolve_endpoint
from goblin_wire.capability import signature_is_valid
from goblin_wire.data import ProbeReply, probe_bytes
from goblin_wire.http import HttpClient
from goblin_wire.lab import Reachability
from goblin_wire.problems import EndpointRefused, Problem
from gpugoblin_site import logs
from workunits import patience
from workunits.database import row, run

_log = logs.logger("probe")

TIMEOUT_S = 5.0
"""For the connection, and for every silence after it."""
ASKER_WAITS_S = 3.0
"""So long the lab waits for what comes of a probe; after that the scheduler finds it out."""
SWEEP_WAITS_S = 15.0
MAX_REPLY_BYTES = 4096
FAILED = Reachability(code="internal", reason="The probe failed; it is tried again.")
PENDING = Reachability(
    code="not_probed", reason="The site is still trying this address; ask again in a minute."
)
SILENT = Reachability(
    code="unreachable", reason="The lab node did not answer the site's probe in time."
)

_NODE = """
SELECT n.public_key, n.endpoint, n.certificate, l.key AS lab_key
FROM workunits_labnode n JOIN research_access_lab l ON l.id = n.lab_id WHERE n.lab_id = %(lab)s"""

_STORE = """
UPDATE workunits_labnode
SET reachable = %(reachable)s, probe_code = %(code)s, probe_reason = %(reason)s, probed_at = now()
WHERE lab_id = %(lab)s AND endpoint = %(endpoint)s AND public_key = %(key)s
  AND certificate IS NOT DISTINCT FROM %(certificate)s"""


class Target(NamedTuple):
    """A lab's data listener, as its node described it."""

    lab_key: UUID
    endpoint: str
    certificate: str | None
    public_key: str


def probe(lab: int) -> Reachability:
    """Probe the lab's endpoint now; what comes of it within `ASKER_WAITS_S` is remembered.

    After that, or while an earlier probe is under way, the answer is `PENDING`.
    """
    target = _target(lab)
    if target is None:
        return Reachability()
    found = patience.within(ASKER_WAITS_S, lab, partial(_ask_safely, target))
    if found is None:
        return PENDING
    _store(lab, target, found)
    return found


def probe_all(labs: Sequence[int]) -> int:
    """Probe labs side by side, so that those which are silent do not hold up the others."""
    targets = {lab: target for lab in labs if (target := _target(lab)) is not None}
    begun = {
        lab: patience.begin(lab, partial(_ask_safely, target)) for lab, target in targets.items()
    }
    until = time.monotonic() + SWEEP_WAITS_S
    for lab, future in begun.items():
        left = max(0.0, until - time.monotonic())
        found = None if future is None else patience.result(future, left)
        _store(lab, targets[lab], found or SILENT)
    return len(begun)


def _target(lab: int) -> Target | None:
    node = row(_NODE, {"lab": lab})
    if node is None:
        return None
    return Target(node.lab_key, node.endpoint, node.certificate, node.public_key)


def _store(lab: int, target: Target, found: Reachability) -> None:
    """Remember what came of a probe, unless the node has moved meanwhile."""
    run(
        _STORE,
        {
            "lab": lab,
            "endpoint": target.endpoint,
            "key": target.public_key,
            "certificate": target.certificate,
            "reachable": found.reachable,
            "code": found.code,
            "reason": found.reason[:500],
        },
    )


def _ask_safely(target: Target) -> Reachability:
    """One lab must not hold up the others, whatever its listener answers."""
    try:
        return ask(target)
    except Exception as error:
        _log.error("failed", lab=target.lab_key.hex, exc_info=error)
        return FAILED


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
        endpoint,
        certificate=certificate,
        user_agent="gpugoblin-site",
        read_timeout=TIMEOUT_S,
        connect_timeout=TIMEOUT_S,
        connect_retries=0,
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
