"""A lab's node as the site knows it: hello, sign of life, reachability, what is left of today."""

from __future__ import annotations

import time
from datetime import timedelta
from functools import lru_cache, partial

from django.conf import settings
from django.db import transaction

from accounts.authentication import Principal
from accounts.limits import Limit
from goblin_wire.addresses import resolve_endpoint
from goblin_wire.lab import LabHello, LabWelcome, Reachability, SiteKey, Window
from goblin_wire.problems import EndpointUnreachable, NotAllowed, RateLimited
from goblin_wire.protocol import LAB_SEEN_S, require_protocol
from gpugoblin_site import keys
from workunits import patience, switches
from workunits.database import Row, row, run
from workunits.epochs import current_epoch
from workunits.network import network
from workunits.probe import PENDING, probe

SIGN_OF_LIFE_S = 5
"""A lab's last sign of life is written so often at most."""
PROBES = Limit("probes of a lab", 12, timedelta(minutes=1))
FRESH_S = 10.0
"""A hello that says nothing new does not make the site look again within this."""
RESOLVE_S = 3.0

_SAME = """
(n.endpoint, n.public_key) = (%(endpoint)s, %(key)s)
AND n.certificate IS NOT DISTINCT FROM %(certificate)s"""

_HELLO = f"""
INSERT INTO workunits_labnode AS n (lab_id, public_key, endpoint, certificate, version, last_seen,
       window_units, window_bytes, reachable, probe_code, probe_reason)
VALUES (%(lab)s, %(key)s, %(endpoint)s, %(certificate)s, %(version)s, now(), 0, 0, false,
        'not_probed', '')
ON CONFLICT (lab_id) DO UPDATE
SET public_key = excluded.public_key, endpoint = excluded.endpoint,
    certificate = excluded.certificate, version = excluded.version, last_seen = now(),
    reachable = n.reachable AND {_SAME},
    probe_code = CASE WHEN {_SAME} THEN n.probe_code ELSE 'not_probed' END,
    probe_reason = CASE WHEN {_SAME} THEN n.probe_reason ELSE '' END"""  # noqa: S608

_KNOWN = f"""
SELECT {_SAME} AS same,
       n.reachable AND n.probed_at > now() - make_interval(secs => %(fresh)s) AS fresh
FROM workunits_labnode n WHERE n.lab_id = %(lab)s"""  # noqa: S608

_NODE = f"""
SELECT n.lab_id, n.public_key, n.reachable, n.probe_code, n.probe_reason, n.window_units,
       n.window_bytes, extract(epoch FROM now() - n.last_seen)::float8 AS silent,
       greatest(0, l.daily_flops - coalesce(d.flops, 0))::float8 AS flops_left,
       coalesce(w.sentence, '') AS switched_off
FROM workunits_labnode n JOIN research_access_lab l ON l.id = n.lab_id
LEFT JOIN workunits_labday d ON d.lab_id = n.lab_id AND d.day = (now() AT TIME ZONE 'UTC')::date
{switches.of_lab("n.lab_id", "%(account)s")}
WHERE n.lab_id = %(lab)s"""  # noqa: S608

_SEEN = """
UPDATE workunits_labnode SET last_seen = now(), window_units = %(units)s, window_bytes = %(bytes)s
WHERE lab_id = %(lab)s"""

_SHIFT = """
UPDATE workunits_pendinglease SET deadline = deadline + make_interval(secs => %(silent)s)
WHERE lab_id = %(lab)s AND open AND live"""


def hello(principal: Principal, message: LabHello) -> LabWelcome:
    """Store how the lab's node is reached, and probe it where that is new.

    Nothing is leased at a new address before a probe has proved it. Raises `EndpointRefused` for
    an address that may not be used and `RateLimited` for ever new ones; nothing is stored then.
    """
    require_protocol(message.protocol)
    lab = principal.lab
    said = {
        "lab": lab,
        "key": message.public_key,
        "endpoint": message.endpoint,
        "certificate": message.certificate,
    }
    known = row(_KNOWN, {**said, "fresh": FRESH_S})
    is_new = known is None or not known.same
    if is_new:
        PROBES.count(str(lab))
        _require_usable(message)
    with transaction.atomic():
        _resume_clocks(lab)
        run(_HELLO, {**said, "version": message.version})
    assert principal.lab_key is not None  # noqa: S101 - tokens of scope lab have a lab
    return LabWelcome(
        lab=principal.lab_key.hex,
        epoch=current_epoch(),
        site_keys=site_keys(),
        site_seconds=time.time(),
        network=network(),
        reachability=_look(lab) if is_new else _look_again(lab, fresh=bool(known and known.fresh)),
        flops_left_today=int(node(lab).flops_left),
    )


def probe_now(lab: int) -> Reachability:
    """Look at the lab's address because the lab asks. Raises `NotAllowed` or `RateLimited`."""
    node(lab)
    PROBES.count(str(lab))
    return _look(lab)


def _look_again(lab: int, *, fresh: bool) -> Reachability:
    if not fresh:
        try:
            PROBES.count(str(lab))
        except RateLimited:
            return reachability(node(lab))
        return _look(lab)
    return reachability(node(lab))


def _look(lab: int) -> Reachability:
    """What a probe says now, or else what the last one said of this address."""
    found = probe(lab)
    if found is not PENDING:
        return found
    last = reachability(node(lab))
    return PENDING if last.code == PENDING.code else last


def _require_usable(message: LabHello) -> None:
    try:
        patience.within(RESOLVE_S, ("resolve", message.endpoint), partial(_resolved, message))
    except EndpointUnreachable:
        # A name that does not resolve now may do so later; the probe tells.
        return


def _resolved(message: LabHello) -> None:
    resolve_endpoint(
        message.endpoint,
        allow_private=settings.GOBLIN_ALLOW_PRIVATE_ENDPOINTS,
        certificate=message.certificate,
    )


@lru_cache(maxsize=1)
def site_keys() -> list[SiteKey]:
    return [SiteKey(kid=kid, key=key) for kid, key in keys.site_keys().items()]


def node(lab: int, *, account: int | None = None) -> Row:
    """The lab's node; raises `NotAllowed` before its first hello.

    `account`: in whose language it says why nothing is leased from the lab.
    """
    found = row(_NODE, {"lab": lab, "account": account})
    if found is None:
        raise NotAllowed("The lab node has not introduced itself; send a hello first.")
    return found


def reachability(found: Row) -> Reachability:
    return Reachability(reachable=found.reachable, code=found.probe_code, reason=found.probe_reason)


def seen(found: Row, window: Window) -> None:
    """A sign of life: the lab is on line, and so much may be in flight."""
    changed = (found.window_units, found.window_bytes) != (window.units, window.bytes)
    if found.silent < SIGN_OF_LIFE_S and not changed:
        return
    with transaction.atomic():
        _resume_clocks(found.lab_id)
        run(_SEEN, {"lab": found.lab_id, "units": window.units, "bytes": window.bytes})


def _resume_clocks(lab: int) -> None:
    """While the lab was off line the clocks of its leases stood still."""
    last = row(
        "SELECT extract(epoch FROM now() - last_seen)::float8 AS silent FROM workunits_labnode"
        " WHERE lab_id = %(lab)s FOR UPDATE",
        {"lab": lab},
    )
    if last is not None and last.silent > LAB_SEEN_S:
        run(_SHIFT, {"lab": lab, "silent": last.silent})
